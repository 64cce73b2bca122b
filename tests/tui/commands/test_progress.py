"""Progress display: a bar, lines for people, JSON lines, or nothing."""

import io
import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tui.commands.progress import (
    BAR_CHARACTERS,
    LINE_SECONDS,
    Progress,
    SaidSteps,
    run_to_end,
    steps_display,
    wait_display,
)
from tui.steering.job_output import output_line

JSON_FIELDS = ["at_ms", "stage", "left", "text"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_in_one_line():
    stream = Terminal()
    progress = Progress(stream)
    for left in (100, 25, 0):
        progress.show("arriving", left, f"missing: {left}", now_seconds=0.0)
    progress.end()
    first, second, third = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == f"arriving [{'.' * BAR_CHARACTERS}]   0%  missing: 100"
    assert second.startswith("arriving [######################........]  75%")
    assert third == f"arriving [{'#' * BAR_CHARACTERS}] 100%  missing: 0\n"


def test_a_log_gets_a_line_every_few_seconds():
    stream = io.StringIO()
    progress = Progress(stream)
    for now_seconds in (0.0, LINE_SECONDS / 2, LINE_SECONDS):
        progress.show("arriving", 3, f"at {now_seconds:g}", now_seconds)
    progress.end()
    assert stream.getvalue() == "arriving: at 0\narriving: at 5\n"


def test_nothing_to_wait_for_is_a_full_bar():
    stream = Terminal()
    Progress(stream).show("arriving", 0, "nothing", 0.0)
    assert "100%" in stream.getvalue()


def test_each_stage_has_a_bar_of_its_own_and_ends_the_one_before():
    stream = Terminal()
    progress = Progress(stream)
    progress.show("stopping in west", 1, "members: orders", 0.0)
    progress.show("arriving in east", 6, "missing: 6 records of west", 0.0)
    progress.end()
    first, second, end = stream.getvalue().split("\n")
    assert first.endswith("members: orders") and "arriving in east [..." in second
    assert end == ""


def test_a_new_stage_is_printed_at_once_without_a_terminal_as_well():
    stream = io.StringIO()
    progress = Progress(stream)
    progress.show("stopping in west", 1, "members: orders", 0.0)
    progress.show("arriving in east", 6, "missing: 6 records of west", 0.1)
    assert stream.getvalue().splitlines() == [
        "stopping in west: members: orders",
        "arriving in east: missing: 6 records of west",
    ]


def test_json_is_a_line_for_each_step_in_the_form_that_the_page_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for display in (wait_display("json"), steps_display("json")):
        display.show("arriving in east", 6, "missing: 6 records\nof west", 0.0)
        display.show("plan", None, "asks the servers", 0.0)
        display.end()
    said = capsys.readouterr()
    lines = said.err.splitlines()
    assert said.out == ""
    assert len(lines) == 4
    assert list(json.loads(lines[0])) == JSON_FIELDS
    step = output_line(lines[0])
    assert (step.stage, step.left) == ("arriving in east", 6)
    assert step.text == "missing: 6 records\nof west"
    assert step.at_ms is not None
    assert output_line(lines[1]).left is None


def test_json_lines_of_many_small_steps_are_seldom_and_the_last_one_comes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display = wait_display("json", json_seconds=1.0)
    for left, now in ((9, 0.0), (8, 0.9), (7, 1.0), (1, 1.1), (0, 1.2)):
        display.show("audit", left, "", now)
    lines = capsys.readouterr().err.splitlines()
    assert [json.loads(line)["left"] for line in lines] == [9, 7, 0]


def test_the_page_describes_the_fields_of_a_json_line() -> None:
    page = (Path(__file__).parents[3] / "docs" / "failover.md").read_text()
    (table,) = re.findall(r"\| field \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", page)
    assert re.findall(r"^\| `(\w+)` \|", table, flags=re.MULTILINE) == JSON_FIELDS


def test_none_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    for display in (wait_display("none"), steps_display("none")):
        display.show("apply", 1, "wrote", 0.0)
        display.end()
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_wait_is_told_and_steps_are_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wait_display(None).show("arriving", 1, "missing: 1", 0.0)
    steps_display(None).show("apply", 1, "wrote", 0.0)
    assert capsys.readouterr().err == "arriving: missing: 1\n"


def test_steps_are_told_on_a_terminal_and_where_text_is_wanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps_display("text").show("apply", 1, "wrote \x1b[1m", 0.0)
    assert capsys.readouterr().err == "sluice: wrote \\x1b[1m\n"
    monkeypatch.setattr("sys.stderr", Terminal())
    assert isinstance(steps_display(None), SaidSteps)


def test_what_cannot_be_counted_has_an_empty_bar() -> None:
    stream = Terminal()
    Progress(stream).show("plan", None, "asks", 0.0)
    assert f"[{'.' * BAR_CHARACTERS}]   0%" in stream.getvalue()


def test_each_step_is_reported_and_the_result_is_returned():
    def steps() -> Generator[str, None, int]:
        yield "looked again"
        yield "wrote the offsets of orders"
        return 7

    reported: list[str] = []
    assert run_to_end(steps(), reported.append) == 7
    assert reported == ["looked again", "wrote the offsets of orders"]
