"""Output of commands: tables with one row a line, where unknown is ?; JSON, YAML, remarks."""

import json

import pytest
import yaml

from replicator.notices.condition import Condition
from tui.commands.output import emit, say
from tui.commands.text import condition_line, instant, joined, table

HOSTILE = "a\r\nb\x1b[2J\x9bc\u202ed\u2028e"
SHOWN = "a\\r\\nb\\x1b[2J\\x9bc\\u202ed\\u2028e"
WAITS = Condition(
    kind="waiting",
    who="loader 1 of flights in west regional",
    text="no intent yet",
    since_ms=950_000,
    feed="flights",
    cluster="west regional",
    topic="flights",
    partition=3,
)


def test_numbers_stand_to_the_right_and_unknown_is_a_question_mark() -> None:
    assert table(("NAME", "LAG"), [("a", 5), ("long name", None), ("b", 1234)]) == (
        "NAME        LAG\na             5\nlong name     ?\nb          1234"
    )


def test_no_rows_leave_the_heads() -> None:
    assert table(("A", "B"), []) == "A  B"


def test_a_cell_is_one_line_without_control_characters_and_columns_still_line_up() -> None:
    assert table(("GROUP", "LAG"), [(HOSTILE, 5), ("b", 6)]).splitlines() == [
        "GROUP".ljust(len(SHOWN)) + "  LAG",
        f"{SHOWN}    5",
        "b".ljust(len(SHOWN)) + "    6",
    ]


def test_a_row_stays_one_line_however_wide_it_is() -> None:
    wide = "a b " * 500
    assert table(("X", "Y"), [(wide, 1)]).splitlines()[1] == f"{wide}  1"


def test_brackets_and_colons_in_a_cell_are_no_markup() -> None:
    text = "[red]orders[/red] :smile: [1, 2]"
    assert table(("TOPIC",), [(text,)]) == f"TOPIC\n{text}"


def test_a_remark_is_one_line_without_control_characters() -> None:
    assert joined([f"parked: {HOSTILE}", "problem"]) == f"parked: {SHOWN}\nproblem"


def test_an_instant_is_formatted_in_utc_and_an_impossible_one_as_a_number() -> None:
    assert instant(0) == "1970-01-01T00:00:00Z"
    assert instant(None) is None
    assert instant(2**52) == f"{2**52} ms"
    assert instant(10**400) == f"{10**400} ms"


def test_a_condition_says_what_it_is_about_since_when_and_who_found_it():
    assert condition_line(WAITS) == (
        "waiting: flights west regional flights-3: no intent yet "
        "(since 1970-01-01T00:15:50+00:00, says loader 1 of flights in west regional)"
    )


def test_what_a_condition_does_not_name_is_left_out():
    line = condition_line(Condition(kind="paused", who="replicate east", text="", since_ms=0))
    assert line == "paused (since 1970-01-01T00:00:00+00:00, says replicate east)"


def test_a_time_that_no_calendar_has_ends_nothing():
    absurd = Condition(kind="paused", who="replicate east", text="", since_ms=10**18)
    assert condition_line(absurd) == "paused (since ?, says replicate east)"


@pytest.mark.parametrize(
    ("output", "text"),
    [("json", '{\n  "lag": null\n}\n'), ("yaml", "lag: null\n"), ("table", "LAG ?\n")],
)
def test_each_form_prints_the_same_value(
    output: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    emit(output, {"lag": None}, lambda: "LAG ?")
    assert capsys.readouterr().out == text


def test_each_remark_on_stderr_is_one_line_without_control_characters(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say(HOSTILE, "two")
    say()
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", f"sluice: {SHOWN}\nsluice: two\n")


def test_text_for_people_has_no_control_characters_but_the_ends_of_its_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    emit("table", None, lambda: "one\ntwo \x1b[2J\u202e")
    assert capsys.readouterr().out == "one\ntwo \\x1b[2J\\u202e\n"


@pytest.mark.parametrize(("output", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_programs_get_every_character(output, read, capsys) -> None:
    emit(output, {"group": HOSTILE}, lambda: "")
    assert read(capsys.readouterr().out) == {"group": HOSTILE}
