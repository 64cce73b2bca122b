"""Expiry of producers within seconds, not a day, with carriers whose limits shrink likewise."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from replicator.mirror.carrier.assembly import MAKERS, Makers

EXPIRY_SECONDS = 15.0
"""In place of producer.id.expiration.ms; longer than any request is late."""
CHECK_SECONDS = 1.0
"""Pause between two looks for producers that have expired."""
SILENCE_SECONDS_MAX, RENEW_SECONDS, REMEMBERED_SECONDS = 3.0, 3.0, 8.0


def hastened(makers: Makers) -> Makers:
    """Returns the makers with shorter limits; a part that a mutation replaces keeps its own."""
    changes = {
        "sender": {"silence_seconds_max": SILENCE_SECONDS_MAX},
        "retransmission": {"remembered_seconds": REMEMBERED_SECONDS},
        "commit_schedule": {"renew_seconds": RENEW_SECONDS},
    }
    parts = {
        name: partial(getattr(makers, name), **limits)
        for name, limits in changes.items()
        if getattr(makers, name) is getattr(MAKERS, name)
    }
    return replace(makers, **parts)
