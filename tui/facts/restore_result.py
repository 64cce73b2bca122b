"""Restore as it stands, and where consumer groups of the source topic go on."""

from __future__ import annotations

from dataclasses import dataclass

from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restored_runs import GroupPosition


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Job as it stands.

    Args:
        positions: of a group, or of the offsets that were asked for.
    """

    request: RestoreRequest
    state: RestoreState
    positions: tuple[GroupPosition, ...]
