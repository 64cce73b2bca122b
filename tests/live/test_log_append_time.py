"""A target topic switched to LogAppendTime stops its partition at the first stamped batch."""

from __future__ import annotations

import pytest

from deploy.lab.dump import dump
from deploy.lab.traffic import Shape
from replicator.kafka.protocol.produce import ProduceRequest
from tests.live.hand import Sent
from tests.live.topics import alter

STAMPS = {"message.timestamp.type": "LogAppendTime"}
STAMPS_NOT = {"message.timestamp.type": "CreateTime"}
BATCH_RECORDS, WINDOW = 50, 5
SHAPE = Shape(batch_records=BATCH_RECORDS)


def changed(stage) -> int:
    """Returns how many records of the target differ from the source's record at the same offset."""
    prints = [
        dump(end, stage.topic, "read_uncommitted")[0].prints.tolist()
        for end in (stage.source, stage.target)
    ]
    return sum(source != target for source, target in zip(*prints, strict=False))


@pytest.mark.core
def test_a_target_that_stamps_records_while_it_is_carried_to_is_stopped_at_the_first_batch(
    make_stage,
):
    stage = make_stage()
    carrying = stage.carrying
    stage.send(100)
    carrying.begin()
    carrying.until_carried()
    alter(stage.target, stage.topic, STAMPS)
    stage.send(1000, SHAPE)
    reason = carrying.until_parked(stage.place)
    assert reason.startswith("target gave the records other timestamps: source offsets [100, ")
    assert "message.timestamp.type=LogAppendTime" in reason
    assert 0 < changed(stage) <= WINDOW * BATCH_RECORDS

    # Accepted before the topic is set back, it stops again after one batch; afterwards it
    # continues.
    before = changed(stage)
    carrying.accept(stage.place)
    assert "other timestamps" in carrying.until_parked(stage.place)
    assert before < changed(stage) <= before + BATCH_RECORDS
    alter(stage.target, stage.topic, STAMPS_NOT)
    before = changed(stage)
    carrying.accept(stage.place)
    carrying.until_carried()
    carrying.stop()
    assert changed(stage) == before
    assert len(dump(stage.target, stage.topic, "read_uncommitted")[0].prints) == 1100


def test_a_duplicate_is_not_taken_for_a_stamped_batch(make_stage):
    """Checks a duplicate, whose answer has the log's timestamp even with CreateTime."""
    stage = make_stage()
    hand = stage.hand(0)
    is_armed, is_lost = [], []

    async def lost(answer):
        await answer
        raise ConnectionResetError("lost on the way back")

    def sending(send, request):
        answer = send(request)
        if isinstance(request, ProduceRequest) and is_armed and not is_lost:
            is_lost.append(True)
            return lost(answer)
        return answer

    Sent(hand, sending)
    hand.start().until_landed(stage.place, stage.send(100))
    is_armed.append(True)
    hand.until_landed(stage.place, stage.send(100))
    assert is_lost
    stage.seen().assert_exact()
