"""Intent: survives its way through a committed offset, and fits into it with any number of
tables."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from itertools import count
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aggregator.intents.intent import (
    DETAIL_CHARACTERS_MAX,
    FIXED_BYTES_MAX,
    METADATA_BYTES_MAX,
    OLDER_LOGS_MAX,
    Intent,
    OlderLog,
    UnreadableIntent,
    decode,
    encode,
    fits,
    unreadable,
)
from aggregator.intents.read_times import POINTS_MAX, ReadTime
from aggregator.intents.table_range import KeeperMoment, Manifest, TableRange
from aggregator.intents.told_markers import Marker, ToldMarkers
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss, LossKind

OFFSET_MAX = 2**62
offsets = st.integers(0, OFFSET_MAX)
small = st.integers(0, 2**40)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


READ_TIMES = st.builds(ReadTime, offsets, st.integers(0, 2**43))


@st.composite
def ranges(draw, offset):
    begin = offset + draw(small)
    kind = draw(st.sampled_from(["marker", "block", "object"]))
    if kind == "marker":
        return TableRange(begin, begin)
    common = {
        "begin": begin,
        "end": begin + draw(st.integers(1, 2**40)),
        "records": draw(small),
        "schema": draw(st.text("0123456789abcdef", max_size=8)),
        "sealed_at_ms": draw(small),
    }
    if kind == "block":
        moment = draw(st.none() | st.builds(KeeperMoment, small, small))
        return TableRange(**common, moment=moment)
    return Manifest(
        **common,
        left_out=draw(small),
        size_bytes=draw(small),
        crc32c=draw(st.integers(0, 2**32 - 1)),
        first_ms=draw(small),
        last_ms=draw(small),
        digest=draw(st.text("0123456789abcdef", max_size=48)),
        fingerprint=draw(st.text("0123456789abcdef", max_size=8)),
        token=draw(st.text("0123456789abcdef", max_size=8)),
        over=draw(st.sampled_from(["", '"0123456789abcdef0123456789abcdef-17"'])),
    )


def left(table, offset, cuts):
    """Returns what losses leave of a sealed range."""
    if table.is_marker:
        return table
    return table.within(offset, min((it for it in cuts if it > table.begin), default=table.end))


@st.composite
def intents(draw, tables_max=8):
    offset, is_of_tables = draw(offsets), draw(st.booleans())
    cuts = sorted(draw(st.sets(offsets, max_size=4)))
    log_begin = cuts[-1] if cuts else 0
    sealed_from = max(0, offset - draw(small))
    tables = draw(st.dictionaries(names, ranges(sealed_from), max_size=tables_max))
    return Intent(
        custody=draw(st.sampled_from(Custody)),
        offset=offset,
        tables={name: left(each, offset, cuts) for name, each in tables.items()},
        reference=draw(offsets),
        count=draw(offsets),
        holes=draw(offsets),
        up_to=draw(st.none() | offsets),
        position=None if is_of_tables else draw(offsets),
        open_records=0 if is_of_tables else draw(offsets),
        read_times=() if is_of_tables else tuple(draw(st.lists(READ_TIMES, max_size=6))),
        layout="" if is_of_tables else draw(st.text("0123456789abcdef", max_size=8)),
        producer_id=draw(st.integers(-1, OFFSET_MAX)),
        epoch=draw(st.integers(-1, 32767)),
        transactional_id=draw(st.text(st.characters(exclude_categories=["Cs"]), max_size=40)),
        topic_id=draw(st.none() | st.uuids()),
        incarnation=draw(offsets),
        log_begin=log_begin,
        former=draw(offsets) if log_begin else 0,
        older=tuple(OlderLog(each, draw(offsets)) for each in cuts[:-1]),
        leader_epoch=draw(st.integers(-1, 2**31 - 1)),
        losses=draw(st.integers(0, 2**31)),
        dead_letters=draw(offsets),
        letters_at=draw(st.none() | offsets),
        parked=draw(
            st.none() | st.builds(Loss, st.sampled_from(LossKind), offsets, st.none() | offsets)
        ),
        committed_ms=draw(small),
    )


def plain(**fields):
    return Intent(
        **{
            "custody": Custody.HELD,
            "offset": 40,
            "reference": 10,
            "count": 25,
            "holes": 5,
            "producer_id": 7,
            "epoch": 3,
            "transactional_id": "sluice.feed.flights.0",
            **fields,
        }
    )


def test_the_first_log_is_written_as_by_versions_that_knew_no_other():
    offset, text = encode(plain())
    assert "log" not in json.loads(text) and json.loads(text)["v"] == 1
    assert decode(offset, text).incarnation == 0


def test_a_later_log_is_read_by_no_version_that_would_take_it_for_the_first():
    offset, text = encode(plain(incarnation=5))
    fields = json.loads(text)
    assert (fields["log"], fields["v"]) == (5, 2)
    # As the first version with incarnations wrote it.
    assert decode(offset, json.dumps({**fields, "v": 1})).incarnation == 5


def test_a_log_that_was_cut_has_two_names_and_nothing_reaches_over_the_cut():
    intent = plain(incarnation=9, log_begin=50, former=7)
    assert [intent.incarnation_at(at) for at in (0, 49, 50, 51)] == [7, 7, 9, 9]
    assert [intent.log_end(begin, 80) for begin in (40, 49, 50, 60)] == [50, 50, 80, 80]
    assert intent.log_end(40, 45) == 45


def test_a_log_that_was_cut_more_than_once_has_a_name_between_any_two_cuts():
    older = (OlderLog(45, 0), OlderLog(48, 5))
    intent = plain(incarnation=9, log_begin=50, former=7, older=older)
    found = [intent.incarnation_at(at) for at in (40, 44, 45, 47, 48, 49, 50)]
    assert found == [0, 0, 5, 5, 7, 7, 9]
    assert [intent.log_end(begin, 80) for begin in (40, 45, 49, 50)] == [45, 48, 50, 80]
    assert intent.older_behind(45) == older[1:]
    assert decode(*encode(intent)) == intent


def test_what_may_be_stored_ends_behind_everything_that_an_intent_names():
    assert plain().sealed_end == 40
    tables = {"a": TableRange(40, 70, 9, "h", 1), "b": TableRange(90, 90)}
    assert plain(tables=tables).sealed_end == 90
    told = ToldMarkers(begin=3, base=40, count=200, digest=7)
    assert plain(tables=tables, told=told, position=120).sealed_end == 120
    assert plain(tables=tables, position=120).sealed_end == 90
    known = replace(told, markers={"x": Marker(130, 5), "y": Marker(125, 4)})
    assert plain(tables=tables, told=known, position=100).sealed_end == 130


@given(intents())
def test_an_intent_reads_as_it_was_written(intent):
    assert decode(*encode(intent)) == intent


@given(intents(tables_max=3), st.text(max_size=300))
def test_a_parked_intent_reads_as_it_was_written_and_its_detail_is_cut(intent, detail):
    parked = intent.park(Loss(LossKind.SOURCE_TRUNCATED, 5, 9, detail))
    assert decode(*encode(parked)) == parked
    assert parked.parked is not None
    assert len(parked.parked.detail) <= DETAIL_CHARACTERS_MAX


@given(st.integers(0, 2**31), st.integers(0, 120), st.booleans())
@example(2**31, 1000, True)
def test_a_thousand_markers_or_fewer_fit_or_are_refused_before_they_are_named(
    step, count, is_marker
):
    tables = {
        f"events_of_tenant_{number:04}": TableRange(number * step, number * step + (not is_marker))
        for number in range(count)
    }
    if fits(tables):
        offset = min((each.begin for each in tables.values()), default=0)
        intent = plain(
            offset=offset,
            tables=tables,
            reference=0,
            count=2**62,
            holes=2**62,
            up_to=2**62,
            producer_id=2**62,
            epoch=32767,
            transactional_id="sluice.feed." + "x" * 60 + ".1023~99",
            losses=2**31,
        ).park(Loss(LossKind.BATCH_MISSING, 2**62, 2**62, "\N{SNOWMAN}" * 300))
        _, metadata = encode(intent)
        assert len(metadata.encode()) <= METADATA_BYTES_MAX
        assert decode(*encode(intent)) == intent


@pytest.mark.parametrize("character", ['"', "\x01", "\x7f"])
def test_all_fields_but_the_tables_need_no_more_than_is_kept_for_them(character):
    intent = plain(
        offset=2**62,
        reference=0,
        count=2**62,
        holes=2**62,
        up_to=2**63 - 1,
        producer_id=2**63 - 1,
        epoch=32767,
        transactional_id="sluice.feed." + "x" * 60 + ".1023~99",
        leader_epoch=2**31 - 1,
        losses=2**31,
        position=2**63 - 1,
        open_records=2**63 - 1,
        layout="0123abcd",
        letters_at=2**63 - 1,
    ).park(Loss(LossKind.SOURCE_WENT_BACK, 2**63 - 1, 2**63 - 1, character * 300))
    _, metadata = encode(intent)
    assert len(metadata.encode()) <= FIXED_BYTES_MAX


def test_a_full_intent_of_a_log_that_was_cut_often_is_parked_without_its_detail():
    """It has to be parked: its loader would fail again and again."""
    tables = {}
    for number in count():
        name = sha256(str(number).encode()).hexdigest()[:20]
        more = {**tables, name: TableRange(2**48 + number, 2**49 - 9, 2**20, "abcd1234", 2**42)}
        if not fits(more):
            break
        tables = more
    intent = plain(
        offset=2**48,
        tables=tables,
        transactional_id="sluice.feed." + "x" * 60 + ".1023~99",
        topic_id=UUID(int=2**127),
        position=2**49,
        open_records=2**48,
        layout="0123abcd",
        told=ToldMarkers(2**48, 2**49, 2**48, 2**63),
        incarnation=2**42,
        log_begin=2**49,
        former=2**42,
        older=tuple(OlderLog(2**49 - at, 2**42) for at in range(OLDER_LOGS_MAX, 0, -1)),
        dead_letters=2**48,
        letters_at=2**48,
        committed_ms=2**42,
    ).park(Loss(LossKind.SOURCE_WENT_BACK, 2**48, 2**49, '"' * 300))
    found = decode(*encode(intent))
    assert found.parked == Loss(LossKind.SOURCE_WENT_BACK, 2**48, 2**49, "")
    assert replace(found, parked=intent.parked) == intent


def test_markers_of_tables_with_names_alike_fit_by_the_hundred():
    tables = {f"events_{number:04}": TableRange(number, number) for number in range(400)}
    assert fits(tables)


def test_tables_that_do_not_fit_are_refused_and_never_cut():
    tables = {
        f"{number * 7919 % 10007:05}" * 12: TableRange(number, number) for number in range(900)
    }
    assert not fits(tables)
    with pytest.raises(ValueError, match="900 tables"):
        encode(plain(offset=0, tables=tables))


def test_a_table_that_is_not_named_counts_as_the_marker_at_the_offset():
    intent = plain(tables={"a": TableRange(40, 50), "b": TableRange(60, 60)})
    assert intent.range_of("a") == TableRange(40, 50)
    assert intent.range_of("other") == TableRange(40, 40)
    assert intent.blocks == {"a": TableRange(40, 50)}
    assert intent.replay_end == 50
    assert plain().replay_end == 40


def test_only_the_very_producer_that_committed_a_held_intent_holds_it():
    assert plain().is_held_by(7, 3)
    assert not plain().is_held_by(7, 4)
    assert not plain(custody=Custody.RELEASED).is_held_by(7, 3)


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "null",
        "[]",
        "7",
        "not json",
        '{"v": 2}',
        '{"v": 1}',
        '{"v":1,"custody":"stolen"}',
    ],
)
def test_metadata_that_is_no_intent_is_unreadable_and_never_guessed(metadata):
    with pytest.raises(UnreadableIntent, match="cannot be read"):
        decode(7, metadata)


@pytest.mark.parametrize("missing", sorted(json.loads(encode(plain())[1])))
def test_an_intent_without_one_of_its_fields_is_unreadable(missing):
    offset, metadata = encode(plain())
    fields = json.loads(metadata)
    del fields[missing]
    with pytest.raises(UnreadableIntent):
        decode(offset, json.dumps(fields))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tables", {"t": []}),
        ("tables", {"t": [1, 2]}),
        ("tables", {"t": ["a"]}),
        ("tables", "no base85 \N{SNOWMAN}"),
        ("tables", "zzzz"),
        ("tables", 5),
        ("topic", "short"),
        ("ref", None),
        ("count", "7"),
        ("holes", 1.5),
        ("pid", None),
        ("epoch", "3"),
        ("id", 5),
        ("leader", []),
        ("losses", "1"),
        ("up_to", "4"),
        ("parked", ["NO_SUCH_KIND", 1, 2, ""]),
        ("parked", ["SOURCE_CORRUPT", 1]),
        ("parked", 7),
    ],
)
def test_a_field_of_another_kind_makes_an_intent_unreadable(field, value):
    offset, metadata = encode(plain())
    with pytest.raises(UnreadableIntent):
        decode(offset, json.dumps({**json.loads(metadata), field: value}))


@given(st.text())
def test_whatever_stands_in_the_metadata_is_read_or_unreadable(metadata):
    try:
        found = decode(5, metadata)
    except UnreadableIntent as error:
        found = unreadable(5, error)
    assert found.offset == 5


def test_an_unreadable_intent_stands_as_a_parked_one_that_names_the_reason():
    with pytest.raises(UnreadableIntent) as caught:
        decode(9, "rubbish")
    stands = unreadable(9, caught.value)
    assert stands.parked is not None
    assert stands.parked.kind is LossKind.ENTRY_UNREADABLE
    assert "rubbish" in stands.parked.detail
    assert replace(stands, parked=None).offset == 9


def test_read_times_give_way_where_an_intent_is_full():
    """An earlier version may have left no room for them."""
    tables = {f"table {at}": TableRange(1 << 40, 1 << 40) for at in range(200)}
    times = tuple(ReadTime(1 << 60, 1 << 43) for _ in range(POINTS_MAX))
    room = 0
    while True:
        intent = plain(tables=tables, read_times=times, position=50, layout="x" * room)
        found = decode(*encode(intent))
        assert replace(found, read_times=times) == intent
        if not found.read_times:
            break
        room += 100
