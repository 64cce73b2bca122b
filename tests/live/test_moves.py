"""Claims about partitions that change carriers while their epoch goes on: exact, and quick."""

from __future__ import annotations

import time

import pytest

from balancer.plan import TopicPartition
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from tests.live.stage import make_on_both

PARTITIONS = 6


@pytest.fixture
def topic(regional, aggregate):
    name = f"moves-{time.time_ns():x}"
    make_on_both(regional, aggregate, name, PARTITIONS)
    return name


def places(topic):
    return [TopicPartition(topic, number) for number in range(PARTITIONS)]


def load(regional, topic):
    return SkewedLoad(regional, topic, dict.fromkeys(range(PARTITIONS), 20_000.0), 200)


def held_by(carrying, topic, number):
    """Partitions that a carrier holds."""
    return {
        place
        for place, entry in carrying.entries().items()
        if entry.custody == "held" and entry.transactional_id.endswith(f".{number}")
    }


def test_a_partition_moves_within_the_epoch_and_the_others_stay(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    with load(regional, topic) as sending:
        carrying.begin(carriers=2)
        carrying.until(lambda: len(held_by(carrying, topic, 0)) == 3)
        carrying.until(lambda: len(held_by(carrying, topic, 1)) == 3)
        sent = sending.sent
        carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
        mine = sorted(held_by(carrying, topic, 0))
        writers = {p: (e.producer_id, e.epoch) for p, e in carrying.entries().items()}
        carrying.move({("west", mine[0]): 1})
        carrying.until(lambda: mine[0] in held_by(carrying, topic, 1))
        after = {p: (e.producer_id, e.epoch) for p, e in carrying.entries().items()}
        assert {p for p in writers if writers[p] != after[p]} == {mine[0]}, "a writer was fenced"
        assert after[mine[0]] in writers.values(), "its new carrier began anew"
        sent = sending.sent
        carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
    carrying.until_carried()
    receipts = carrying.stop()
    assert carrying.assert_exact()
    of_moved = [each for each in receipts if each.partition == mine[0].partition]
    assert [each.state for each in of_moved] == ["released", "released"]
    assert all(each.records for each in of_moved)


def test_partitions_that_go_to_and_fro_without_rest_stay_exact(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    with load(regional, topic):
        carrying.begin(carriers=2)
        carrying.until(lambda: len(held_by(carrying, topic, 1)) == 3)
        for number in range(25):
            # The next one comes while some of the last are still under way.
            carrying.move(
                {("west", place): (place.partition + number) % 2 for place in places(topic)}
            )
            time.sleep(0.3 * (number % 3))
        carrying.until(
            lambda: all(p in held_by(carrying, topic, p.partition % 2) for p in places(topic))
        )
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact()
    writers = {(e.transactional_id.removesuffix(".free")) for e in carrying.entries().values()}
    assert len(writers) == 2


def test_what_a_dead_carrier_does_not_leave_is_taken_from_it(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    with load(regional, topic):
        carrying.begin(carriers=2)
        carrying.until(lambda: len(held_by(carrying, topic, 0)) == 3)
        carrying.until(lambda: len(held_by(carrying, topic, 1)) == 3)
        dead, living = carrying.running
        dead.cancel()
        assert until(dead.done, 30)
        carrying.forget(dead)
        carrying.move({("west", place): 1 for place in places(topic)})
        carrying.until(lambda: held_by(carrying, topic, 1) == set(places(topic)))
        assert not living.done()
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact()


def test_moves_go_on_while_epochs_end(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    with load(regional, topic):
        carrying.begin(carriers=2)
        for number in range(4):
            carrying.until(lambda: len(held_by(carrying, topic, 0)) > 0)
            carrying.move({("west", place): number % 2 for place in places(topic)[:3]})
            carrying.next_plan(carriers=2)
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact()


def test_idle_partitions_move_as_well(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    carrying.begin(carriers=2)
    carrying.until(lambda: len(held_by(carrying, topic, 1)) == 3)
    began = time.monotonic()
    carrying.move({("west", place): 0 for place in places(topic)})
    carrying.until(lambda: held_by(carrying, topic, 0) == set(places(topic)))
    assert time.monotonic() - began < 5, "it was waited for what nobody left"
    _, other = carrying.running
    assert until(other.done, 10), "a carrier that has nothing left stays"
    assert {each.state for each in other.result()} == {"released"}
    carrying.stop()


def test_a_carrier_that_begins_anew_has_what_it_received_at_once(regional, aggregate, carry, topic):
    carrying = carry(regional, aggregate)
    carrying.adopt(topic, PARTITIONS)
    with load(regional, topic):
        carrying.begin(carriers=2)
        carrying.until(lambda: len(held_by(carrying, topic, 1)) == 3)
        carrying.until(lambda: len(held_by(carrying, topic, 0)) == 3)
        place = min(held_by(carrying, topic, 0))
        carrying.move({("west", place): 1})
        carrying.until(lambda: place in held_by(carrying, topic, 1))
        before = carrying.entries()[place]
        carrying.fence(1)
        began = time.monotonic()
        carrying.until(lambda: carrying.entries()[place].epoch > before.epoch)
        carrying.until(lambda: len(held_by(carrying, topic, 1)) == 4)
        assert time.monotonic() - began < 10, "it waited for itself to leave it"
    carrying.until_carried()
    carrying.stop()
    assert carrying.assert_exact()
