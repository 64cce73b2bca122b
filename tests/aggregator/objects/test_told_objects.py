"""Told objects: each as it is stored, all of them together, and those forgotten."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.intents.told_markers import ToldMarkers
from aggregator.objects.forgotten import RANGES_MAX, Forgotten, Log, Removed, decoded
from aggregator.objects.object_name import is_file
from aggregator.objects.told_object import ToldObject, UnreadableObject, decode
from aggregator.objects.told_objects import ToldObjects, forgettable, forgotten_with, is_passed
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.custody import Custody
from tests.aggregator.restore.told import told

# -- Objects that are forgotten: no offset that was in an object becomes one that never was, and
# nothing is forgotten that anybody needs.

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


# -- Told objects: read as they were written, and a record of something else is named.

MANIFEST = Manifest(
    180,
    270,
    90,
    "7",
    1_000,
    left_out=2,
    size_bytes=94_371_840,
    crc32c=0xFFFF_FFFF,
    first_ms=1,
    last_ms=2,
    digest="00ff",
)
KEY = "topics/flights/flights+3+0000000180.avro"
FLIGHTS = TopicPartition("flights", 3)
TOLD = ToldObject.of(KEY, "east", FLIGHTS, MANIFEST, layout="1a2b3c4d", told_at_ms=9)


def test_an_object_is_read_as_it_was_told():
    assert decode(TOLD.key.encode(), TOLD.encode()) == TOLD
    assert (TOLD.begin, TOLD.end, TOLD.records, TOLD.left_out) == (180, 270, 90, 2)
    assert TOLD.layout == "1a2b3c4d"
    assert (TOLD.schema, TOLD.size_bytes, TOLD.sealed_at_ms) == ("7", 94_371_840, 1_000)


def test_a_range_without_a_record_for_an_object_is_told_with_no_bytes():
    assert not TOLD.is_empty
    manifest = replace(MANIFEST, left_out=90)
    empty = ToldObject.of(KEY, "east", FLIGHTS, manifest, layout="", told_at_ms=9)
    assert empty.is_empty
    assert (empty.size_bytes, empty.crc32c) == (0, 0)


def test_an_object_is_told_with_all_that_it_has_also_where_a_loss_took_a_part_of_its_range():
    part = MANIFEST.within(200, 260)
    assert (part.begin, part.end) == (200, 260)
    assert ToldObject.of(KEY, "east", FLIGHTS, part, layout="1a2b3c4d", told_at_ms=9) == TOLD


def test_an_object_that_an_older_version_told_of_is_of_the_first_log():
    told = json.loads(TOLD.encode())
    assert told.pop("incarnation") == 0
    assert decode(TOLD.key.encode(), json.dumps(told).encode()) == TOLD
    later = replace(TOLD, incarnation=5)
    assert decode(later.key.encode(), later.encode()).incarnation == 5


def test_what_a_newer_version_tells_besides_is_left_out():
    more = TOLD.encode()[:-1] + b',"colour":"red"}'
    assert decode(TOLD.key.encode(), more) == TOLD


@pytest.mark.parametrize("value", [b"", b"5", b"{}", b'{"begin": 1}', b"\xff"])
def test_a_record_that_is_no_object_is_named(value):
    with pytest.raises(UnreadableObject, match="the record of b'key' cannot be read"):
        decode(b"key", value)


# -- Forgotten ranges: no offset of a forgotten object is left out, however many there are.

LATER_LOG = Log("east aggregate", "t", 3, 7)
objects = st.builds(
    lambda begin, size, ms: told(begin, begin + size, partition=3, first_ms=ms, last_ms=ms),
    st.integers(0, 2000),
    st.integers(1, 5),
    st.integers(-1, 50),
)


@given(st.lists(st.lists(objects, max_size=200), max_size=3))
def test_each_forgotten_offset_is_in_a_range_and_ranges_are_few_and_apart(runs):
    found, gone = Forgotten(LATER_LOG), []
    for at, some in enumerate(runs):
        found, gone = found.with_objects(some, at), gone + some
    assert all(found.has(at) for each in gone for at in (each.begin, each.end - 1))
    assert found.end == max((each.end for each in gone), default=0)
    assert found.objects == len(gone)
    assert found.records == sum(each.records for each in gone)
    assert len(found.ranges) <= RANGES_MAX
    assert all(a.end < b.begin for a, b in zip(found.ranges, found.ranges[1:], strict=False))
    for each in gone:
        (held,) = found.within(each.begin, each.begin + 1)
        assert held.last_ms >= each.last_ms
        assert each.first_ms < 0 or 0 <= held.first_ms <= each.first_ms
    assert decoded(found.key, found.encode()) == found
    assert len(found.encode()) < 10_000


def test_few_ranges_have_no_offset_that_is_not_forgotten():
    found = Forgotten(LATER_LOG).with_objects([told(0, 10), told(10, 20), told(30, 40)], 1)
    assert [each[:4] for each in found.ranges] == [(0, 20, 2, 20), (30, 40, 1, 10)]
    assert not found.has(20) and found.has(30)
    assert str(found.ranges[0]) == "20 records of 2 objects, offsets 0 to 19"


@pytest.mark.parametrize(("begin", "end"), [(15, 15), (15, 0), (20, 30), (40, 41)])
def test_no_forgotten_range_has_an_offset_of_a_range_that_is_empty_or_beside_it(begin, end):
    found = Forgotten(LATER_LOG).with_objects([told(0, 20), told(30, 40)], 1)
    assert found.within(begin, end) == ()


def test_a_range_without_a_record_in_an_object_counts_as_none():
    found = Forgotten(LATER_LOG).with_objects([told(0, 10, left_out=10)], 1)
    assert (found.objects, found.records, found.end) == (0, 0, 10)


def test_records_of_the_topic_are_told_apart():
    one = told(0, 10)
    assert decoded(one.key.encode(), one.encode()) == one
    assert decoded(one.key.encode(), None) == Removed(one.key)
    # Also an object below a prefix of this name.
    other = told(0, 10, key="forgotten/t/0/t+0+0000000000.parquet")
    assert decoded(other.key.encode(), other.encode()) == other
    key = Forgotten(LATER_LOG).key
    assert key == b"forgotten/east aggregate/t/3/7"
    assert not is_file(key.decode().rpartition("/")[2])


@pytest.mark.parametrize("value", [b"", b"[]", b"{}", b'{"forgotten":[[1]]}', b"no"])
def test_a_record_that_cannot_be_read_is_named(value):
    with pytest.raises(UnreadableObject, match="newer version"):
        decoded(Forgotten(LATER_LOG).key, value)
    with pytest.raises(UnreadableObject, match="newer version"):
        decoded(b"topics/t/p=0/t+0+0000000000.parquet", value)


def test_a_newer_version_may_tell_more_and_an_older_one_refuses_to_read_on():
    found = Forgotten(LATER_LOG).with_objects([told(0, 10)], 1)
    fields = json.loads(found.encode())
    more = {**fields, "more": 1, "forgotten": [[*fields["forgotten"][0], "more"]]}
    assert decoded(found.key, json.dumps(more).encode()) == found
    with pytest.raises(UnreadableObject):
        decode(found.key, found.encode())
