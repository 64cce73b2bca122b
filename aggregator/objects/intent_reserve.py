"""Intent reserve: room that an intent keeps for objects that are not sealed yet."""

from __future__ import annotations

from collections.abc import Container, Iterable
from hashlib import sha512

from aggregator.intents.table_range import Manifest


def reserved(count: int, waiting: Iterable[str], beside: Container[str]) -> dict[str, Manifest]:
    """Returns as many objects as room is kept for, each with the longest name that waits.

    Args:
        count: 1 or 2.
        waiting: encoded partitions with records that are not sealed.
        beside: those that the intent names already.
    """
    longest = max((name for name in waiting if name not in beside), key=len, default="")
    return {f"{longest}.{at}": _LARGEST[at] for at in range(count)}


def _largest(seed: str) -> Manifest:
    """Returns a manifest that takes as much of an intent as any: nothing in it can be packed."""
    digest = sha512(seed.encode()).hexdigest()
    return Manifest(
        0,
        1 << 40,
        1 << 40,
        digest[:10],
        1 << 43,
        left_out=1 << 40,
        size_bytes=1 << 43,
        crc32c=(1 << 32) - 1,
        first_ms=1 << 47,
        last_ms=1 << 47,
        digest=digest[10:58],
        fingerprint=digest[58:66],
        token=digest[66:74],
    )


_LARGEST = _largest("one"), _largest("two")
