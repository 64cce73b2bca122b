"""Committed offset of a group in one partition."""

from __future__ import annotations

from typing import NamedTuple


class OffsetAndMetadata(NamedTuple):
    """Next offset to read, and the text that the client committed beside it."""

    offset: int
    metadata: str = ""
