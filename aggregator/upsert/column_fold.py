"""Fold of a whole tick on columns: the same ends as fold.py finds, without a loop over rows.

Facts travel through Spark packed: the hash of the key, then the version, all numbers big-endian, so
that packed facts compare as bytes in the order of keys and versions. A packed version is what the
state of a key holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from aggregator.upsert.facts import FACTS, KEY_BYTES
from aggregator.upsert.version import ORDER_MIN, EndKind

PACKED = np.dtype(
    [
        ("key", f"S{KEY_BYTES}"),
        ("order", ">u8"),
        ("lane", ">u4"),
        ("offset", ">u8"),
        ("row", ">u4"),
        ("row_id", ">u8"),
        ("is_delete", "u1"),
    ]
)
"""Packed fact. The order has its sign flipped; the other numbers have none."""
VERSION_BYTES = PACKED.itemsize - KEY_BYTES

ENDS = pa.schema(
    [
        pa.field("row_id", pa.uint64(), nullable=False),
        pa.field("lane", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("kind", pa.string(), nullable=False),
        pa.field("tick", pa.uint32(), nullable=False),
        pa.field("by_row_id", pa.uint64(), nullable=False),
        pa.field("key", pa.binary(KEY_BYTES), nullable=False),
    ]
)
"""Columns of the ends of rows: the fields of RowEnd. Sorted by row_id."""

Packed = NDArray[np.void]
"""Packed facts."""

_WHOLE = np.dtype((np.void, PACKED.itemsize))
_SIGN = np.uint64(1 << 63)
_KINDS = (EndKind.SUPERSEDED, EndKind.LATE, EndKind.DELETED)
_SUPERSEDED, _LATE, _DELETED = range(len(_KINDS))


class FoldedTwice(Exception):
    """A tick is in the state of its keys already, so its ends cannot be told any more."""


class Top(NamedTuple):
    """State of keys after a tick.

    Args:
        newest: the newest version of each key, in order of the keys.
        second: the version behind it; where there is none, any.
        has_second: False where there is none.
    """

    newest: Packed
    second: Packed
    has_second: NDArray[np.bool_]


def pack(facts: pa.RecordBatch) -> Packed:
    """Returns facts packed, in their order. Raises pa.ArrowInvalid if a key has another length.

    Args:
        facts: of the schema FACTS, without notes.
    """
    packed = np.empty(len(facts), PACKED)
    keys = facts["key"].cast(pa.binary(KEY_BYTES))
    begin = keys.offset * KEY_BYTES
    content = keys.buffers()[1]
    if len(facts):
        packed["key"] = np.frombuffer(content, PACKED["key"], len(facts), begin)
    packed["order"] = _numbers(facts["order"]).astype(np.int64).view(np.uint64) ^ _SIGN
    for name in ("lane", "offset", "row", "row_id", "is_delete"):
        packed[name] = _numbers(facts[name])
    return packed


def unpack(packed: Packed) -> pa.RecordBatch:
    """Returns packed facts as a batch of the schema FACTS."""
    columns = {
        "key": fixed_bytes(packed, 0, KEY_BYTES).cast(pa.binary()),
        "order": (packed["order"].astype(np.uint64) ^ _SIGN).view(np.int64),
        "lane": packed["lane"].astype(np.int32),
        "offset": packed["offset"].astype(np.int64),
        "row": packed["row"].astype(np.int32),
        "row_id": packed["row_id"].astype(np.int64),
        "is_delete": packed["is_delete"].astype(np.bool_),
        "note": pa.nulls(len(packed), pa.binary()),
    }
    return pa.RecordBatch.from_pydict(columns, schema=FACTS)


def from_bytes(content: bytes) -> Packed:
    """Returns the packed facts that `tobytes` of an array gave."""
    return np.frombuffer(content, PACKED)


def sorted_facts(packed: Packed) -> Packed:
    """Returns facts in order of their keys, and the versions of a key from old to new."""
    # Whole facts compare slowly. Behind the sort by the begin of the keys, numbers of 64 bits, only
    # facts of a key are left to be put in order.
    rows = packed.view(np.uint8).reshape(len(packed), PACKED.itemsize)
    begins = np.ascontiguousarray(rows[:, :8]).view(">u8").ravel().astype(np.uint64)
    found = picked(packed, np.argsort(begins))
    return picked(found, np.argsort(_as_bytes(found), kind="stable"))


def picked(packed: Packed, at: NDArray[np.bool_ | np.intp]) -> Packed:
    """Returns some facts, by a mask or by their places: numpy moves whole facts in a fifth of the
    time that it takes for their fields."""
    return packed.view(_WHOLE)[at].view(PACKED)


def are_best(facts: Packed) -> NDArray[np.bool_]:
    """Returns True for the newest version of each key.

    Args:
        facts: sorted.
    """
    found = np.ones(len(facts), np.bool_)
    found[:-1] = facts["key"][1:] != facts["key"][:-1]
    return found


def fixed_bytes(packed: Packed, begin: int, end: int) -> pa.FixedSizeBinaryArray:
    """Returns the bytes begin..end-1 of each packed fact."""
    width = end - begin
    rows = packed.view(np.uint8).reshape(len(packed), PACKED.itemsize)
    content = pa.py_buffer(np.ascontiguousarray(rows[:, begin:end]))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(packed), [None, content])


def top_of(keys: pa.Array, versions: pa.Array) -> Top:
    """Returns the state of keys after a tick, sorted by key.

    Args:
        keys: hashes of the keys, each once.
        versions: of each key one or two packed ones, one behind the other, in any order.

    Raises:
        ValueError: a state is not one or two versions.
    """
    lengths = np.asarray(pc.binary_length(versions).fill_null(0)).astype(np.int64)
    counts, rest = np.divmod(lengths, VERSION_BYTES)
    if rest.any() or not np.isin(counts, (1, 2)).all():
        raise ValueError("the state of a key is not one or two versions")
    every = np.empty(counts.sum(), PACKED)
    every["key"] = np.repeat(_keys_of(keys), counts)
    rows = every.view(np.uint8).reshape(len(every), PACKED.itemsize)
    content = b"".join(versions.to_pylist())
    rows[:, KEY_BYTES:] = np.frombuffer(content, np.uint8).reshape(len(every), VERSION_BYTES)
    every = sorted_facts(every)
    last = np.flatnonzero(are_best(every))
    has_second = np.diff(last, prepend=-1) > 1
    return Top(picked(every, last), picked(every, last - has_second), has_second)


def ends(tick: int, facts: Packed, top: Top, since_order: int = ORDER_MIN) -> pa.Table:
    """Returns the ends of rows that follow from a tick, sorted by row id.

    Args:
        facts: all of the tick, sorted.
        top: state after the tick of the keys that have facts.
        since_order: order before which rows of earlier ticks have no ends (see fold.fold).

    Raises:
        FoldedTwice: the state held the tick before.
        ValueError: the state is not that of the keys of the facts.
    """
    best_at = np.flatnonzero(are_best(facts))
    best = picked(facts, best_at)
    if not np.array_equal(best["key"], top.newest["key"]):
        raise ValueError(f"the state of {len(top.newest)} keys answers {len(best)} keys")
    won = _as_bytes(best) == _as_bytes(top.newest)
    if (has_old := won & top.has_second).any():
        twice = _as_bytes(picked(top.second, has_old)) == _as_bytes(picked(best, has_old))
        if twice.any():
            raise FoldedTwice(f"tick {tick} was in the state of {twice.sum()} of its keys already")
    # Losers of the tick, by the best of their key.
    is_loser = ~are_best(facts)
    by = picked(best, np.searchsorted(best_at, np.flatnonzero(is_loser)))
    late, old = picked(best, ~won), has_old & (top.second["order"] >= _flipped(since_order))
    # The old row ends, not the new one.
    old_rows, old_by = picked(top.second, old), picked(best, old)
    ended = joined([picked(facts, is_loser), late, old_rows])
    ending = joined([by, picked(top.newest, ~won), old_by])
    kinds = np.concatenate([_by_winner(by), np.full(len(late), _LATE), _by_winner(old_by)])
    # A delete was never visible.
    rows = ended["is_delete"] == 0
    at = np.flatnonzero(rows)
    at = at[np.argsort(ended["row_id"].astype(np.uint64)[at], kind="stable")]
    ended, ending, kinds = picked(ended, at), picked(ending, at), kinds[at]
    names = pa.array([kind.value for kind in _KINDS])
    return pa.table(
        {
            "row_id": ended["row_id"].astype(np.uint64),
            "lane": ended["lane"].astype(np.int32),
            "offset": ended["offset"].astype(np.int64),
            "kind": names.take(pa.array(kinds, pa.int64())),
            "tick": np.full(len(ended), tick, np.uint32),
            "by_row_id": ending["row_id"].astype(np.uint64),
            "key": fixed_bytes(ended, 0, KEY_BYTES),
        },
        schema=ENDS,
    )


def joined(parts: Sequence[Packed]) -> Packed:
    """Returns all facts of some arrays."""
    # Concatenated field by field, numbers would be turned into the byte order of the machine.
    wholes = [np.empty(0, _WHOLE), *(each.view(_WHOLE) for each in parts)]
    return np.concatenate(wholes).view(PACKED)


def _flipped(order: int) -> np.uint64:
    """Returns an order as packed facts have it."""
    return np.uint64(order + (1 << 63))


def _by_winner(winners: Packed) -> NDArray[np.int64]:
    return np.where(winners["is_delete"] != 0, _DELETED, _SUPERSEDED)


def _as_bytes(packed: Packed) -> NDArray[np.bytes_]:
    """Returns packed facts as strings of one length, which compare as bytes do."""
    return np.ascontiguousarray(packed).view(f"S{PACKED.itemsize}")


def _keys_of(keys: pa.Array) -> NDArray[np.bytes_]:
    fixed = keys.cast(pa.binary(KEY_BYTES))
    if not len(fixed):
        return np.empty(0, PACKED["key"])
    return np.frombuffer(fixed.buffers()[1], PACKED["key"], len(fixed), fixed.offset * KEY_BYTES)


def _numbers(column: pa.Array) -> NDArray[np.int64]:
    return np.asarray(column.to_numpy(zero_copy_only=False))
