"""`sluice upsert status` and `events`: what they print, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from aggregator.upsert.version import EndKind, RowEnd
from tests.replicator.config.test_feed_contradictions import feed
from tests.replicator.config.test_topology import SOUND
from tests.replicator.config.test_upsert_table import table
from tests.tui.facts.test_upsert_status import FACTS, NOW_MS
from tui.commands.exit_codes import ExitCode
from tui.commands.upsert_status import event_lines, remarks, status_text
from tui.facts.upsert_status import UpsertStatus, upsert_status
from tui.facts.watch.upsert_questions import EndsDropped, check_kept
from tui.program import run

STATUS = upsert_status([replace(FACTS, problems=("two: no answer",))], NOW_MS)
ENDS = [
    RowEnd(1 << 32, 2, 7, EndKind.SUPERSEDED, 3, (3 << 32) + 4, bytes(16)),
    RowEnd((3 << 32) + 1, 0, 9, EndKind.LATE, 3, 2 << 32, b"\xff" * 16),
]


def test_the_tick_under_way_stopped_partitions_and_problems_are_remarked() -> None:
    assert list(remarks(STATUS)) == [
        "under way: feed status: tick 10 is cut, and not claimed yet",
        "stopped: feed status region regional gone-3: "
        "source topic was deleted: source offsets [7, ?)",
        "problem: two: no answer",
    ]


def test_a_freeze_is_remarked_once_and_what_nobody_tells_as_well() -> None:
    (view,) = STATUS.tables
    first, *others = (replace(each, stopped=None) for each in view.partitions)
    why = "by ann@host: a report"
    some = (first, *(replace(each, frozen=why) for each in others))
    for partitions, expected in (
        (some, f"frozen: feed status: region regional status-0, region regional status-1, {why}"),
        (
            tuple(replace(each, frozen=why) for each in some),
            f"frozen: feed status: all of it, {why}",
        ),
    ):
        shown = replace(view, tick=9, partitions=partitions, problems=())
        assert list(remarks(UpsertStatus(taken_at=0.0, tables=(shown,)))) == [expected]
    unknown = replace(view, tick=9, partitions=(), problems=(), are_orders_known=False)
    assert list(remarks(UpsertStatus(taken_at=0.0, tables=(unknown,)))) == [
        "unknown: feed status: whether partitions of it are frozen"
    ]


def ticks(tick: int | None, claimed: int | None) -> list[str]:
    (view,) = STATUS.tables
    plain = replace(view, tick=tick, claimed=claimed, partitions=(), problems=())
    return list(remarks(UpsertStatus(taken_at=0.0, tables=(plain,))))


def test_ledger_and_store_are_compared() -> None:
    assert ticks(9, 9) == []
    assert ticks(9, 10) == []  # the store was asked later
    assert ticks(None, 9) == ticks(9, None) == []
    assert ticks(0, 0) == ["no tick: feed status: no coordinator has cut one yet"]
    (found,) = ticks(12, 9)
    assert found.startswith("behind: feed status: tick 12 is cut")


def test_a_table_whose_ends_are_lost_says_so() -> None:
    (view,) = STATUS.tables
    lost = replace(view, are_ends_lost=True)
    found = list(remarks(UpsertStatus(taken_at=0.0, tables=(lost,))))
    assert any(each.startswith("ends lost: feed status: no server") for each in found)


def test_partitions_have_lines_of_their_own_if_they_are_asked_for() -> None:
    assert "SEGMENT" not in status_text(STATUS)
    shown = status_text(STATUS, by_partition=True)
    assert "SEGMENT" in shown and "region regional" in shown
    assert status_text(UpsertStatus(taken_at=0.0, tables=())) == "no feed has an upsert table"


def test_events_are_lines_for_people_and_documents_for_programs() -> None:
    head, first, second = event_lines(ENDS, "table")
    assert head.split() == ["TICK", "KIND", "SEGMENT", "OFFSET", "ROW", "BY", "ROW", "KEY"]
    assert first.split() == ["3", "superseded", "2", "7", "4294967296", "12884901892", "00" * 16]
    assert second.split()[1] == "late"
    found = [json.loads(line) for line in event_lines(ENDS, "json")]
    assert found[0] == {
        "tick": 3,
        "kind": "superseded",
        "segment": 2,
        "offset": 7,
        "row": str(1 << 32),
        "by_row": str((3 << 32) + 4),
        "key": "00" * 16,
    }


def test_events_that_may_be_dropped_are_refused_naming_the_oldest() -> None:
    check_kept(5, 5)
    with pytest.raises(EndsDropped, match="those after tick 6 are kept"):
        check_kept(5, 6)


@pytest.mark.parametrize(
    "command",
    [["status"], ["events", "--feed", "flights", "--since", "0"], ["verify", "--feed", "flights"]],
)
def test_an_unknown_table_lists_the_known_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    path = tmp_path / "appliance.toml"
    path.write_text(SOUND + feed(topics='".*"') + table())
    arguments = ["upsert", *command, "--config", str(path), "--table", "other"]
    assert run(arguments) == ExitCode.USAGE
    assert "no upsert table 'other'; known: status" in capsys.readouterr().err
