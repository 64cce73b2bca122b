"""A target that lost acknowledged records: the loss is noticed, named and stops the partition.

Broker restarts are shared by many cases, each of which has a topic of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import pytest
from aiokafka.protocol.api import Request

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape
from replicator.kafka.protocol.produce import ProduceByNameStruct, ProduceRequest
from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers
from replicator.mirror.carrier.sender import Sender
from replicator.mirror.ledger.fenced_tails import FencedTails
from replicator.mirror.ledger.inspection import inspect_target
from replicator.mirror.ledger.takeover import Takeover
from tests.live.hand import Hand, Sent
from tests.live.stage import SELDOM, Stage
from tests.live.surgery import cut_log

IN_FORCE = pytest.mark.parametrize("in_force", [True, False], ids=["in force", "taken out"])
BATCHES = Shape(batch_records=100)


@pytest.fixture(scope="module")
def fragile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """A target whose broker tests kill and whose logs they cut."""
    with KafkaCluster("fragile", tmp_path_factory.mktemp("fragile")) as cluster:
        yield cluster


def lose(cluster: KafkaCluster, kept: Mapping[Stage, int]) -> None:
    """Kills the broker and restarts it with only `count` records of each stage."""
    cluster.kill()
    for stage, count in kept.items():
        cut_log(cluster, stage.topic, count)
    cluster.restart()
    cluster.wait_ready()


def parked(stage: Stage) -> str:
    """Waits until the ledger holds the partition as parked; returns the reason."""

    def is_parked() -> bool:
        entry = stage.carrying.entries().get(stage.place)
        return entry is not None and entry.parked is not None

    stage.until(is_parked)
    return str(stage.entry.parked)


def gone(stage: Stage) -> int:
    """Returns how many records no reader of the target finds, whether lost or replaced."""
    seen = stage.seen()
    return seen.lost + seen.changed


async def see_no_loss(cluster, partition, entry):
    """Mutation: inspects the target and ignores a loss."""
    return replace(await inspect_target(cluster, partition, entry), loss=None)


BLIND = Makers(
    sender=partial(Sender, inspect=see_no_loss),
    takeover=partial(Takeover, tails=partial(FencedTails, inspect=see_no_loss)),
)


def test_a_taker_notices_that_the_target_has_lost_its_end(make_stage, fragile):
    """Covers a log that was cut, and one that grew again, each with and without the check."""
    cut, grown, cut_unseen, grown_unseen = stages = [make_stage(target=fragile) for _ in range(4)]
    for stage in stages:
        hand = stage.hand(0).start()
        hand.until_landed(stage.place, stage.send(1000, BATCHES))
        hand.finish()
    lose(fragile, dict.fromkeys(stages, 300))
    for stage in (grown, grown_unseen):
        stage.foreign(2000)
    for stage in stages:
        stage.send(500, BATCHES)

    first = cut.hand(1).start()
    grown.hand(1).start()
    assert parked(cut) == "target lost acknowledged records: target offsets [300, 1000)"
    assert "truncated and regrown" in parked(grown)

    for stage in (cut_unseen, grown_unseen):
        stage.to_the_end(1, makers=BLIND)
        assert gone(stage) == 700

    # Only the operator may release a parked partition: a carrier that continued by itself would
    # hide the loss.
    entry = cut.entry
    second = cut.hand(2).start()
    assert second.reason_of(cut.place) == str(entry.parked)
    assert cut.entry == entry
    # Both carriers would carry on with the partition as soon as it is no longer parked.
    first.kill()
    second.kill()
    by_itself = partial(Takeover, accept={cut.place: entry.parked})
    cut.to_the_end(3, makers=Makers(takeover=by_itself))
    assert gone(cut) == 700


def believe(pipeline):
    """Lets a pipeline believe that no batch lands below acknowledged records."""
    acknowledge = pipeline.acknowledge

    def believing(batch, base_offset):
        acknowledge(batch, max(base_offset, pipeline.entry.target_offset))

    pipeline.acknowledge = believing


@pytest.mark.core
def test_a_carrier_notices_that_its_target_has_lost_its_end(make_stage, fragile):
    """Covers three checks. The carrier inspects the log after every change of leader or connection,
    the broker remembers fewer records, or a batch lands below the acknowledged end."""
    seen, remembered, low, unseen = stages = [make_stage(target=fragile) for _ in range(4)]
    hands: dict[Stage, Hand] = {}
    for stage in stages:
        hands[stage] = stage.hand(
            0,
            makers=MAKERS if stage is seen else BLIND,
            adapt=believe if stage is unseen else None,
            **SELDOM,
        ).start()
        hands[stage].until_landed(stage.place, stage.send(1000, BATCHES))
        hands[stage].freeze()
    lose(fragile, {seen: 300, remembered: 300, low: 0, unseen: 0})

    for stage in stages:
        stage.send(500, BATCHES)
        hands[stage].thaw()
    assert parked(seen) == "target lost acknowledged records: target offsets [300, 1000)"
    assert "the broker knows sequence 299, we sent 1000" in parked(remembered)
    assert parked(low) == "target lost acknowledged records: target offsets [0, 1000)"
    hands[unseen].until_carried(unseen.place)
    assert gone(unseen) == 1000


class ProduceByName(Request[ProduceByNameStruct]):
    """Mutation: a produce request that names its topics."""

    API_KEY = 0

    def __init__(self, request: ProduceRequest) -> None:
        self._request = request

    def build(self, request_struct_class: type[ProduceByNameStruct]) -> ProduceByNameStruct:
        return self._request.build(request_struct_class)


def send_by_name(send, request):
    return send(ProduceByName(request) if isinstance(request, ProduceRequest) else request)


@IN_FORCE
def test_a_recreated_topic_is_not_taken_for_the_old_one(make_stage, in_force):
    """The new topic grows past the acknowledged offset before the carrier sends again."""
    stage = make_stage()
    hand = stage.hand(0, makers=MAKERS if in_force else BLIND, **SELDOM)
    if not in_force:
        Sent(hand, send_by_name)
    hand.start()
    hand.until_landed(stage.place, stage.send(1000, BATCHES))
    hand.freeze()
    stage.recreate()
    stage.foreign(2000)
    stage.send(500, BATCHES)
    hand.thaw()
    if in_force:
        assert "target topic was recreated" in parked(stage)
        assert "[0, 1000)" in parked(stage)
    else:
        hand.until_carried(stage.place)
        assert gone(stage) == 1000
