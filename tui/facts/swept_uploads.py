"""Uploads below the prefixes of a feed, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.s3.upload_sweep import JudgedUpload


@dataclass(frozen=True, slots=True)
class Sweep:
    """Result of `sluice aggregate sweep`.

    Args:
        is_dry: those that nothing needs are still there.
    """

    uploads: tuple[JudgedUpload, ...]
    is_dry: bool
