"""Key coordinator: what passes through Spark, part by part, gives the ends that fold.py finds."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.protocol import Py4JError
from pyspark.errors import PythonException

from aggregator.upsert.column_fold import from_bytes, pack
from aggregator.upsert.facts import FACTS, KEY_BYTES, LaneNote, note_batch
from aggregator.upsert.fold import KEPT, fold
from aggregator.upsert.key_coordinator import (
    is_state_lost,
    opened,
    parcel,
    reason_of,
    reduced,
    tick_result,
)
from aggregator.upsert.tick import ROW_BITS
from aggregator.upsert.tick_source import FactPartition, spark_rows
from aggregator.upsert.version import RowEnd, Version

PARTS = 2
Row = tuple[bytes, Version]


def batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"key": key, **version._asdict(), "note": None} for key, version in rows], schema=FACTS
    )


class Query:
    """Spark's query, played: parts, the reduction of each, and the aggregation."""

    def __init__(self) -> None:
        self.states: dict[bytes, list[bytes]] = {}

    def run(self, tick: int, batches: list[pa.RecordBatch], *, is_bootstrap: bool) -> pa.Table:
        partition = FactPartition(None, None, tick, is_bootstrap, PARTS)
        rows = [row for each in batches for row in spark_rows(each, partition)]
        moved = [
            [row.filter(pa.array([it == part for it in row["part"].to_pylist()])) for row in rows]
            for part in range(PARTS)
        ]
        keys: dict[bytes, list[bytes]] = {}
        parcels: dict[bytes, bytes] = {}
        for part, each in enumerate(moved):
            for found in reduced(each):
                for row in found.to_pylist():
                    if row["version"] is not None:
                        keys.setdefault(row["key"], []).append(row["version"])
                    else:
                        # Without Spark, each part takes itself for part 0.
                        parcels[part.to_bytes(4, "big")] = row["parcel"]
        for key, versions in keys.items():
            self.states[key] = sorted(self.states.get(key, []) + versions, reverse=True)[:KEPT]
        shown: list[dict] = [
            {"key": key, "top": b"".join(self.states[key]), "parcel": None} for key in keys
        ]
        shown += [{"key": part, "top": None, "parcel": each} for part, each in parcels.items()]
        return pa.Table.from_pylist(shown, schema=SHOWN)


SHOWN = pa.schema([(name, pa.binary()) for name in ("key", "top", "parcel")])


@st.composite
def histories(draw) -> list[list[list[Row]]]:
    """Returns the batches of the tasks of each tick."""
    ticks, offset = [], 0
    for tick in range(1, draw(st.integers(1, 5)) + 1):
        tasks: list[list[Row]] = [[] for _ in range(draw(st.integers(1, 3)))]
        for number in range(draw(st.integers(0, 10))):
            offset += 1
            version = Version(
                draw(st.integers(-2, 2)),
                draw(st.integers(0, 1)),
                offset,
                0,
                (tick << ROW_BITS) + number,
                draw(st.booleans()),
            )
            key = bytes([draw(st.integers(0, 4))]) * KEY_BYTES
            draw(st.sampled_from(tasks)).append((key, version))
        ticks.append(tasks)
    return ticks


@given(histories(), st.integers(0, 3), st.integers(0, 9))
def test_the_ends_of_any_history_are_those_of_the_fold(ticks, bootstrap_at, since_order):
    """From tick `bootstrap_at` on with a state that was read from the store."""
    states: dict = {}
    query = Query()
    for number, tasks in enumerate(ticks, 1):
        if number == bootstrap_at + 1:
            query = Query()
            stored = [(key, state[0]) for key, state in states.items()]
            query.run(bootstrap_at, [batch(stored)], is_bootstrap=True)
        rows = [row for task in tasks for row in task]
        expected = fold(number, rows, states, since_order)
        before = states.keys() | set()
        states |= expected.states
        found = query.run(number, [batch(task) for task in tasks], is_bootstrap=False)
        result = tick_result(number, found, 0.0, since_order)
        assert [RowEnd(**row) for row in result.ends.to_pylist()] == expected.ends
        assert result.keys == len(expected.states)
        assert result.new == len(expected.states.keys() - before)


def test_notes_of_all_parts_and_tasks_reach_the_driver():
    notes = [LaneNote(lane, rows=lane, letters=((lane, "no key"),)) for lane in range(5)]
    batches = [note_batch(4, notes[:3]), note_batch(4, [*notes[3:], LaneNote(0, rows=9)])]
    result = tick_result(4, Query().run(4, batches, is_bootstrap=False), 0.0)
    assert result.notes == (LaneNote(0, 9, letters=((0, "no key"),)), *notes[1:])
    assert result.ends.num_rows == 0


def test_an_empty_tick_has_no_ends():
    result = tick_result(4, Query().run(4, [], is_bootstrap=False), 0.0)
    assert (result.ends.num_rows, result.notes, result.keys) == (0, (), 0)


def test_facts_of_another_tick_are_refused():
    query = Query()
    found = query.run(3, [note_batch(3, [LaneNote(0)])], is_bootstrap=False)
    with pytest.raises(ValueError, match="facts of tick 3 for tick 4"):
        tick_result(4, found, 0.0)


@pytest.mark.parametrize(
    ("text", "is_lost"),
    [
        ("[CANNOT_LOAD_STATE_STORE.CANNOT_READ_DELTA_FILE_NOT_EXISTS] Error reading", True),
        ("[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred", True),
        ("[CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR] the lock", False),
        ("[CANNOT_LOAD_STATE_STORE.ROCKSDB_STORE_PROVIDER_OUT_OF_MEMORY] memory", False),
        ("[STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE] other columns", True),
        ("[STREAMING_CHECKPOINT_MISSING_METADATA_FILE] no metadata", True),
        ("Connection refused", False),
    ],
)
def test_an_error_of_the_state_is_told_from_others(text, is_lost):
    error = Py4JError(f"Job aborted due to stage failure: {text}")
    assert is_state_lost(error) is is_lost
    assert not is_state_lost(ValueError(text))


def test_the_parcel_of_a_later_tick_is_the_greater_one():
    nothing = from_bytes(b"")
    facts = pack(batch([(bytes(16), Version(1, 0, 0, 0, 1, False))]))
    early, late = parcel(255, [b"z" * 300], facts), parcel(256, [], nothing)
    assert late > early
    assert opened(early)[:2] == (255, [b"z" * 300])
    assert opened(early)[2].tobytes() == facts.tobytes()


def test_the_reason_of_a_query_that_ended_is_one_line():
    assert reason_of(KeyError("lane")) == "KeyError: 'lane'"


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        ("aggregator.upsert.range_reader.RangeLost: east: flights-0: gone", None),
        ("replicator.kafka.client.cluster.Forbidden: no right to read", None),
        ("ValueError: lane", None),
        ("    at org.apache.spark.Something", "[STREAM_FAILED] Query [id = 1] ended"),
    ],
)
@pytest.mark.parametrize("kind", [Py4JError, PythonException])
def test_the_reason_is_the_error_that_a_python_process_of_spark_raised(raised, reason, kind):
    text = f"""[STREAM_FAILED] Query [id = 1] ended
    Traceback (most recent call last):
      File "worker.py", line 1, in main
    {raised}

    at org.apache.spark.api.python.BasePythonRunner
    """
    assert reason_of(kind(text)) == (reason or raised.strip())
