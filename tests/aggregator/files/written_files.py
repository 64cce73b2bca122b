"""Written files for tests: records by Kafka's rules, cut into slices, and the file of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hypothesis import strategies as st

from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_fields import split
from aggregator.formats.record_slice import RecordSlice
from replicator.batches.records import opened
from tests.replicator.batches.source_batches import Record, encoded

BYTES = st.none() | st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=3).map(tuple)
TIMES = st.integers(-1, 2_000_000_000_000)
ROWS = st.lists(st.tuples(TIMES, BYTES, BYTES, HEADERS), min_size=1, max_size=30)
# aiokafka takes the first timestamp that is not -1 for that of all records before it.
RECORDS = ROWS.map(
    lambda rows: [
        Record(at, -1 if rows[0][0] == -1 else time, *row) for at, (time, *row) in enumerate(rows)
    ]
)
CUTS = st.lists(st.integers(1, 29), max_size=5)


def slices(records: Sequence[Record], cuts: Iterable[int] = ()) -> list[RecordSlice]:
    """Returns the records in slices that end at the cuts."""
    whole = split(opened(encoded(records), [0]))
    ends = sorted({each for each in cuts if each < len(records)} | {len(records)})
    return [whole.at(slice(b, e)) for b, e in zip([0, *ends], ends, strict=False)]


def written(writer: FileWriter, parts: Iterable[RecordSlice]) -> bytes:
    """Returns the file of these slices, one after the other."""
    return b"".join([*(writer.write([part]) for part in parts), writer.finish()])
