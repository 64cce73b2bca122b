"""Progress into objects: whatever dies, each record is in one of them, and those that the log
decides are the same."""

from __future__ import annotations

from dataclasses import replace
from datetime import time
from hashlib import sha256
from time import monotonic

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aggregator.intents.intent import Intent, OlderLog
from aggregator.intents.table_range import TableRange
from aggregator.objects import object_progress
from aggregator.objects.object_progress import ObjectProgress
from aggregator.objects.rotation import Ending, Rotation
from replicator.kafka.client.custody import Custody
from tests.aggregator.objects.object_life import Life, Logged, Part

BY_LOG = st.builds(
    Rotation,
    records_max=st.none() | st.integers(1, 6),
    bytes_max=st.none() | st.integers(1, 12),
    interval_ms=st.none() | st.integers(1, 10),
)
BY_CLOCK = st.builds(
    Rotation,
    records_max=st.none() | st.integers(1, 6),
    age_seconds=st.floats(1, 5),
    held_back_max=st.none() | st.integers(0, 20),
)
RECORDS = st.lists(
    st.none() | st.tuples(st.sampled_from("abc"), st.integers(-1, 30), st.integers(1, 5)),
    min_size=12,
    max_size=50,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "read",
                "seal",
                "complete",
                "seal",
                "complete and die",
                "die",
                "hold",
                "clock",
                "cut",
            ]
        ),
        st.integers(1, 9),
    ),
    min_size=12,
    max_size=40,
)


def lived(records, rotation, steps, *, by_clock=False, omits="", log_begin=0):
    """Returns a life with these steps, in which everything is in the store at the end."""
    log = [Logged(at, *each) for at, each in enumerate(records) if each is not None]
    life = Life(log, len(records), rotation, omits)
    if log_begin:
        older = (OlderLog(log_begin - 1, 2),) if log_begin > 1 else ()
        life.intent = replace(
            life.intent, incarnation=5, log_begin=log_begin, former=3, older=older
        )
    life.begin()
    for what, amount in steps:
        life.now += 1.0
        if what == "read":
            life.read(amount)
        elif what == "seal":
            life.seal()
        elif what == "complete":
            life.complete(amount, is_told=True)
        elif what == "complete and die":
            life.complete(amount, is_told=False)
            life.begin()
        elif what == "die":
            life.begin()
        elif what == "cut" and by_clock:
            life.cut(amount)
        elif what == "hold" and by_clock:
            life.progress.end_held_back()
        elif what == "clock":
            life.progress.end_by_clock(life.now)
    life.begin()
    life.read(len(records))
    while True:
        life.seal()
        life.complete(99, is_told=True)
        life.commit()
        if not life.intent.blocks and not any(d.is_taken for _, d in life.progress.writable()):
            return life


def expected(records, rotation):
    """Returns the objects that are full, record by record, without a line of the product."""
    found, opened = {}, {}
    for at, each in enumerate(records):
        if each is None:
            continue
        name, timestamp_ms, size = each
        for other, (begin, taken) in list(opened.items()):
            times = [r.timestamp_ms for r in taken if r.timestamp_ms >= 0]
            limit = rotation.interval_ms
            if limit is not None and times and timestamp_ms >= times[0] + limit:
                found[other, begin] = tuple(opened.pop(other)[1])
        begin, taken = opened.setdefault(name, (at, []))
        taken.append(Logged(at, name, timestamp_ms, size))
        is_full = rotation.records_max is not None and len(taken) >= rotation.records_max
        if is_full or sum(r.size for r in taken) >= (rotation.bytes_max or 1 << 60):
            found[name, begin] = tuple(opened.pop(name)[1])
    return found


@given(RECORDS, BY_LOG, STEPS)
@settings(max_examples=2 * settings.default.max_examples)
def test_whatever_dies_the_objects_are_those_that_the_log_decides(records, rotation, steps):
    assert lived(records, rotation, steps).store == expected(records, rotation)


@given(RECORDS, BY_CLOCK, STEPS)
@settings(max_examples=2 * settings.default.max_examples)
def test_whatever_ends_objects_each_record_is_in_one_of_them(records, rotation, steps):
    life = lived(records, rotation, steps, by_clock=True)
    stored = [record for each in life.store.values() for record in each]
    assert len(set(stored)) == len(stored)
    below = [each for each in life.log if each.offset < life.intent.offset]
    assert set(below) <= set(stored) <= set(life.log)
    life.progress.end_by_clock(life.now + 100)
    life.seal()
    life.complete(99, is_told=True)
    while any(draft.is_taken for _, draft in life.progress.writable()):
        life.seal()
        life.complete(99, is_told=True)
    stored = [record for each in life.store.values() for record in each]
    assert sorted(stored) == life.log


@given(RECORDS, BY_LOG, STEPS)
@settings(max_examples=2 * settings.default.max_examples)
def test_ranges_without_a_record_for_an_object_are_passed_once_and_make_none(
    records, rotation, steps
):
    """Every intent on the way is judged, so that each of their offsets is accounted for."""
    life = lived(records, rotation, steps, omits="b")
    wanted = expected(records, rotation)
    assert life.store == {key: each for key, each in wanted.items() if key[0] != "b"}
    assert life.omitted == {key: len(some) for key, some in wanted.items() if key[0] == "b"}


@given(RECORDS, st.integers(0, 20))
@settings(max_examples=2 * settings.default.max_examples)
def test_whatever_holds_the_offset_back_too_far_ends_one_after_the_other(records, held_back_max):
    log = [Logged(at, *each) for at, each in enumerate(records) if each is not None]
    life = Life(log, len(records), Rotation(held_back_max=held_back_max))
    life.begin()
    while life.progress.position < life.end:
        life.read(1)
        while life.progress.position - life.progress.offset > held_back_max:
            holding = life.progress.offset
            opened = {each.begin: each.ending for _, each in life.progress.writable()}
            life.progress.end_held_back()
            ended = {each.begin: each.ending for _, each in life.progress.writable()}
            assert ended == {**opened, holding: Ending.HELD_BACK}
            life.seal()
            life.complete(99, is_told=True)
            life.commit()
        before = [each.ending for _, each in life.progress.writable()]
        life.progress.end_held_back()
        assert [each.ending for _, each in life.progress.writable()] == before


def test_an_intent_has_room_however_many_encoded_partitions_there_are():
    """Objects of all others are passed while the first one holds back the offset."""
    digests = (sha256(bytes([number])).hexdigest() for number in range(150))
    log = [Logged(0, "first"), *(Logged(1 + at, name) for at, name in enumerate(digests))]
    life = Life(log, len(log), Rotation(bytes_max=2))
    log[1:] = [each._replace(size=2) for each in log[1:]]
    life.begin()
    pressed = 0
    while life.progress.position < life.end:
        life.read(20)
        if life.progress.is_pressed:
            pressed += 1
            life.progress.end_holding(Ending.INTENT)
        life.seal()
        life.complete(99, is_told=True)
        life.commit()
    life.progress.end_holding(Ending.INTENT)
    life.seal()
    life.complete(99, is_told=True)
    life.commit()
    assert pressed
    assert life.intent.offset == life.end
    assert sum(map(len, life.store.values())) == len(log)


def long_name(number: int, length: int) -> str:
    """Returns a name that cannot be packed."""
    digests = (sha256(f"{number} {at}".encode()).hexdigest() for at in range(length // 64 + 1))
    return "".join(digests)[:length]


@given(st.lists(st.sampled_from([5, 40, 255, 500, 800]), min_size=20, max_size=60))
@settings(max_examples=25, deadline=None)
def test_whatever_the_lengths_of_names_the_offset_never_stops_for_want_of_room(lengths):
    log = [Logged(at, long_name(at, length), size=2) for at, length in enumerate(lengths)]
    life = Life(log, len(log), Rotation(bytes_max=2))
    life.begin()
    life.read(len(log))
    for _ in range(len(log) + 1):
        life.seal()
        life.complete(2, is_told=True)
        life.commit()
    assert life.intent.offset == life.end


def test_an_intent_keeps_the_folders_by_which_its_names_are():
    marker = Intent(
        custody=Custody.HELD,
        offset=0,
        reference=0,
        transactional_id="",
        tables={"a": TableRange(5, 5)},
        layout="former",
    )
    for before, layout in ((marker, "former"), (replace(marker, tables={}), "present")):
        progress: ObjectProgress[Part] = ObjectProgress(Rotation(), before, "present")
        assert progress.intent(Custody.HELD, 7, 1, "loader").layout == layout


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_object_ends_by_its_age_however_often_its_partition_changes_hands(is_killed):
    log = [Logged(at, "abc"[at % 3]) for at in range(1000)]
    life = Life(log, 1000, Rotation(age_seconds=40.0))
    life.begin()
    for second in range(100):
        life.now = float(second)
        if second % 10 == 9:
            if not is_killed:
                life.commit()
            life.begin()
        life.read(max(0, 3 * (second + 1) - life.progress.position))
        life.progress.end_due(life.now)
        if not life.progress.tells_age(life.intent):
            life.commit()
        life.seal_ended()
        life.complete(99, is_told=True)
    begins = sorted(begin for _, begin in life.store)
    # Three folders end an object each 40 s; a loader that is killed takes some seconds with it.
    assert 6 <= len(begins) <= 12 and begins[:3] == [0, 1, 2]


def test_a_time_of_day_that_passed_while_nobody_read_ends_objects():
    life = Life([Logged(0, "a")], 1, Rotation(times_of_day=(time(1),)))
    life.now = 1800.0
    life.begin()
    life.read(1)
    life.commit()
    life.now = 4000.0
    life.begin()
    life.read(1)
    life.progress.end_due(life.now)
    assert [draft.ending for _, draft in life.progress.writable()] == [Ending.TIME_OF_DAY]


@given(RECORDS, BY_CLOCK | BY_LOG, STEPS)
@settings(max_examples=2 * settings.default.max_examples)
def test_whatever_dies_markers_that_are_told_elsewhere_are_found_again(records, rotation, steps):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(object_progress, "NAMED_MAX", 1)
        life = lived(records, rotation, steps, by_clock=True)
    stored = [record for each in life.store.values() for record in each]
    assert len(set(stored)) == len(stored)
    below = [each for each in life.log if each.offset < life.intent.offset]
    assert set(below) <= set(stored) <= set(life.log)


def test_thousands_of_folders_end_together_and_each_is_one_object():
    """A look at all folders for each of them would take hours."""
    count = 3000
    log = [Logged(at, f"customer={at % count:05}") for at in range(2 * count)]
    life = Life(log, 2 * count, Rotation(age_seconds=1.0))
    life.begin()
    began = monotonic()
    life.read(2 * count)
    life.now = 2.0
    life.progress.end_by_clock(life.now)
    while life.intent.offset < 2 * count:
        life.progress.end_due(life.now)
        life.seal_some(40)
        life.complete(99, is_told=True)
        life.commit()
        if len(life.store) == 1200:
            life.begin()  # and takes over amid them
            life.read(2 * count)
            life.progress.end_by_clock(life.now + 10)
    assert len(life.store) == count
    assert {len(records) for records in life.store.values()} == {2}
    assert monotonic() - began < 30


def test_folders_without_open_objects_are_forgotten():
    log = [Logged(at, f"hour={at // 10}") for at in range(1000)]
    life = Life(log, 1000, Rotation(records_max=10))
    life.begin()
    for _ in range(100):
        life.read(10)
        life.seal()
        life.complete(99, is_told=True)
        life.commit()
    assert life.intent.offset == 1000 and life.progress.folder_count == 0


def test_each_intent_keeps_the_name_of_its_log():
    before = Intent(
        custody=Custody.RELEASED, offset=0, reference=0, transactional_id="", incarnation=5
    )
    found = ObjectProgress(Rotation(), before).intent(Custody.HELD, 7, 1, "loader")
    assert found.incarnation == 5


@given(RECORDS, BY_LOG, STEPS, st.integers(1, 40))
def test_no_object_reaches_over_the_begin_of_another_log(records, rotation, steps, log_begin):
    life = lived(records, rotation, steps, log_begin=log_begin)
    objects = [
        (begin, max(each.offset for each in some)) for (_, begin), some in life.store.items()
    ]
    objects += [(draft.begin, draft.end - 1) for _, draft in life.progress.writable()]
    assert objects or not any(records)
    for cut in (log_begin - 1, log_begin):
        assert all(begin >= cut or last < cut for begin, last in objects)
    assert (life.intent.incarnation, life.intent.log_begin, life.intent.former) == (5, log_begin, 3)


@pytest.mark.parametrize("ending", [None, Ending.AGE])
def test_records_behind_a_cut_form_the_next_object_which_ends_as_the_whole_would_have(ending):
    """The clock ends it no later."""
    rotation = Rotation(interval_ms=100, age_seconds=5.0)
    log = [Logged(at, "a", 1000 + at, 1) for at in range(6)]
    life = Life(log, 6, rotation)
    life.begin()
    life.read(2)
    life.read(2)
    [(_, draft)] = life.progress.writable()
    draft.ending = ending
    life.cut(0)
    assert (draft.begin, draft.end, draft.ending) == (0, 1, Ending.MEMORY)
    life.seal()
    [(_, later)] = life.progress.writable()
    assert (later.begin, later.end, later.ending, later.since) == (1, 4, ending, draft.since)
    assert life.progress.offset == 0
    life.complete(9, is_told=True)
    assert life.progress.offset == 1
    if ending is None:
        life.progress.end_by_clock(draft.since + 5.0)
        assert later.ending is Ending.AGE
