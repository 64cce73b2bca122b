"""Every kind of difference between a target partition and its sources, found by offset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape, TrafficRecord, records, send
from tests.live.audited import BY, ByHand, auditor, messages
from tests.live.carrying import Carrying
from tests.live.conftest import Carry
from tests.live.failover_command import Sluice
from tui.commands.exit_codes import ExitCode


@pytest.fixture
def by_hand(
    regional: KafkaCluster, aggregate: KafkaCluster, make_topic: Any, carry: Carry
) -> tuple[ByHand, list[Message], Carrying, str]:
    """Ten records at the source, none at the target, and no carrier."""
    topic = make_topic(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    send(regional, topic, records(10))
    sent = messages(regional, topic, 10)
    return ByHand(regional, aggregate, carrying, topic), sent, carrying, topic


def test_a_record_that_a_carrier_left_out_is_missing_at_every_depth(
    by_hand: Any, sluice: Sluice, tmp_path: Path
) -> None:
    hand, sent, carrying, topic = by_hand
    hand.land([*sent[:5], *sent[6:]])
    hand.tell(10, (0, 0, 5), (6, 5, 4))
    audit = auditor(sluice, carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(topic, *by)
        assert (code, row["verdict"], row["missing"]) == (ExitCode.DIFFERENT, "missing", 1)
        assert row["examples"] == ["missing: source offset 5"]
        assert (row["source_records"], row["target_records"]) == (10, 9)


def test_a_run_that_claims_more_than_is_there_is_not_believed(
    by_hand: Any, sluice: Sluice, tmp_path: Path
) -> None:
    hand, sent, carrying, topic = by_hand
    hand.land(sent[:8])
    hand.tell(10, (0, 0, 10))
    audit = auditor(sluice, carrying, tmp_path)
    for by in BY:
        code, (row,) = audit(topic, *by)
        assert (code, row["verdict"], row["missing"]) == (ExitCode.DIFFERENT, "missing", 2)
        assert row["examples"] == ["missing: source offsets 8..9"]


def test_a_record_that_was_changed_shows_where_records_are_read(
    by_hand: Any, sluice: Sluice, tmp_path: Path, aggregate: KafkaCluster
) -> None:
    hand, sent, carrying, topic = by_hand
    hand.land(sent[:3])
    send(aggregate, topic, [TrafficRecord(0, b"another", b"record")])
    hand.land(sent[4:])
    hand.tell(10, (0, 0, 10))
    audit = auditor(sluice, carrying, tmp_path)
    assert audit(topic)[0] == ExitCode.DONE
    code, (row,) = audit(topic, "--by", "bytes")
    assert (code, row["verdict"], row["changed"]) == (ExitCode.DIFFERENT, "changed", 1)
    assert row["examples"] == ["changed: source offset 3"]


def test_a_record_that_is_there_twice_is_surplus_where_records_are_read(
    by_hand: Any, sluice: Sluice, tmp_path: Path
) -> None:
    hand, sent, carrying, topic = by_hand
    hand.land([*sent[:5], sent[4], *sent[5:]])
    hand.tell(10, (0, 0, 5), (5, 6, 5))
    audit = auditor(sluice, carrying, tmp_path)
    code, (row,) = audit(topic)
    assert (code, row["foreign"]) == (ExitCode.DONE, 1)
    code, (row,) = audit(topic, "--by", "bytes")
    assert (code, row["verdict"], row["surplus"]) == (ExitCode.DIFFERENT, "surplus", 1)
    assert row["examples"] == ["there twice: source offset 4"]


def test_records_of_an_aborted_transaction_in_the_target_are_surplus(
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_topic: Any,
    carry: Carry,
    sluice: Sluice,
    tmp_path: Path,
) -> None:
    topic = make_topic(regional, aggregate)
    carrying = carry(regional, aggregate)
    carrying.adopt(topic)
    send(regional, topic, records(20), Shape(transaction_records=10, abort_every=2))
    sent = messages(regional, topic, 10)
    hand = ByHand(regional, aggregate, carrying, topic)
    hand.land([*sent, *sent])
    # Source offsets 0 to 9, a marker, 11 to 20, a marker.
    hand.tell(22, (0, 0, 10), (11, 10, 10))
    audit = auditor(sluice, carrying, tmp_path)
    for by in BY[1:]:
        code, (row,) = audit(topic, *by)
        assert (code, row["verdict"], row["surplus"]) == (ExitCode.DIFFERENT, "surplus", 10)
        assert row["examples"][0] == "surplus: source offsets 11..20"
