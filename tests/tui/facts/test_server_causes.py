"""Servers that do not answer, and daemons that are missing: one cause for each."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replicator.notices.condition import Condition
from tests.tui.console.snapshots import NOW, NOW_MS, healthy
from tui.facts.alert import Level
from tui.facts.alert_cause import Cause
from tui.facts.part import Part
from tui.facts.region_view import DaemonView, RegionView
from tui.facts.server_causes import FOUND_MS, daemon_causes, region_of, server_causes
from tui.facts.snapshot import Snapshot

SILENT = Condition(
    kind="source-silent",
    who="replicate east",
    text="west regional: connection refused",
    since_ms=NOW_MS - 60_000,
    cluster="west regional",
)


CARRIER_WAITS = replace(
    SILENT, kind="waiting", who="carrier 3 of west>east", cluster="", route="west>east"
)


def with_west(**changes: object) -> Snapshot:
    """Returns the healthy snapshot with another region west."""
    found = healthy()
    east, west = found.regions
    return replace(found, regions=(east, replace(west, **changes)))


def causes(snapshot: Snapshot) -> list[Cause]:
    return list(server_causes(snapshot, NOW))


def test_servers_that_answer_are_no_cause():
    assert causes(healthy()) == []
    assert list(daemon_causes(healthy())) == []


def reach(server: str, problem: str, since: float) -> Part:
    return Part(server=server, about="cluster id", problem=problem, problem_since=since)


def test_a_silent_cluster_is_one_cause_with_its_routes_and_its_beginning():
    since = NOW - 30.0
    problem = "west regional: no answer within 5 s"
    refused = "west regional: topics: it refused"
    parts = (
        # That it refuses something began long before.
        Part(server="west regional", about="topics", problem=refused, problem_since=NOW - 9000.0),
        reach("west regional", problem, since),
    )
    (found,) = causes(replace(with_west(regional="silent"), parts=parts))
    assert (found.key, found.level, found.region) == ("server/west regional", Level.PAGE, "west")
    assert found.text == "west regional does not answer: no answer within 5 s"
    assert found.about == ("west>east", "west>west")
    assert found.since_ms == int(since * 1000)


def test_what_daemons_say_about_a_cluster_belongs_to_that_cause():
    waits = replace(
        SILENT,
        kind="carrier-waits",
        who="carrier 3 of west>east",
        cluster="",
        route="west>east",
        since_ms=NOW_MS - 90_000,
    )
    snapshot = replace(healthy(), conditions=(SILENT, waits))
    (found,) = causes(snapshot)
    assert (found.key, found.since_ms) == ("server/west regional", NOW_MS - 90_000)
    assert found.text == "west regional does not answer: connection refused"
    assert [row.split(":")[0] for row in found.rows] == ["replicate east", "carrier 3 of west>east"]


def test_only_what_daemons_noted_is_known_to_all_who_look():
    part = reach("west regional", "refused", NOW)
    (found,) = causes(replace(with_west(regional="silent"), parts=(part,)))
    assert (found.since_ms, found.news_ms) == (NOW_MS, None)
    (found,) = causes(replace(healthy(), conditions=(SILENT,)))
    # A daemon may find it later than the operator who has acknowledged it.
    assert found.news_ms == SILENT.since_ms - FOUND_MS


@pytest.mark.parametrize(
    ("kind", "who"),
    [
        ("carrier-waits", "carrier 3 of west>east"),
        ("loader-waits", "loader 3"),
        ("topics-unknown", "replicate east"),
        ("source-silent", "replicate east"),
    ],
)
def test_a_server_that_answers_and_refuses_is_not_called_silent(kind, who):
    refused = replace(
        SILENT,
        kind=kind,
        who=who,
        text="west regional: topics: carrier may not (denied); grant the right",
    )
    snapshot = with_west(redis="silent")
    found = causes(replace(snapshot, conditions=(refused,)))
    assert [each.key for each in found] == ["server/west Redis"]
    other = replace(refused, cluster="west aggregate")
    found = causes(replace(snapshot, conditions=(refused, other)))
    assert [each.key for each in found] == ["server/west Redis"]


def test_nobody_is_told_that_this_console_or_this_machine_does_not_answer():
    parts = tuple(
        Part(server=name, about="x", problem=f"{name}: no answer", problem_since=NOW - 60.0)
        for name in ("this console", "this machine")
    )
    assert causes(replace(healthy(), parts=parts)) == []


def test_a_right_that_is_missing_is_told_as_such():
    problem = "Redis at x: lacks the right: User viewer has no permissions to run 'zrange'"
    parts = (
        Part(server="west Redis", about="notices", problem=problem, problem_since=NOW - 60.0),
        Part(server="west Redis", about="reports", problem=problem, problem_since=NOW - 60.0),
    )
    (found,) = causes(replace(with_west(redis="no right"), parts=parts))
    assert (found.key, found.level, found.region) == ("right/west Redis", Level.WARN, "west")
    assert found.text == (
        "west Redis: no right to read notices, reports: "
        "User viewer has no permissions to run 'zrange'"
    )
    shard = Part(
        server="flights shard 0",
        about="tables",
        problem="flights shard 0: lacks the right: denied",
        problem_since=NOW - 60.0,
    )
    (found,) = causes(replace(healthy(), parts=(shard,)))
    assert found.key == "right/flights shard 0"


def test_a_region_of_which_no_server_answers_is_one_cause():
    gone = with_west(regional="silent", aggregate="silent", redis="silent")
    (found,) = causes(replace(gone, conditions=(SILENT,)))
    assert (found.key, found.level) == ("region/west", Level.PAGE)
    assert found.text.startswith("region west does not answer")
    assert set(found.about) == {"west>east", "west>west", "east>west"}


def test_records_flow_on_without_redis_so_nobody_is_paged():
    (found,) = causes(with_west(redis="silent"))
    assert (found.key, found.level) == ("server/west Redis", Level.WARN)


def test_another_server_counts_once_it_has_been_silent_for_a_while():
    part = Part(server="flights shard 0", about="tables", problem="no answer", problem_since=NOW)
    assert causes(replace(healthy(), parts=(part,))) == []
    (found,) = causes(replace(healthy(), parts=(replace(part, problem_since=NOW - 60.0),)))
    assert (found.key, found.level) == ("server/flights shard 0", Level.WARN)
    assert found.text == "flights shard 0 does not answer: no answer"


def test_a_missing_daemon_is_a_cause_and_an_unknown_one_is_none():
    missing = DaemonView(role="replicate", state="missing")
    optional = DaemonView(role="balance", state="missing")
    unknown = DaemonView(role="offsets", state="unknown")
    found = list(daemon_causes(with_west(daemons=(missing, optional, unknown))))
    assert [(each.key, each.level) for each in found] == [
        ("daemon/replicate/west", Level.PAGE),
        ("daemon/balance/west", Level.WARN),
    ]
    assert found[0].about == ("east>west", "west>west")
    assert found[0].text == "sluice replicate of region west does not run"


def test_nothing_is_known_of_a_region_that_was_not_asked_yet():
    assert causes(Snapshot(taken_at=NOW, regions=(RegionView(region="west"),))) == []


def test_a_condition_belongs_to_the_region_of_its_finder():
    nowhere = replace(CARRIER_WAITS, route="", topic="orders", who="replicate west")
    assert region_of(CARRIER_WAITS, healthy()) == "east"
    assert region_of(nowhere, healthy()) == "west"
    assert region_of(replace(nowhere, who="someone"), healthy()) == "east"
    assert region_of(replace(nowhere, feed="ticks"), healthy()) == "west"
    assert region_of(replace(CARRIER_WAITS, route="a>north"), healthy()) == "north"
