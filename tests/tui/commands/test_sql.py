"""sluice sql: its options, and answers as text, JSON and YAML."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import yaml
from click import UsageError

from aggregator.upsert.query_mark import FRESH, NEVER, SETTLED, At, TickTime
from aggregator.upsert.reader import ShownMark
from aggregator.upsert.seen_rows import ReadMark
from tests.tui.output.stored import assert_stored
from tui.commands.sql import lines_of, mark_of, mark_values, marks_text
from tui.program import run

NOW_MS = 1_764_385_200_000
ANSWERS = Path(__file__).parents[1] / "output" / "answers"
NAMES = ["flight", "$validFrom", "title", "stops", "at"]
ROWS = [
    (7, 12, "Boston\x1b[2J", [1, 2], datetime(2026, 11, 29, 3)),
    (8, None, b"\xff", [], float("nan")),
]
SHOWN = ShownMark(ReadMark(812, 800, 812), 1, TickTime(812, NOW_MS))
HEAD = {
    "server": "clickhouse://analyst@db:9000/feed",
    "marks": {"flights": mark_values(SHOWN)},
    "columns": [{"name": name, "type": "String"} for name in NAMES],
}


@pytest.mark.parametrize(
    ("output", "suffix"), [("table", "txt"), ("json", "json"), ("yaml", "yaml")]
)
def test_an_answer_has_its_stored_form(output: str, suffix: str) -> None:
    text = "\n".join(lines_of(output, NAMES, ROWS, HEAD)) + "\n"
    assert_stored(text, ANSWERS / f"sql.{suffix}")


def test_what_is_said_about_the_mark_has_its_stored_form() -> None:
    later = ShownMark(ReadMark(700, 690, 700, is_all_versions=True), 1, TickTime(812, NOW_MS))
    lines = marks_text("clickhouse://analyst@db:9000/feed", {"flights": SHOWN, "old": later})
    assert_stored("".join(f"sluice: {line}\n" for line in lines), ANSWERS / "sql.err")


def test_a_table_without_a_tick_says_who_makes_them() -> None:
    (line,) = marks_text("ch", {"flights": ShownMark(ReadMark(0, 0, 0), 1, NEVER)})
    assert line == "flights has no tick yet, so no row: `sluice aggregate` keeps it (ch)"


@pytest.mark.parametrize("rows", [[], ROWS[:1], ROWS * 700])
def test_json_and_yaml_can_be_read_and_have_all_rows(rows: list[tuple[object, ...]]) -> None:
    for output, read in (("json", json.loads), ("yaml", yaml.safe_load)):
        found = read("\n".join(lines_of(output, NAMES, rows, HEAD)))
        assert len(found["rows"]) == len(rows)
        assert found["marks"]["flights"]["tick"] == 812
        if rows:
            assert found["rows"][0] == {
                "flight": 7,
                "$validFrom": 12,
                "title": "Boston\x1b[2J",
                "stops": [1, 2],
                "at": "2026-11-29 03:00:00",
            }


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_rows_are_printed_as_they_come(output: str) -> None:
    """Not more than a page of them is held."""
    taken = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal taken
        for number in range(100_000):
            taken += 1
            yield (number,)

    lines = lines_of(output, ["n"], rows(), {"server": "s"})
    for _ in range(5):
        next(lines)
    assert taken <= 5000


def test_a_reader_of_the_output_that_goes_away_is_no_error() -> None:
    """`sluice sql .. | head -1` ends with 0."""
    program = (
        "import sys; from tui.commands.output import is_printed; "
        "sys.stdin.read(); sys.exit(is_printed('a row'))"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.close()
        process.stdin.close()
        assert process.wait() == 0


def test_columns_of_one_name_are_refused_where_one_would_hide_the_other() -> None:
    assert list(lines_of("table", ["a", "a"], [(1, 2)], {}))
    with pytest.raises(UsageError, match="several columns are named a: use AS"):
        list(lines_of("json", ["a", "a"], [(1, 2)], {}))


def test_marks_are_ticks_times_and_lengths_of_time() -> None:
    assert mark_of(None, is_settled=False, now_ms=NOW_MS) == FRESH
    assert mark_of(None, is_settled=True, now_ms=NOW_MS) == SETTLED
    assert mark_of("812", is_settled=False, now_ms=NOW_MS) == At(tick=812)
    assert mark_of("5m", is_settled=False, now_ms=NOW_MS) == At(time_ms=NOW_MS - 300_000)
    at = mark_of("2025-11-29T03:00:00Z", is_settled=False, now_ms=NOW_MS)
    assert at == At(time_ms=1_764_385_200_000)


@pytest.mark.parametrize("text", ["yesterday", "5 minutes", "2025-11-29T03:00:00", "-1"])
def test_other_marks_are_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="--as-of: "):
        mark_of(text, is_settled=False, now_ms=NOW_MS)


def test_two_marks_at_once_are_refused() -> None:
    with pytest.raises(UsageError, match="--settled or --as-of, not both"):
        mark_of("5m", is_settled=True, now_ms=NOW_MS)


def test_a_configuration_without_upsert_tables_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "appliance.toml"
    config.write_text(
        'regions.west.regional = {bootstrap = ["k:9092"]}\n'
        'regions.west.aggregate = {bootstrap = ["k:9093"]}\nregions.west.redis = "redis://r:6379"\n'
    )
    assert run(["sql", "--config", str(config), "SELECT 1"]) == 2
    assert "the configuration has no upsert table" in capsys.readouterr().err
