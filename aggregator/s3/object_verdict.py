"""Object verdict: whether what is under a name is the object that an intent names. Pure."""

from __future__ import annotations

from enum import Enum

from aggregator.intents.table_range import Manifest
from aggregator.s3.object_store import TOKEN, Found


class Verdict(Enum):
    """Content under the name of an object."""

    OURS = "the object"
    ABSENT = "nothing"
    OTHER = "another content"
    UNCLEAR = "as many bytes of another attempt; the store keeps no checksum that tells more"


def verdict(found: Found | None, manifest: Manifest) -> Verdict:
    """Returns what is under the name of a manifest's object."""
    if not manifest.size_bytes:
        return Verdict.OURS  # an object without bytes is not written
    if found is None:
        return Verdict.ABSENT
    if found.size_bytes != manifest.size_bytes:
        return Verdict.OTHER
    if found.crc32c is not None:
        return Verdict.OURS if found.crc32c == manifest.crc32c else Verdict.OTHER
    is_of_this_attempt = found.metadata.get(TOKEN) == manifest.token
    return Verdict.OURS if is_of_this_attempt else Verdict.UNCLEAR
