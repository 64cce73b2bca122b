"""Health of a partition, a topic or a route: one word, worst first, with the reason in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from tui.facts.counted import counted

STALLED_SECONDS = 30.0
"""Time without progress after which a partition with lag is stalled, by its carrier's reports."""
STALLED_SECONDS_BY_LEDGER = 90.0
"""The same without reports: a ledger entry is committed once a minute at least."""


class Health(StrEnum):
    """States, worst first; the order is that of the console's default sort."""

    UNKNOWN = "UNKNOWN"
    PARKED = "PARKED"
    WAITS = "WAITS"
    STALLED = "STALLED"
    BEHIND = "BEHIND"
    PAUSED = "PAUSED"
    OK = "OK"


ORDER = {state: place for place, state in enumerate(Health)}


class Judged(NamedTuple):
    """State with its reason in words; `why` is "" when it is OK."""

    state: Health
    why: str = ""


FINE = Judged(Health.OK)


class Evidence(NamedTuple):
    """Evidence about one partition at one time.

    Args:
        parked, paused, waits: the reason in words; None when it is not.
        silence: why there is no fresh word about its lag; None when there is.
        still_seconds: time for which it has had lag and made no progress; 0 when it moves.
        is_reported: its carrier reports, so that progress shows at once.
    """

    parked: str | None
    paused: str | None
    waits: str | None
    silence: str | None
    lag_records: int | None
    lag_seconds: float | None
    still_seconds: float
    is_reported: bool


def partition_health(found: Evidence, lag_seconds_max: float) -> Judged:
    """Returns the state of a partition; a partition that has everything is OK, however quiet."""
    if found.parked is not None:
        return Judged(Health.PARKED, found.parked)
    if found.paused is not None:
        return Judged(Health.PAUSED, found.paused)
    if found.waits is not None:
        return Judged(Health.WAITS, found.waits)
    if found.silence is not None or found.lag_records is None:
        return Judged(Health.UNKNOWN, found.silence or "its lag is not known")
    return lag_health(
        found.lag_records,
        found.lag_seconds,
        found.still_seconds,
        found.is_reported,
        lag_seconds_max,
    )


def lag_health(
    lag_records: int,
    lag_seconds: float | None,
    still_seconds: float,
    is_reported: bool,
    lag_seconds_max: float,
) -> Judged:
    """Returns the state of a partition that nothing but its lag tells about."""
    if not lag_records:
        return FINE
    if still_seconds >= (STALLED_SECONDS if is_reported else STALLED_SECONDS_BY_LEDGER):
        return Judged(Health.STALLED, f"no progress for {still_seconds:.0f} s")
    if lag_seconds is not None and lag_seconds > lag_seconds_max:
        return Judged(Health.BEHIND, f"{lag_seconds:.0f} s behind")
    return FINE


def worst(states: Iterable[Health]) -> Health | None:
    """Returns the worst state; None of none."""
    return min(states, key=ORDER.__getitem__, default=None)


def summary(noun: str, parts: Sequence[tuple[str, Judged]], own: Sequence[Judged] = ()) -> Judged:
    """Returns the state of a topic or a route: the worst of its parts, with a reason that names it.

    Args:
        noun: what a part is called.
        parts: names and states of the parts.
        own: states that hold for the whole of it.
    """
    found = [*(("", each) for each in own), *parts]
    state = worst(judged.state for _, judged in found)
    if state is None or state is Health.OK:
        return FINE
    alike = [(name, judged.why) for name, judged in found if judged.state is state]
    name, why = alike[0]
    text = f"{name}: {why}" if name and why else name or why
    others = sum(1 for each, _ in alike[1:] if each)
    more = f" (and {counted(others, f'more {noun}')})" if others else ""
    return Judged(state, text + more)
