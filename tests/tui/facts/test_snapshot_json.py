"""Snapshot as JSON: it comes back as it was, and the stored schema describes it."""

import json
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter

from replicator.notices.condition import Condition
from tests.tui.console.values.feeds import feed
from tests.tui.facts.route_records import ENTRY, FACTS, LOSS, NOW, PARTITION, PLAN
from tui.commands.output import plain_values
from tui.facts.feed_status import BlockView
from tui.facts.part import Part
from tui.facts.region_view import DaemonView, RegionView
from tui.facts.route_summary import route_view
from tui.facts.snapshot import Snapshot, schema_text

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
