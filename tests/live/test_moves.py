"""Partitions that change carriers within a running epoch, exactly and quickly."""

from __future__ import annotations

import re
import time
from functools import partial

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from tests.live.stage import make_on_both
from tests.live.topics import delete

PARTITIONS = 6


class Moving:
    """A topic that two carriers share, its load, and the holders of its partitions."""

    def __init__(self, regional, aggregate, carrying):
        self.carrying = carrying
        self._regional, self._aggregate = regional, aggregate
        self._topic = f"moves-{time.time_ns():x}"
        self.places = [TopicPartition(self._topic, number) for number in range(PARTITIONS)]
        self._make = partial(make_on_both, regional, aggregate)
        self._make(self._topic, PARTITIONS)
        carrying.adopt(self._topic, PARTITIONS)

    def load(self):
        return SkewedLoad(
            self._regional, self._topic, dict.fromkeys(range(PARTITIONS), 20_000.0), 200
        )

    def with_another_topic(self):
        """Adopts another topic and returns its only partition."""
        topic = f"{self._topic}-alone"
        self._make(topic, 1)
        self.carrying.adopt(topic, 1)
        return TopicPartition(topic, 0)

    def delete(self, topic):
        """Deletes the topic at both ends."""
        for cluster in (self._regional, self._aggregate):
            delete(cluster, topic)
        del self.carrying.topics[topic]

    def begin(self):
        """Starts two carriers and waits until they hold everything, a half each."""
        self.carrying.begin(carriers=2)
        self.carrying.until(lambda: self.held_by(0) | self.held_by(1) >= set(self.places))

    def held_by(self, number):
        """Returns the partitions that a carrier holds."""
        return {
            place
            for place, entry in self.carrying.entries().items()
            if entry.custody == "held" and entry.transactional_id.endswith(f".{number}")
        }

    def writers(self):
        """Returns producer id and epoch of each partition's entry."""
        entries = self.carrying.entries()
        return {place: (entry.producer_id, entry.epoch) for place, entry in entries.items()}

    def move(self, where):
        """Reassigns partitions to other carriers; None for no carrier."""
        self.carrying.move({("west", place): number for place, number in where.items()})

    def until_held(self, where):
        def is_held():
            held = {number: self.held_by(number) for number in set(where.values())}
            return all(place in held[number] for place, number in where.items())

        self.carrying.until(is_held)

    def end(self):
        """Waits until all is carried, checks that it is exact, and returns the receipts."""
        self.carrying.until_carried()
        receipts = self.carrying.stop()
        assert self.carrying.assert_exact()
        return receipts


@pytest.fixture
def moving(regional, aggregate, carry):
    return Moving(regional, aggregate, carry(regional, aggregate))


@pytest.mark.core
def test_a_partition_moves_within_the_epoch_and_the_others_stay(moving):
    carrying = moving.carrying
    with moving.load() as sending:
        moving.begin()
        sent = sending.sent
        carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
        mine = min(moving.held_by(0))
        writers = moving.writers()
        moving.move({mine: 1})
        moving.until_held({mine: 1})
        after = moving.writers()
        assert {p for p in writers if writers[p] != after[p]} == {mine}, "a writer was fenced"
        assert after[mine] in writers.values(), "its new carrier began anew"
        sent = sending.sent
        carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
    of_moved = [each for each in moving.end() if each.partition == mine.partition]
    assert [each.state for each in of_moved] == ["released", "released"]
    assert all(each.records for each in of_moved)


def test_what_is_paused_and_resumed_is_left_and_taken_while_the_others_stay(moving):
    carrying = moving.carrying
    with moving.load() as sending:
        moving.begin()
        place, *others = moving.places
        writers = moving.writers()
        moving.move({place: None})
        carrying.until(lambda: carrying.entries()[place].custody == "released")
        released = carrying.entries()[place]
        sent = sending.sent
        carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
        assert carrying.entries()[place] == released, "nobody was to carry it"
        moving.move({place: 1})
        moving.until_held({place: 1})
        after = moving.writers()
        assert {each: after[each] for each in others} == {each: writers[each] for each in others}
    moving.end()


def test_a_new_topic_is_carried_at_once_while_the_others_stay(moving):
    with moving.load():
        moving.begin()
        writers = moving.writers()
        new = moving.with_another_topic()
        began = time.monotonic()
        moving.move({new: 0})
        moving.until_held({new: 0})
        assert time.monotonic() - began < 5, "it was waited for what nobody held"
        assert moving.writers() == {**writers, new: writers[min(moving.held_by(0) - {new})]}
    moving.end()


def test_a_topic_that_is_deleted_at_both_ends_is_dropped_and_the_others_stay(moving, caplog):
    gone = moving.with_another_topic()
    with moving.load() as sending:
        moving.begin()
        moving.carrying.until(lambda: gone in moving.held_by(0) | moving.held_by(1))
        moving.delete(gone.topic)
        writers = moving.writers()
        moving.move({gone: None})
        sent = sending.sent
        said = re.compile(f"event=parked .*{gone.topic}-0")
        moving.carrying.until(lambda: said.search(caplog.text))
        moving.carrying.until(lambda: sending.sent > sent + 100 * PARTITIONS)
        assert moving.writers() == writers, "its carrier began anew"
    moving.end()
    assert "event=start-over" not in caplog.text


def test_partitions_that_go_to_and_fro_without_rest_stay_exact(moving):
    with moving.load():
        moving.begin()
        for number in range(25):
            # The next reassignment comes while some of the previous one are still pending.
            where = {place: (place.partition + number) % 2 for place in moving.places}
            moving.move(where)
            time.sleep(0.3 * (number % 3))
        moving.until_held(where)
    moving.end()
    entries = moving.carrying.entries().values()
    assert len({entry.transactional_id.removesuffix(".free") for entry in entries}) == 2


def test_carriers_that_exchange_what_they_are_only_about_to_take_do_not_fence_each_other(
    moving, caplog
):
    carriers = 3
    with moving.load():
        moving.carrying.begin(carriers=carriers)
        for number in range(1, 6):
            where = {place: (place.partition + number) % carriers for place in moving.places}
            moving.move(where)
        moving.until_held(where)
    moving.end()
    assert "event=start-over" not in caplog.text


def test_what_a_dead_carrier_does_not_leave_is_taken_from_it(moving):
    carrying = moving.carrying
    with moving.load():
        moving.begin()
        dead, living = carrying.running
        dead.cancel()
        assert until(dead.done, 30)
        carrying.forget(dead)
        moving.move(dict.fromkeys(moving.places, 1))
        moving.until_held(dict.fromkeys(moving.places, 1))
        assert not living.done()
    moving.end()


def test_moves_go_on_while_epochs_end(moving):
    carrying = moving.carrying
    with moving.load():
        carrying.begin(carriers=2)
        for number in range(4):
            carrying.until(lambda: moving.held_by(0))
            moving.move(dict.fromkeys(moving.places[:3], number % 2))
            carrying.next_plan(carriers=2)
    moving.end()


def test_idle_partitions_move_as_well(moving):
    moving.begin()
    began = time.monotonic()
    moving.move(dict.fromkeys(moving.places, 0))
    moving.until_held(dict.fromkeys(moving.places, 0))
    assert time.monotonic() - began < 5, "it was waited for what nobody left"
    _, other = moving.carrying.running
    assert until(other.done, 10), "a carrier that has nothing left stays"
    assert {each.state for each in other.result()} == {"released"}
    moving.carrying.stop()


def test_a_carrier_that_begins_anew_has_what_it_received_at_once(moving):
    carrying = moving.carrying
    with moving.load():
        moving.begin()
        place = min(moving.held_by(0))
        moving.move({place: 1})
        moving.until_held({place: 1})
        before = carrying.entries()[place]
        carrying.fence(1)
        began = time.monotonic()
        carrying.until(lambda: carrying.entries()[place].epoch > before.epoch)
        carrying.until(lambda: len(moving.held_by(1)) == 4)
        assert time.monotonic() - began < 10, "it waited for itself to leave it"
    moving.end()


def test_what_a_carrier_received_and_is_to_leave_again_it_releases_though_it_begins_anew(moving):
    with moving.load():
        moving.begin()
        place = min(moving.held_by(0))
        moving.move({place: 1})
        moving.until_held({place: 1})
        moving.carrying.fence(1)
        began = time.monotonic()
        moving.move({place: 0})
        moving.until_held({place: 0})
        assert time.monotonic() - began < 12, "it was not released, and had to be taken by force"
    moving.end()


def test_the_only_partition_of_a_topic_is_released_by_a_carrier_that_begins_anew(moving):
    place = moving.with_another_topic()
    with moving.load():
        moving.begin()
        moving.carrying.until(lambda: place in moving.held_by(0) | moving.held_by(1))
        holder = 0 if place in moving.held_by(0) else 1
        moving.carrying.fence(holder)
        began = time.monotonic()
        moving.move({place: 1 - holder})
        moving.until_held({place: 1 - holder})
        assert time.monotonic() - began < 12, "it was not released, and had to be taken by force"
    moving.end()
