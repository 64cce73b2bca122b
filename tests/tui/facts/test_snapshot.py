"""Snapshot: its parts, regions, groups, totals and connections, and its JSON."""

import json
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from replicator.groups.planning.checks import AGE_WARN_MS
from replicator.notices.condition import Condition
from tests.tui.console.values.feeds import feed
from tests.tui.facts.route_records import ENTRY, FACTS, LOSS, NOW, PARTITION, PLAN
from tui.commands.output import plain_values
from tui.facts.connections import Connection, with_shared_ids_named
from tui.facts.feed_status import BlockView
from tui.facts.group_view import GroupView, is_application
from tui.facts.part import Part, each_once
from tui.facts.region_view import COPIES_STALE_SECONDS, DAEMON_ROLES, DaemonView, RegionView
from tui.facts.route_summary import route_view
from tui.facts.snapshot import SCHEMA_VERSION, Snapshot, schema_text
from tui.facts.totals import largest, total

# --- Snapshot: problems are those of all servers, each once.


def test_a_problem_of_two_routes_and_of_a_part_is_listed_once() -> None:
    text = "east aggregate: no answer"
    routes = tuple(route_view(FACTS, PLAN, NOW) for _ in range(2))
    part = Part(server="east aggregate", about="topics", problem=text)
    other = Part(server="east Redis", about="reports", problem="east Redis: refused")
    found = Snapshot(taken_at=NOW, routes=routes, parts=(part, other))
    assert found.problems == (text, "east Redis: refused")


def test_what_was_not_asked_is_none_and_not_empty() -> None:
    found = Snapshot(taken_at=NOW)
    assert {found.groups, found.audits, found.alerts, found.events, found.plans} == {None}
    assert found.schema_version == SCHEMA_VERSION == 2


# --- Part of a snapshot: stale after three cadences, or without any answer.


def part(**fields: object) -> Part:
    return Part(server="west regional", about="topics", cadence_seconds=10.0, **fields)


def test_an_answer_is_stale_after_three_cadences() -> None:
    assert not part(asked_at=100.0).is_stale(130.0)
    assert part(asked_at=100.0).is_stale(130.1)


def test_no_answer_at_all_is_stale() -> None:
    assert part().is_stale(0.0)


def test_a_question_that_is_asked_at_once_again_is_stale_after_three_seconds() -> None:
    often = Part(server="east Redis", about="reports", asked_at=100.0, cadence_seconds=0.1)
    assert not often.is_stale(102.9)
    assert often.is_stale(103.1)


def test_a_missing_right_is_no_silence() -> None:
    assert part(problem="west regional: lacks the right: topics").lacks_right
    assert not part(problem="west regional: no answer within 5 s").lacks_right
    assert not part().lacks_right


def test_a_problem_is_told_once_whatever_goes_on_meanwhile() -> None:
    refused = "Redis at redis://east: refused; daemons go on without it"
    other = "Redis at redis://east: refused; carrying goes on without it"
    assert each_once([refused, None, other, "east aggregate: refused", refused]) == (
        refused,
        "east aggregate: refused",
    )


# --- Connections: two names of one cluster are found by its cluster id.

WEST = Connection("west regional", "x", "")
AWAY = Connection("west aggregate", None, "no answer")


def test_two_names_of_one_cluster_are_a_problem_of_the_second():
    first, second = with_shared_ids_named([WEST, Connection("e", "x", "")])
    assert first == WEST and first.is_sound
    assert second.problem == "the same cluster as west regional: each needs its own"
    assert not second.is_sound


def test_clusters_that_do_not_answer_are_not_called_the_same():
    assert with_shared_ids_named([AWAY, AWAY]) == (AWAY, AWAY)
    assert not AWAY.is_sound


def test_clusters_with_ids_of_their_own_are_sound():
    assert all(each.is_sound for each in with_shared_ids_named([WEST, Connection("e", "y", "")]))


# --- Region of a snapshot: what was not asked is unknown.


def test_servers_that_were_not_asked_are_unknown_and_so_is_the_age_of_copies() -> None:
    region = RegionView(region="west")
    assert {region.regional, region.aggregate, region.redis} == {"unknown"}
    assert region.copies_age_seconds is None


def test_copies_are_stale_from_the_age_at_which_a_failover_warns_of_them() -> None:
    assert COPIES_STALE_SECONDS * 1000 == AGE_WARN_MS


def test_there_is_a_role_for_each_daemon() -> None:
    assert DAEMON_ROLES == ("replicate", "balance", "offsets", "aggregate", "verify")


# --- Groups as values: members in other regions than the one that is meant, and groups of Sluice.


def test_members_are_elsewhere_only_where_a_region_is_meant():
    found = GroupView(group="orders", members=("east", "west"))
    assert found.elsewhere("west") == ("east",)
    assert found.elsewhere(None) == ()


def test_groups_of_sluice_are_none_of_an_application():
    assert is_application("orders") and not is_application("sluice.runs")


# --- Totals: an unknown part stays unknown in every sum.


@given(st.lists(st.none() | st.integers(0, 100)))
def test_a_sum_with_an_unknown_part_is_unknown(parts: list[int | None]) -> None:
    known = [part for part in parts if part is not None]
    whole = len(known) == len(parts) and bool(parts)
    assert total(parts) == (sum(known) if whole else None)
    assert largest(parts) == (max(known) if whole else None)


# --- Snapshot as JSON: it comes back as it was, and the stored schema describes it.

SNAPSHOTS = TypeAdapter(Snapshot)
SCHEMA = Path(__file__).parents[3] / "docs" / "status.schema.json"


def example() -> Snapshot:
    facts = replace(FACTS, entries={PARTITION: ENTRY.park(LOSS)})
    condition = Condition(kind="paused", who="replicate east", text="by alice", since_ms=1)
    return Snapshot(
        taken_at=NOW,
        parts=(Part(server="east Redis", about="reports", problem="east Redis: refused"),),
        regions=(
            RegionView(region="east", daemons=(DaemonView(role="offsets", state="missing"),)),
        ),
        routes=(route_view(facts, PLAN, NOW),),
        conditions=(condition,),
    )


def test_a_snapshot_comes_back_from_json_as_it_was() -> None:
    assert SNAPSHOTS.validate_json(SNAPSHOTS.dump_json(example())) == example()


def test_fields_of_later_versions_are_left_out() -> None:
    values = json.loads(SNAPSHOTS.dump_json(example())) | {"later": 1}
    values["routes"][0]["later"] = 1
    assert SNAPSHOTS.validate_json(json.dumps(values)) == example()


def test_what_is_worked_out_of_a_feed_is_in_json_and_not_missed_in_that_of_earlier_versions() -> (
    None
):
    block = BlockView(table="o", begin=1, end=5, records=4, age_seconds=9.0, window_used=0.7)
    loaded, stuck = feed().partitions
    found = replace(feed(), partitions=(replace(loaded, blocks=(block,)), stuck))
    whole = replace(example(), feeds=(found,))
    values = plain_values(whole)
    (shown,) = values["feeds"]
    partition, (table,) = shown["partitions"][0], shown["shards"][0]["tables"]
    assert (partition.pop("intent_age_seconds"), partition.pop("window_used")) == (9.0, 0.7)
    assert table["state"].pop("window_seconds") == 600.0
    assert SNAPSHOTS.validate_json(json.dumps(values)) == whole


def test_json_has_the_totals_of_topics_and_null_where_unknown() -> None:
    values = json.loads(SNAPSHOTS.dump_json(example()))
    assert (values["schema_version"], values["taken_at"]) == (2, NOW)
    assert values["problems"] == ["east Redis: refused"]
    assert values["groups"] is None
    (topic,) = values["routes"][0]["topics"]
    assert (topic["lag_records"], topic["lag_seconds"], topic["state"]) == (10, 0.25, "PARKED")
    assert (topic["unknown_partitions"], topic["parked_partitions"]) == (0, 1)
    assert topic["open_transaction_seconds"] is None


def test_the_stored_schema_is_fresh() -> None:
    text = "made anew by: .venv/bin/sluice status --schema > docs/status.schema.json"
    assert SCHEMA.read_text() == schema_text(), text
