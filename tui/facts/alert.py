"""Alert: something that an operator should look at, with its acknowledgement."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

KEY_BEGINNINGS = (
    "audit",
    "balance",
    "carrier",
    "condition",
    "copies",
    "daemon",
    "group",
    "parked",
    "region",
    "right",
    "server",
    "stalled",
    "verify",
)
"""First parts of all keys: what kind of cause an alert has."""


class Level(StrEnum):
    """Levels, worst first."""

    PAGE = "PAGE"
    WARN = "WARN"


class AlertState(StrEnum):
    """States of an alert."""

    OPEN = "open"
    ACKNOWLEDGED = "acknowledged"
    SILENCED = "silenced"
    RESOLVED = "resolved"


LEVELS = {level: place for place, level in enumerate(Level)}
STATES = {state: place for place, state in enumerate(AlertState)}
"""Places in the order from worst to best."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSubject:
    """Subject of an alert: the fields that it has from its cause; see Alert."""

    key: str
    region: str
    level: Level
    kind: str
    text: str
    about: tuple[str, ...] = ()
    route: str | None = None
    feed: str | None = None
    cluster: str | None = None
    topic: str | None = None
    partition: int | None = None
    rows: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    extent: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert(AlertSubject):
    """Alert, as it is now.

    Args:
        key: identifies it over time, such as "condition/source-silent/west>east//".
        region: region whose Redis keeps its acknowledgement.
        kind: server, right, daemon, carrier, stalled, condition, parked, balance, copies, group,
            audit or verify.
        text: for people.
        about: the routes, feeds or groups that it touches.
        route, feed, cluster, topic, partition: the only one that it touches, or of a carrier or
            stalled partitions the example in its text; None: several, or none.
        rows: details, such as the rows of a failed audit or both entries of an anomaly.
        command: words of the `sluice` command that goes deeper; empty: none.
        extent: number of groups, or of partitions, where no times tell that there are more of them.
            An acknowledgement counts up to the extent that it names.
        since_ms, ended_ms: Unix time in milliseconds.
        who, why, until_ms: of the acknowledgement or silence.
    """

    state: AlertState
    since_ms: int
    ended_ms: int | None = None
    who: str | None = None
    why: str | None = None
    until_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertList:
    """Alerts, worst first.

    Args:
        problems: of servers that could not be asked; their alerts are not known.
    """

    alerts: tuple[Alert, ...]
    problems: tuple[str, ...] = ()
    schema_version: int = 2
