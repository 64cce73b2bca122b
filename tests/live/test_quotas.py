"""Client quotas slow down carriers and audits; nothing is lost, repeated or given up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from tests.live.audited import auditor
from tests.live.conftest import NEVER_KILLED
from tests.live.hand import Hand
from tests.live.quotas import quotas
from tests.live.stage import Stage

BYTE_RATE = 262_144
RECORDS = 4000
"""About 0.8 MB of records. Two windows of a byte quota let half a megabyte pass at once."""
MANY_BATCHES = Shape(batch_records=200)
AUDIT_CLIENT = "sluice-audit"


@pytest.fixture(scope="module")
def short_window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A broker that throttles for two seconds at most; the default is eleven."""
    directory = tmp_path_factory.mktemp("short-window")
    properties = {**NEVER_KILLED, "quota.window.num": 3, "log.retention.ms": -1}
    with KafkaCluster("short-window", directory, properties=properties) as cluster:
        yield cluster


def client_id(stage: Stage, number: int) -> str:
    return f"sluice.{stage.route.key}.{number}"


def until_carried(hand: Hand, stage: Stage) -> None:
    hand.until_landed(stage.place, RECORDS)


def test_a_tail_is_read_under_a_quota_of_bytes(make_stage, short_window):
    stage = make_stage(target=short_window)
    stage.left_behind(0, RECORDS, MANY_BATCHES)
    with quotas(stage.target, client_id=client_id(stage, 1), consumer_byte_rate=BYTE_RATE):
        until_carried(stage.hand(1).start(), stage)
    stage.seen().assert_exact()


def test_records_are_carried_under_a_quota_of_fetched_bytes(make_stage, short_window, aggregate):
    stage = make_stage(source=short_window, target=aggregate)
    stage.send(RECORDS, MANY_BATCHES)
    with quotas(stage.source, client_id=client_id(stage, 0), consumer_byte_rate=BYTE_RATE):
        until_carried(stage.hand(0).start(), stage)
    stage.seen().assert_exact()


@pytest.mark.parametrize(
    "limits", [{"producer_byte_rate": BYTE_RATE}, {"request_percentage": 2.0}], ids=str
)
def test_records_are_carried_under_a_quota_of_the_target(make_stage, short_window, limits):
    stage = make_stage(target=short_window)
    stage.send(RECORDS, MANY_BATCHES)
    with quotas(stage.target, client_id=client_id(stage, 0), **limits):
        until_carried(stage.hand(0).start(), stage)
    stage.seen().assert_exact()


def test_an_audit_reads_under_a_quota_of_bytes(make_stage, short_window, sluice, tmp_path):
    stage = make_stage(target=short_window)
    stage.send(RECORDS, MANY_BATCHES)
    hand = stage.hand(0).start()
    until_carried(hand, stage)
    hand.finish()
    audit = auditor(sluice, stage.carrying, tmp_path)
    with quotas(stage.target, client_id=AUDIT_CLIENT, consumer_byte_rate=BYTE_RATE):
        code, (row,) = audit(stage.topic, "--by", "bytes")
    assert (code, row["verdict"]) == (0, "equal")
