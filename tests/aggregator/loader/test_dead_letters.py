"""Dead letters have all fields of their records, byte for byte, and the headers that name these."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.admission import Admission
from aggregator.loader.dead_letters import LETTER_BYTES, dead_letters, first_beyond, record_digest
from aggregator.loader.produced import HEADER_PREFIX, RecordPlace, fitted
from aggregator.tables.decoded import DeadRecord
from tests.aggregator.formats.header_samples import FIELDS, HEADERS
from tests.aggregator.loader.letters import NOW_MS, PLACE, sliced, written

TIMES = st.sampled_from([-1, 0, 1_700_000_000_000, NOW_MS + 7_200_000])
RECORDS = st.lists(
    st.tuples(st.none() | FIELDS, st.none() | FIELDS, HEADERS, TIMES), min_size=1, max_size=4
)


@given(RECORDS, st.data())
def test_a_dead_letter_has_the_bytes_of_its_record(records, data):
    part = sliced(records)
    refused = data.draw(st.lists(st.sampled_from(range(len(records))), unique=True, min_size=1))
    dead = [DeadRecord(10 + at, f"reason {at}") for at in refused]
    # Those of tables are of the fetched records, those of files were copied out of them.
    admitted = Admission((lambda _: dict.fromkeys(refused, "reason"),))(part)
    for slices in ([part], admitted.letters):
        letters = dead_letters("lake", PLACE, "east aggregate", "t", slices, dead)
        assert len(letters) == len(refused)
        for (time, key, value, headers), at in zip(written(letters), sorted(refused), strict=True):
            own, added = headers[: len(records[at][2])], dict(headers[len(records[at][2]) :])
            assert (key, value, own) == records[at][:3]
            assert time == NOW_MS
            assert added == {
                b"sluice.cluster": b"east aggregate",
                b"sluice.topic": b"flights",
                b"sluice.partition": b"5",
                b"sluice.offset": b"%d" % (10 + at),
                b"sluice.timestamp": b"%d" % records[at][3],
                b"sluice.table": b"t",
                b"sluice.reason": b"reason %d" % at,
            }


@given(RECORDS, st.integers(700, 1500))
def test_a_letter_tells_its_record_apart_from_others_whether_it_is_whole_or_cut(
    records, batch_bytes
):
    (key, value, headers, time_ms), dead = records[0], [DeadRecord(10, "reason")]

    def letter_of(record):
        (letter,) = dead_letters("lake", PLACE, "east", "t", [sliced([record])], dead)
        return letter

    def digest_of(letter):
        return record_digest(letter.key, letter.value, letter.headers)

    own, long = letter_of(records[0]), (key, b"v" * 1500, headers, time_ms)
    assert digest_of(fitted(own, batch_bytes)) == digest_of(own)
    cut = fitted(letter_of(long), batch_bytes)
    assert cut.value != long[1] and digest_of(cut) == digest_of(letter_of(long))
    others = [
        (b"k" + (key or b""), value, headers, time_ms),
        (key, b"v" + (value or b""), headers, time_ms),
        (key, value, (*headers, (b"x", None)), time_ms),
        (key, value, headers, time_ms + 1),
    ]
    assert digest_of(own) not in {digest_of(letter_of(each)) for each in others}


@given(st.lists(st.integers(0, 40), min_size=1, max_size=12), st.data())
def test_a_block_ends_before_its_letters_are_too_much_for_a_transaction(sizes, data):
    part = sliced([(None, b"v" * size, (), 5) for size in sizes])
    cut = data.draw(st.integers(0, len(sizes)))
    slices = [part.at(slice(0, cut)), part.at(slice(cut, None))]
    dead = [DeadRecord(10 + at, "bad") for at in range(len(sizes)) if at % 3]
    limit = 2 * LETTER_BYTES + 30
    end = first_beyond(slices, dead, limit)
    taken = [each for each in dead if end is None or each.offset < end]
    assert taken or not dead
    total = sum(int(part.record_bytes[it.offset - 10]) + LETTER_BYTES for it in taken)
    assert total <= limit or len(taken) == 1
    if end is not None:
        assert total + int(part.record_bytes[end - 10]) + LETTER_BYTES > limit


def test_the_table_of_a_dead_letter_may_come_from_a_record_and_is_cut():
    dead = [DeadRecord(10, "r" * 5000)]
    slices = [sliced([(None, b"v", (), 5)])]
    (found,) = dead_letters("lake", PLACE, "east", "t" * 9000, slices, dead)
    told = dict(found.headers)
    assert len(told[f"{HEADER_PREFIX}table"]) == len(told[f"{HEADER_PREFIX}reason"]) == 1000
    assert found.of == RecordPlace(PLACE, 10)
