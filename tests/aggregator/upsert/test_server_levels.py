"""Tests of server levels and marks."""

from __future__ import annotations

from aggregator.upsert.claims import TickRow, What
from aggregator.upsert.server_levels import ServerLevel, ServerLevels, ServerSight

WHOLE = ServerSight("r", 100, 50, has_rows=True, has_updates=True)
BEHIND = WHOLE._replace(has_rows=False, has_updates=False)
SILENT = "does not answer"


def claim(tick: int) -> TickRow:
    """Returns the claim of a tick of a second."""
    return TickRow(1, tick, What.CLAIM, tick * 1000)


def levels(mark: int = 0) -> ServerLevels:
    return ServerLevels(lag_seconds=30, mark=mark)


def test_a_complete_server_has_the_claim_that_was_read_before():
    level = ServerLevel().seen(WHOLE, claim(7))
    assert (level.rows, level.updates, level.level) == (7, 7, 7)


def test_a_servers_level_is_the_lesser_of_its_rows_and_its_ends():
    level = ServerLevel().seen(WHOLE, claim(7)).seen(WHOLE._replace(has_updates=False), claim(9))
    assert (level.rows, level.updates, level.level) == (9, 7, 7)


def test_a_server_that_fetches_a_part_keeps_the_level_that_it_had():
    assert ServerLevel().seen(WHOLE, claim(7)).seen(BEHIND, claim(9)).level == 7


def test_a_server_with_another_start_or_other_tables_has_no_level_until_it_is_complete():
    for changed in (BEHIND._replace(uptime_seconds=3), BEHIND._replace(made_s=90)):
        level = ServerLevel().seen(WHOLE, claim(7)).seen(changed, claim(9))
        assert level.level == 0
        assert level.seen(changed._replace(has_rows=True, has_updates=True), claim(10)).level == 10


def test_the_mark_is_the_least_level_of_the_servers_that_answer():
    found = levels()
    found.take(claim(5), {0: WHOLE, 1: WHOLE}, {})
    mark = found.take(claim(9), {0: WHOLE, 1: BEHIND}, {})
    assert (mark.tick, mark.servers) == (5, (0, 1))


def test_a_silent_server_does_not_hold_the_mark():
    found = levels()
    found.take(claim(5), {0: WHOLE, 1: WHOLE}, {})
    mark = found.take(claim(9), {0: WHOLE}, {1: SILENT})
    assert (mark.tick, mark.servers, mark.left_out) == (9, (0,), {1: SILENT})


def test_a_server_that_is_behind_for_too_long_is_left_out_and_returns_at_the_mark():
    found = levels()
    found.take(claim(5), {0: WHOLE, 1: WHOLE}, {})
    assert found.take(claim(35), {0: WHOLE, 1: BEHIND}, {}).tick == 5
    mark = found.take(claim(36), {0: WHOLE, 1: BEHIND}, {})
    assert (mark.tick, mark.servers) == (36, (0,))
    assert "31 s behind: it has tick 5 of 36" in mark.left_out[1]
    assert found.take(claim(37), {0: WHOLE, 1: WHOLE}, {}).servers == (0, 1)


def test_the_mark_never_goes_back_for_a_server_that_returns_behind_it():
    found = levels(mark=20)
    mark = found.take(claim(10), {0: WHOLE}, {})
    assert (mark.tick, mark.servers) == (20, ())
    assert "has tick 10, and others answered at 20" in mark.left_out[0]


def test_a_new_replica_answers_nothing_until_it_is_complete():
    found = levels()
    mark = found.take(claim(9), {0: WHOLE, 1: BEHIND}, {})
    assert mark.servers == (0,)
    assert "not complete yet" in mark.left_out[1]


def test_a_quiet_table_leaves_no_server_behind():
    found = levels()
    for _ in range(3):
        mark = found.take(claim(5), {0: WHOLE, 1: WHOLE}, {})
    assert (mark.tick, mark.servers) == (5, (0, 1))


def test_without_any_server_the_mark_stays_and_nobody_is_asked():
    found = levels(mark=7)
    mark = found.take(claim(9), {}, {0: SILENT, 1: SILENT})
    assert (mark.tick, mark.servers) == (7, ())
