"""Tests of ticks as parts of text."""

from __future__ import annotations

import base64
import json
import random
import zlib
from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.upsert.tick import BLOCK_ROWS, Lane, LaneRange, Stop, Tick
from aggregator.upsert.tick_codec import (
    PART_BYTES_MAX,
    PARTS_MAX,
    UnreadableTick,
    decode,
    encode,
    id_of,
    parts_of,
)
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata

ID = "sluice.upsert.flights.flight_status"


def tick_of_lanes(count, number=7, seed=1):
    """Returns a tick of lanes with offsets that compress badly."""
    drawn = random.Random(seed)
    lanes = tuple(
        Lane("west aggregate", f"orders{each % 5}", UUID(int=each % 5), each // 5)
        for each in range(count)
    )
    begins = [drawn.randrange(1 << 50) for _ in range(count)]
    ranges = tuple(LaneRange(each, each + drawn.randrange(1000)) for each in begins)
    stops = tuple(
        Stop(each, Loss(LossKind.RETENTION_PASSED, 5, 9), bool(each % 2))
        for each in range(0, count, 100)
    )
    return Tick(3, number, 1_800_000_000_000, lanes, ranges, 2, 1000, stops)


def by_number(parts):
    return dict(enumerate(parts))


def changed(commit, **fields):
    return commit._replace(metadata=json.dumps(json.loads(commit.metadata) | fields))


@pytest.mark.parametrize("lanes", [0, 1, 64, 3000])
def test_a_tick_is_read_as_it_was_written(lanes):
    tick = tick_of_lanes(lanes)
    parts = encode(tick, ID)
    assert decode(by_number(parts)) == tick
    assert parts_of(parts[0]) == len(parts)
    assert {each.offset for each in parts} == {7}
    assert all(len(each.metadata.encode()) <= PART_BYTES_MAX for each in parts)
    assert [id_of(each) for each in parts] == [ID] * len(parts)


def test_losses_and_epochs_are_kept_in_forms_that_older_releases_refuse():
    loss = Loss(LossKind.RETENTION_PASSED, 5, 9)
    tick = replace(tick_of_lanes(600), gaps=(Stop(1, loss, True), Stop(1, loss), Stop(2, loss)))
    assert decode(by_number(encode(tick, ID))) == tick
    assert {json.loads(each.metadata)["v"] for each in encode(tick, ID)} == {2}
    assert {json.loads(each.metadata)["v"] for each in encode(tick_of_lanes(600), ID)} == {1}
    epochs = replace(tick, epochs=tuple(range(-1, 599)))
    assert {json.loads(each.metadata)["v"] for each in encode(epochs, ID)} == {3}


OLDER, NEWER = tick_of_lanes(700, 6), tick_of_lanes(600, 7)
TORN = [by_number(encode(each, ID)) for each in (OLDER, NEWER)]


@given(st.lists(st.sampled_from((None, 0, 1)), min_size=8, max_size=8))
def test_a_torn_set_of_parts_is_one_of_its_ticks_or_an_error(taken):
    """Each part is missing, or that of the older or of the newer tick."""
    parts = {
        at: TORN[tick][at] for at, tick in enumerate(taken) if tick is not None and at in TORN[tick]
    }
    for tick, whole in zip((OLDER, NEWER), TORN, strict=True):
        if whole.items() <= parts.items():
            assert decode(parts) == tick
            return
    with pytest.raises(UnreadableTick, match="missing|is of tick|not of one commit"):
        decode(parts)


def test_a_thousand_lanes_take_a_few_parts():
    assert 1 < len(encode(tick_of_lanes(1000), ID)) <= 6


def test_a_tick_that_needs_too_many_parts_is_refused():
    with pytest.raises(ValueError, match=f"does not fit into {PARTS_MAX} parts"):
        encode(tick_of_lanes(20_000), ID)


names = st.text(max_size=8)
lanes = st.builds(Lane, names, names, st.uuids(), st.integers(0, 1 << 31))


@given(
    st.lists(st.tuples(lanes, st.integers(0, 1 << 62), st.integers(0, 9)), max_size=20),
    st.none() | st.lists(st.integers(-1, (1 << 31) - 1), min_size=20, max_size=20),
    st.booleans(),
)
def test_any_names_offsets_and_epochs_are_read_as_written(drawn, epochs, has_gap):
    unique = {lane: LaneRange(begin, begin + more) for lane, begin, more in drawn}
    tick = Tick(1, 1, 0, tuple(unique), tuple(unique.values()), block_rows=BLOCK_ROWS)
    if epochs is not None:
        tick = replace(tick, epochs=tuple(epochs[: len(unique)]))
    if has_gap and unique:
        tick = replace(tick, gaps=(Stop(0, Loss(LossKind.SOURCE_TRUNCATED, 0, 5)),))
    assert decode(by_number(encode(tick, "id ü"))) == tick


def test_parts_that_a_longer_tick_has_left_are_not_looked_at():
    longer, shorter = encode(tick_of_lanes(3000, number=6), ID), encode(tick_of_lanes(1), ID)
    assert decode(by_number(longer) | by_number(shorter)) == tick_of_lanes(1)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_missing_part_is_named(number):
    parts = by_number(encode(tick_of_lanes(600), ID))
    del parts[number]
    with pytest.raises(UnreadableTick, match=f"part {number} .*missing"):
        decode(parts)


def test_parts_of_two_ticks_are_never_taken_for_one():
    older, newer = encode(tick_of_lanes(600, 6), ID), encode(tick_of_lanes(600, 7), ID)
    for at in range(1, len(newer)):
        with pytest.raises(UnreadableTick, match=f"part {at} is of tick 6, part 0 of tick 7"):
            decode(by_number(newer) | {at: older[at]})


def test_parts_of_two_commits_of_one_number_are_never_taken_for_one():
    one, other = encode(tick_of_lanes(600), ID), encode(tick_of_lanes(600, seed=2), ID)
    with pytest.raises(UnreadableTick, match="part 1 of tick 7 is not of one commit with part 0"):
        decode(by_number(one) | {1: other[1]})


def test_a_changed_part_is_noticed():
    parts = encode(tick_of_lanes(2), ID)
    data = json.loads(parts[0].metadata)["data"]
    with pytest.raises(UnreadableTick, match="checksum"):
        decode({0: changed(parts[0], data=data[:-9] + "AAAAA" + data[-4:])})


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (OffsetAndMetadata(5, ""), "part 0 of tick 5 cannot be read"),
        (OffsetAndMetadata(5, "null"), "part 0 of tick 5 cannot be read"),
        (OffsetAndMetadata(5, "{}"), "part 0 of tick 5 cannot be read"),
        (changed(encode(tick_of_lanes(1), ID)[0], v=4), "version 4, this release reads 1 to 3"),
        (changed(encode(tick_of_lanes(1), ID)[0], part=1), "it says that it is part 1"),
        (changed(encode(tick_of_lanes(1), ID)[0], of=0), "part of 0"),
        (changed(encode(tick_of_lanes(1), ID)[0], of=True), "no integer"),
        (changed(encode(tick_of_lanes(1), ID)[0], data=3), "no text"),
    ],
)
def test_a_part_that_cannot_be_read_says_why(part, reason):
    with pytest.raises(UnreadableTick, match=reason):
        decode({0: part})


def written(content, number=7):
    """Returns content as the one part of a tick."""
    text = base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()
    fields = {"v": 1, "part": 0, "of": 1, "crc": zlib.crc32(text.encode()), "id": ID}
    return {0: OffsetAndMetadata(number, json.dumps(fields | {"data": text}))}


GOOD = {
    "generation": 1,
    "time_ms": 5,
    "rows_per_record": 1,
    "block_rows": 10,
    "topics": [["west", "orders", UUID(int=1).hex]],
    "lanes": [[0, 0], [0, 1]],
    "ranges": [[3, 2], [0, 0]],
    "stops": [[1, "SOURCE_DELETED", 0, None, "gone", True]],
}


def test_the_stored_form_of_version_1_stays_readable():
    lanes = tuple(Lane("west", "orders", UUID(int=1), each) for each in range(2))
    stop = Stop(1, Loss(LossKind.SOURCE_DELETED, 0, None, "gone"), True)
    expected = Tick(1, 7, 5, lanes, (LaneRange(3, 5), LaneRange(0, 0)), 1, 10, (stop,))
    assert decode(written(GOOD)) == expected


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"ranges": [[3, 2]]}, "1 ranges of 2 different lanes"),
        ({"lanes": [[0, 0], [0, 0]]}, "2 ranges of 1 different lanes"),
        ({"ranges": [[3, -2], [0, 0]]}, "-2 is below 0"),
        ({"ranges": [[3, 1 << 33], [0, 0]]}, "8589934592 rows"),
        ({"block_rows": 0}, "blocks of 0"),
        ({"lanes": [[1, 0], [0, 1]]}, "cannot be read"),
        ({"topics": [["west", "orders", "no id"]]}, "cannot be read"),
        ({"stops": [[2, "SOURCE_DELETED", 0, None, "", False]]}, "does not have"),
        ({"stops": [[1, "NEW_KIND", 0, None, "", False]]}, "NEW_KIND"),
        ({"generation": 1.5}, "1.5 is no integer"),
        ({"epochs": [3]}, "1 leader epochs of 2 lanes"),
        ({"epochs": [3, -2]}, "-2 is no leader epoch"),
        ({"epochs": [3, True]}, "no integer"),
    ],
)
def test_contents_that_contradict_themselves_are_unreadable(fields, reason):
    with pytest.raises(UnreadableTick, match=reason):
        decode(written(GOOD | fields))


def test_a_number_beyond_the_largest_is_unreadable():
    with pytest.raises(UnreadableTick, match="numbered up to"):
        decode(written(GOOD, number=1 << 31))


@given(st.text(), st.integers(-1, 1 << 40))
def test_any_text_is_read_or_refused_and_never_fails_otherwise(text, offset):
    with pytest.raises(UnreadableTick):
        decode({0: OffsetAndMetadata(offset, text)})


def test_what_was_changed_shows_in_what_is_read():
    tick = tick_of_lanes(3)
    other = replace(tick, block_rows=tick.block_rows + 1)
    assert decode(by_number(encode(other, ID))) != tick
