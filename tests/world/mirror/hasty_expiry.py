"""Expiry of producers and of records within seconds, not days, with carriers whose limits shrink
likewise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from replicator.mirror.carrier.carrier_assembly import MAKERS, Makers

EXPIRY_SECONDS = 15.0
"""In place of producer.id.expiration.ms; longer than any request is late."""
CHECK_SECONDS = 1.0
"""Pause between two looks for producers that have expired."""
SILENCE_SECONDS_MAX, RENEW_SECONDS, REMEMBERED_SECONDS = 3.0, 3.0, 8.0


IDLE_SECONDS = 1.0
"""Interval at which entries of routes without records are renewed where retention is a second."""


def hastened(makers: Makers) -> Makers:
    """Returns the makers with shorter limits; a part that a mutation replaces keeps its own."""
    changes: dict[str, dict[str, float]] = {
        "sender": {"silence_seconds_max": SILENCE_SECONDS_MAX},
        "retransmission": {"remembered_seconds": REMEMBERED_SECONDS},
        "commit_schedule": {"renew_seconds": RENEW_SECONDS},
    }
    return _limited(makers, changes)


def renewing(makers: Makers) -> Makers:
    """Returns the makers of carriers that renew the entries of quiet partitions each second."""
    return _limited(makers, {"commit_schedule": {"renew_seconds": IDLE_SECONDS}})


def _limited(makers: Makers, changes: Mapping[str, Mapping[str, float]]) -> Makers:
    parts = {
        name: partial(getattr(makers, name), **limits)
        for name, limits in changes.items()
        if getattr(makers, name) is getattr(MAKERS, name)
    }
    return replace(makers, **parts)
