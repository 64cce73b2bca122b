"""Records of a partition in a store, asked before a partition without an intent may begin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stored:
    """Records of a partition in a store.

    Args:
        next_offset: behind the last stored record; None if none was seen.
        doubt: why records may be stored that were not seen; empty for a proof that none is.
        is_passing: the doubt goes by itself, such as with a server that comes back.
    """

    next_offset: int | None = None
    doubt: str = ""
    is_passing: bool = False
