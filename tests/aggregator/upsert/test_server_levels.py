"""Tests of the ticks that servers hold, and of the marks that follow."""

from __future__ import annotations

from typing import Any

import pytest

from aggregator.store import recognition
from aggregator.upsert import server_levels
from aggregator.upsert.server_levels import HeldTicks, ServerLevels, ServerSight, read_sight

WHOLE = ServerSight("r", 100, 50, has_rows=True, has_updates=True)
BEHIND = WHOLE._replace(has_rows=False, has_updates=False)
SILENT = "connection refused"


class AnsweringClient:
    """Client of a server that has copied and fetched all entries of its tables' logs.

    Args:
        uncommitted: parts of the table of rows that ZooKeeper does not know.
    """

    def __init__(self, uncommitted: int) -> None:
        self._answers: dict[str, list[tuple[Any, ...]]] = {
            recognition.REPLICA_PATH: [("/t__rows/replicas/r-0a",)],
            recognition.REPLICA: [(0, 8, 7, 0, "/t__rows")],
            recognition.UNCOMMITTED: [(uncommitted,)],
            server_levels.MADE: [(100, 50, 2)],
        }

    def execute(self, query: str, _: object) -> list[tuple[Any, ...]]:
        return self._answers[query]


@pytest.mark.parametrize("uncommitted", [0, 1])
def test_a_server_that_shows_rows_of_a_failed_commit_gets_no_settle_point(uncommitted):
    sight = read_sight(AnsweringClient(uncommitted), "air", "t")  # type: ignore[arg-type]
    assert sight == ServerSight("r-0a", 100, 50, not uncommitted, True)


def levels(mark: int = 0) -> ServerLevels:
    return ServerLevels(lag_seconds_max=30, mark=mark)


def test_a_complete_server_has_the_claim_that_was_read_before():
    held = HeldTicks().seen(WHOLE, 7)
    assert (held.rows, held.updates, held.mark) == (7, 7, 7)


def test_a_server_shows_the_lesser_of_its_rows_and_its_ends():
    held = HeldTicks().seen(WHOLE, 7).seen(WHOLE._replace(has_updates=False), 9)
    assert (held.rows, held.updates, held.mark) == (9, 7, 7)


def test_a_server_that_fetches_a_part_keeps_what_it_had():
    assert HeldTicks().seen(WHOLE, 7).seen(BEHIND, 9).mark == 7


def test_a_server_that_started_again_or_has_other_tables_has_nothing_until_it_is_complete():
    for changed in (BEHIND._replace(uptime_seconds=3), BEHIND._replace(made_s=90)):
        held = HeldTicks().seen(WHOLE, 7).seen(changed, 9)
        assert held.mark == 0
        assert held.seen(changed._replace(has_rows=True, has_updates=True), 10).mark == 10


def test_the_mark_is_the_least_of_the_servers_that_answer():
    found = levels()
    found.take(5, {"a": WHOLE, "b": WHOLE}, {}, 0.0)
    mark = found.take(9, {"a": WHOLE, "b": BEHIND}, {}, 4.0)
    assert (mark.tick, set(mark.servers)) == (5, {"a", "b"})


def test_a_silent_server_does_not_hold_the_mark_and_is_named_with_the_reason():
    found = levels()
    found.take(5, {"a": WHOLE, "b": WHOLE}, {}, 0.0)
    mark = found.take(9, {"a": WHOLE}, {"b": SILENT}, 4.0)
    assert (mark.tick, set(mark.servers), mark.left_out) == (9, {"a"}, {"b": SILENT})


def test_a_server_that_is_behind_for_too_long_is_left_out_and_returns_by_itself():
    found = levels()
    found.take(5, {"a": WHOLE, "b": WHOLE}, {}, 0.0)
    assert found.take(6, {"a": WHOLE, "b": BEHIND}, {}, 1.0).tick == 5
    for now in range(2, 32):
        mark = found.take(5 + now, {"a": WHOLE, "b": BEHIND}, {}, float(now))
    assert mark.tick == 5
    mark = found.take(37, {"a": WHOLE, "b": BEHIND}, {}, 32.0)
    assert (mark.tick, set(mark.servers)) == (37, {"a"})
    assert mark.left_out["b"] == "has tick 5, and lacks the next one for 31 s"
    mark = found.take(1037, {"a": WHOLE, "b": BEHIND}, {}, 1032.0)
    assert set(mark.servers) == {"a"}
    assert set(found.take(1038, {"a": WHOLE, "b": WHOLE}, {}, 1033.0).servers) == {"a", "b"}


def test_a_server_that_lacks_the_last_tick_of_a_quiet_table_stays_left_out():
    found = levels()
    found.take(5, {"a": WHOLE, "b": WHOLE}, {}, 0.0)
    for now in range(1, 200):
        mark = found.take(6, {"a": WHOLE, "b": BEHIND}, {}, float(now))
    assert (mark.tick, set(mark.servers)) == (6, {"a"})


def test_a_new_replica_answers_nothing_until_it_is_complete():
    mark = levels().take(9, {"a": WHOLE, "b": BEHIND}, {}, 0.0)
    assert (mark.tick, set(mark.servers)) == (9, {"a"})
    assert "never seen complete" in mark.left_out["b"]


def test_the_mark_never_goes_back():
    mark = levels(mark=20).take(10, {"a": WHOLE}, {}, 0.0)
    assert (mark.tick, dict(mark.servers)) == (None, {})


def test_without_any_server_there_is_no_mark():
    mark = levels(mark=7).take(9, {}, {"a": SILENT, "b": SILENT}, 0.0)
    assert (mark.tick, dict(mark.servers)) == (None, {})
