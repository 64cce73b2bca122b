"""`sluice restore`, without servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aggregator.objects.forgotten import Forgotten, Log
from aggregator.restore.restore_entry import claim
from aggregator.restore.restore_job import RestoreState
from aggregator.restore.restore_plan import Doubt, PartitionPlan
from aggregator.restore.restore_range import BadRange, OffsetRange
from aggregator.restore.restored_runs import GroupPosition
from replicator.audit.window import BadWindow
from replicator.config.topology import load
from tests.aggregator.restore.test_restore_plan import REQUEST
from tests.aggregator.restore.told import told
from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands.exit_codes import ExitCode
from tui.commands.restore import (
    RestoreResult,
    group_offsets_of,
    restore_range,
    restore_request,
    restore_text,
    restore_values,
)
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
JOB = ["--feed", "flights", "--topic", "t"]
PLANS = (
    PartitionPlan(0, 100, 300, (told(100, 200), told(200, 300))),
    PartitionPlan(1, 0, 0, ()),
)
ENTRIES = {plan.partition: claim("job", "text", plan, 0, "id") for plan in PLANS}
ENTRIES[0] = ENTRIES[0].passed(250, 150)
STATE = RestoreState(plans=PLANS, entries=ENTRIES, partitions=2, is_there=True)
POSITIONS = (GroupPosition(0, 120, 20), GroupPosition(0, 280, None))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--feed"),
        (["--feed", "flights"], "--topic"),
        (["--feed", "x", "--topic", "t"], "no feed 'x'; known: flights"),
        (JOB, "feed flights has no objects: its kind is clickhouse"),
        ([*JOB, "--create"], "--create needs --replication-factor"),
        ([*JOB, "--offsets", "3"], "'3' is no range"),
        ([*JOB, "--since", "10m"], "name an instant"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["restore", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_partitions_and_positions_of_a_group_are_shown(assert_snapshot):
    assert_snapshot(restore_text(RestoreResult(REQUEST, STATE, POSITIONS)), "restore")


def test_a_topic_that_is_not_there_is_named():
    absent = replace(STATE, is_there=False)
    first = restore_text(RestoreResult(REQUEST, absent, ())).partition("\n")[0]
    assert first == (
        "east aggregate flights -> east aggregate again (2 partitions), which is not there yet"
    )


def test_values_have_the_same():
    values = restore_values(RestoreResult(REQUEST, STATE, POSITIONS))
    assert values["target"] == {"cluster": "east aggregate", "topic": "again", "exists": True}
    assert [each["is_done"] for each in values["partitions"]] == [False, True]
    assert values["partitions"][0] == {
        "partition": 0,
        "objects": 2,
        "records_of_objects": 200,
        "bytes_of_objects": 2000,
        "begin": 100,
        "end": 300,
        "restored_records": 150,
        "restored_up_to": 250,
        "is_done": False,
    }
    assert [each["target_offset"] for each in values["positions"]] == [20, None]


def test_records_that_may_be_missing_are_named_and_nothing_is_said_where_none_can_be():
    assert "may be missing" not in restore_text(RestoreResult(REQUEST, STATE, ()))
    plans = (replace(PLANS[0], doubt=Doubt(100, 300, ((180, 200),))), PLANS[1])
    result = RestoreResult(REQUEST, replace(STATE, plans=plans), ())
    assert restore_text(result).endswith(
        "records may be missing.\npartition 0: it is not known whether objects hold all of the "
        "offsets 100 to 299: none holds 180 to 199"
    )
    assert restore_values(result)["doubts"] == [
        {"partition": 0, "begin": 100, "end": 300, "gaps": ((180, 200),)}
    ]


def test_records_of_forgotten_objects_are_named_as_missing():
    forgotten = Forgotten(Log("east aggregate", "t", 0)).with_objects([told(100, 120)], 1)
    plans = (replace(PLANS[0], forgotten=forgotten.ranges), PLANS[1])
    result = RestoreResult(REQUEST, replace(STATE, plans=plans), ())
    assert restore_text(result).endswith(
        "their records are missing.\npartition 0: 20 records of 1 objects, offsets 100 to 119"
    )
    (value,) = restore_values(result)["forgotten"]
    assert (value["partition"], value["begin"], value["end"], value["records"]) == (0, 100, 120, 20)
    assert restore_values(RestoreResult(REQUEST, STATE, ()))["forgotten"] == []


CONFIG = """
[regions.west]
redis = "redis://127.0.0.1:1"
regional.bootstrap = ["127.0.0.1:1"]
aggregate.bootstrap = ["127.0.0.1:2"]
[regions.east]
redis = "redis://127.0.0.1:2"
regional.bootstrap = ["127.0.0.1:3"]
aggregate.bootstrap = ["127.0.0.1:4"]
[feeds.lake]
kind = "s3"
region = "east"
bucket = "air"
clusters = ["east aggregate"]
[feeds.lakes]
kind = "s3"
region = "east"
bucket = "air"
prefix = "{cluster}"
clusters = ["east regional", "west regional"]
"""
WHOLE = restore_range((), None, None)


@pytest.fixture(scope="module")
def appliance(tmp_path_factory):
    file = tmp_path_factory.mktemp("config") / "appliance.toml"
    file.write_text(CONFIG)
    return load(file)


def test_a_range_is_of_offsets_and_of_instants():
    found = restore_range(("3:5-9",), "2026-11-22T03:00:00Z", None)
    assert dict(found.offsets) == {3: OffsetRange(5, 9)}
    assert (found.since_ms, found.until_ms) == (1_795_316_400_000, None)


@pytest.mark.parametrize(
    ("offsets", "since", "until", "error", "text"),
    [
        ((), "10m", None, BadRange, "name an instant"),
        ((), None, "yesterday", BadWindow, "instant"),
        ((), "2026-11-22T03:00:00Z", "2026-11-22T03:00:00Z", BadRange, "is empty"),
        (("3",), None, None, BadRange, "no range"),
    ],
)
def test_a_range_that_another_run_would_read_otherwise_is_refused(
    offsets, since, until, error, text
):
    with pytest.raises(error, match=text):
        restore_range(offsets, since, until)


def test_source_and_target_have_defaults(appliance):
    found = restore_request(appliance, appliance.feed("lake"), None, "flights", None, None, WHOLE)
    assert (found.source, found.target) == ("east aggregate", "east aggregate")
    assert (found.topic, found.target_topic) == ("flights", "flights")
    found = restore_request(
        appliance,
        appliance.feed("lakes"),
        "west regional",
        "flights",
        "west aggregate",
        "again",
        WHOLE,
    )
    assert (found.source, found.target) == ("west regional", "west aggregate")
    assert found.target_topic == "again"


@pytest.mark.parametrize(
    ("feed", "source", "target", "text"),
    [
        ("lakes", None, None, "name a --cluster"),
        ("lake", "west aggregate", None, "reads east aggregate, not west aggregate"),
        ("lake", None, "north aggregate", "no cluster north aggregate; known: .*west aggregate"),
    ],
)
def test_a_cluster_that_is_none_of_the_feed_or_the_configuration_is_named(
    appliance, feed, source, target, text
):
    with pytest.raises(BadRange, match=text):
        restore_request(appliance, appliance.feed(feed), source, "flights", target, None, WHOLE)


def test_offsets_of_a_group_are_pairs():
    assert group_offsets_of(["3:42", "3:43"]) == [(3, 42), (3, 43)]
    for text in ("3", "3:", "x:1", "3:-1"):
        with pytest.raises(BadRange, match="no offset"):
            group_offsets_of([text])
