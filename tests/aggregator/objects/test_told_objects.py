"""Objects that are forgotten: no offset that was in an object becomes one that never was, and
nothing is forgotten that anybody needs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.intent import Intent
from aggregator.intents.told_markers import ToldMarkers
from aggregator.objects.forgotten import Forgotten, Log, decoded
from aggregator.objects.told_objects import ToldObjects, forgettable, forgotten_with, is_passed
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.aggregator.restore.told import told

LOG = Log("east aggregate", "t", 0)
PLACE = TopicPartition("t", 0)
FOLDERS = ("a", "b")


def intent(offset: int, **more) -> Intent:
    given = {"custody": Custody.HELD, "offset": offset, "reference": 0, "transactional_id": "id"}
    return Intent(**{**given, **more})


class Topic:
    """Topic of objects: its records by offset, and the objects that were ever told of."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.told = ToldObjects()
        self.ever = []

    def tell(self, each) -> None:
        self.ever.append(each)
        self._write(each.key.encode(), each.encode())

    def forget(self, gone) -> None:
        for log, some in gone.items():
            forgotten = self.told.forgotten.get(log, Forgotten(log)).with_objects(some, 1)
            self._write(forgotten.key, forgotten.encode())
            for each in some:
                self._write(each.key.encode(), None)

    def _write(self, key: bytes, value: bytes | None) -> None:
        self.records.append((key, value))
        self.told.take(decoded(key, value))

    def compacted(self, upto: int, *, has_tombstones: bool) -> ToldObjects:
        """Returns what a reader finds once records before an offset are compacted."""
        last = {key: at for at, (key, _) in enumerate(self.records[:upto])}
        found = ToldObjects()
        for at, (key, value) in enumerate(self.records):
            if at >= upto or (last[key] == at and (value is not None or has_tombstones)):
                found.take(decoded(key, value))
        return found


steps = st.lists(
    st.one_of(
        st.tuples(st.just("tell"), st.sampled_from(FOLDERS), st.integers(1, 4), st.booleans()),
        st.tuples(st.just("drop"), st.integers(0, 30), st.integers(1, 8), st.booleans()),
        st.tuples(st.just("forget"), st.integers(0, 60), st.integers(0, 60), st.booleans()),
    ),
    max_size=25,
)


@given(steps, st.data())
def test_what_is_forgotten_was_gone_passed_and_old_and_stays_known(course, data):
    topic, bucket, offset = Topic(), set(), 0
    for what, first, second, flag in course:
        if what == "tell":
            each = told(
                offset,
                offset + second,
                folder=first,
                left_out=second if flag else 0,
            )
            each = replace(each, told_at_ms=offset)
            topic.tell(each)
            bucket |= set() if each.is_empty else {each.key}
            offset += second
        elif what == "drop":
            keys = [each.key for each in topic.ever]
            bucket -= {*keys[first : first + second]}
        else:
            passed, before_ms = first, second
            before = dict(topic.told.by_key)
            candidates = forgettable(topic.told, {PLACE: intent(passed)}, before_ms, "topics/")
            missing = {each.key for each in candidates} - bucket
            gone = forgotten_with(topic.told, candidates, missing)
            topic.forget(gone)
            removed = [each for key, each in before.items() if key not in topic.told.by_key]
            for each in removed:
                assert each.key not in bucket
                assert each.end <= passed and each.told_at_ms < before_ms
            left = [each for each in topic.told.objects if not each.is_empty]
            assert all(
                each.begin < min((it.begin for it in left), default=each.end)
                for each in removed
                if each.is_empty
            )
    upto = data.draw(st.integers(0, len(topic.records)))
    for now in (topic.told, topic.compacted(upto, has_tombstones=data.draw(st.booleans()))):
        assert now.by_key == topic.told.by_key and now.forgotten == topic.told.forgotten
        forgotten = now.forgotten.get(LOG, Forgotten(LOG))
        for each in topic.ever:
            assert each.key in now.by_key or forgotten.has(each.begin)
        ends = [each.end for each in now.by_key.values()]
        assert max([forgotten.end, *ends], default=0) == offset


@pytest.mark.parametrize(
    ("given", "end", "is_forgotten"),
    [
        (intent(20), 20, True),
        (intent(20), 21, False),
        # The markers beyond the base of an intent are manifests.
        (intent(20, told=ToldMarkers(0, 15, 1, 1)), 15, True),
        (intent(20, told=ToldMarkers(0, 15, 1, 1)), 16, False),
        # A former log has been left for good, but for what lies below a cut.
        (intent(5, incarnation=9), 20, True),
        (intent(5, incarnation=9, log_begin=30), 20, False),
        (intent(5, incarnation=9, told=ToldMarkers(0, 5, 1, 1)), 20, False),
        (intent(99, transactional_id=""), 20, False),
        (None, 20, True),
    ],
)
def test_an_object_is_kept_while_a_taker_may_need_its_manifest(given, end, is_forgotten):
    assert is_passed(told(10, end), given) is is_forgotten


def test_objects_of_another_prefix_and_young_ones_are_kept():
    topic = Topic()
    for each in (told(0, 10), told(10, 20, key="elsewhere/t/t+0+0000000010.parquet")):
        topic.tell(each)
    assert [it.begin for it in forgettable(topic.told, {}, 3, "topics/")] == [0]
    assert forgettable(topic.told, {}, 2, "topics/") == []


def test_what_was_forgotten_is_found_by_topic_and_partition():
    logs = [Log("c", "t", 1), Log("c", "t", 0, 5), Log("c", "u", 0)]
    known = ToldObjects(forgotten={log: Forgotten(log) for log in logs})
    assert [each.log for each in known.forgotten_of("t")] == [logs[1], logs[0]]
    assert [each.log for each in known.forgotten_of("t", 1)] == [logs[0]]
