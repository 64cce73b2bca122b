"""The ends of a source partition count as current once a response reports or confirms them."""

from types import SimpleNamespace

from replicator.batches.packer import PackingRule
from replicator.kafka.client.fetch_session import FetchSession
from replicator.mirror.carrier.fetch_intake import FetchIntake
from replicator.mirror.carrier.pipelines import Pipelines
from replicator.mirror.carrier.reader import fetch_position
from tests.replicator.mirror.carrier.stand_in_source import (
    REPORTED_AT,
    STABLE_OFFSET,
    TOPIC,
    Source,
    answered,
    batch,
    pipeline_at,
)


def take(pipeline, answer, other=None):
    """Takes one response in, for the pipelines that were fetched for."""
    pipelines = Pipelines()
    wanted = {(TOPIC, each.partition.partition): each for each in (pipeline, other) if each}
    for each in wanted.values():
        each.source_leader = 5
        pipelines[each.partition] = each
    session = FetchSession()
    session.next({place: fetch_position(each, 1 << 20) for place, each in wanted.items()})
    intake = FetchIntake(
        source=Source(),
        pipelines=pipelines,
        rule_of=lambda topic: PackingRule(max_bytes=1 << 20),
        filled=lambda pipelines: None,
    )
    intake.take(answer, wanted, session, REPORTED_AT)


def test_a_response_that_leaves_a_partition_out_confirms_its_ends():
    pipeline, other = pipeline_at(0), pipeline_at(1)
    other.source_end = 100
    take(pipeline, answered(batch(100, 5)), other)
    assert pipeline.reported_at == other.reported_at == REPORTED_AT
    assert (pipeline.source_end, pipeline.source_high) == (STABLE_OFFSET, STABLE_OFFSET)


def test_a_throttled_response_confirms_nothing():
    pipeline = pipeline_at(0)
    pipeline.source_end = 100
    throttled = SimpleNamespace(throttle_time_ms=800, error_code=0, session_id=0, topics=[])
    take(pipeline, throttled)
    assert pipeline.reported_at == 0


def test_an_error_of_a_partition_does_not_confirm_its_ends():
    pipeline = pipeline_at(0)
    pipeline.source_end = 100
    answer = answered(b"")
    answer.topics[0][1][0] = (0, 6, -1, -1, 0, None, -1, None, {})
    take(pipeline, answer)
    assert pipeline.reported_at == 0
