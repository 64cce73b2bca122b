"""Output of `sluice aggregate overwrite`: both contents of each name."""

from __future__ import annotations

from typing import Any

from tui.commands.text import instant, joined, table
from tui.facts.taken_objects import Overwrites, TakenObject

HEADS = ("KEY", "CONTENT", "BYTES", "CHECKSUM", "ETAG", "WRITTEN")


def as_values(found: Overwrites) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "taken": [_values(each) for each in found.taken],
        "continued": [_values(each) for each in found.continued],
        "left": [
            {**partition._asdict(), "reason": reason} for partition, reason in found.left.items()
        ],
    }


def _values(each: TakenObject) -> dict[str, Any]:
    there, sealed = each.there, each.manifest
    return {
        **each.partition._asdict(),
        "key": each.key,
        "there": there
        and {
            "size_bytes": there.size_bytes,
            "crc32c": there.crc32c,
            "etag": there.etag,
            "written_at": instant(int(there.modified_at * 1000)),
        },
        "sealed": {
            "begin": sealed.begin,
            "end": sealed.end,
            "records": sealed.records,
            "size_bytes": sealed.size_bytes,
            "crc32c": sealed.crc32c,
            "sealed_at": instant(sealed.sealed_at_ms),
        },
    }


def as_text(found: Overwrites) -> str:
    """Formats both contents of each name, one below the other."""
    lines = [f"is written over: {each.key}" for each in found.continued]
    lines += [
        f"left as it is: {' '.join(map(str, partition))}: {reason}"
        for partition, reason in found.left.items()
    ]
    if not found.taken:
        return joined(lines) if lines else "no name of an object is taken by another content"
    rows = [row for each in found.taken for row in _rows(each)]
    return "\n\n".join(filter(None, [table(HEADS, rows), joined(lines)]))


def _rows(each: TakenObject) -> list[tuple[Any, ...]]:
    there, sealed = each.there, each.manifest
    rows: list[tuple[Any, ...]] = [(each.key, "there: none", *(["-"] * 4))]
    if there is not None:
        checksum = "-" if there.crc32c is None else f"{there.crc32c:08x}"
        written = instant(int(there.modified_at * 1000))
        rows = [(each.key, "there", there.size_bytes, checksum, there.etag, written)]
    what = f"sealed: offsets [{sealed.begin}, {sealed.end})"
    sealed_at = instant(sealed.sealed_at_ms)
    return [*rows, ("", what, sealed.size_bytes, f"{sealed.crc32c:08x}", "-", sealed_at)]
