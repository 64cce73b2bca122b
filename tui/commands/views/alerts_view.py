"""Output of `sluice alerts`: a table for people, and plain values for JSON and YAML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from replicator.notices.acknowledgement import Acknowledgement
from tui.commands.views.table import NONE, instant, joined, table
from tui.facts.alert import Alert

SCHEMA_VERSION = 1
HEADS = ("LEVEL", "STATE", "SINCE", "REGION", "KEY", "TEXT")
TIMES = ("since_ms", "ended_ms", "until_ms")


def as_values(alerts: Iterable[Alert], problems: Sequence[str]) -> dict[str, Any]:
    """Returns all alerts as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "problems": list(problems),
        "alerts": [alert_values(each) for each in alerts],
    }


def alert_values(alert: Alert) -> dict[str, Any]:
    """Returns one alert as plain values, with its times as text."""
    values = asdict(alert)
    times = {name.removesuffix("_ms"): instant(values.pop(name)) for name in TIMES}
    return {**values, **times, "level": alert.level.value, "state": alert.state.value}


def as_text(alerts: Sequence[Alert], problems: Sequence[str]) -> str:
    """Formats alerts as a table, with who acknowledged them and the problems below."""
    rows = [
        (
            each.level.value,
            each.state.value,
            instant(each.since_ms),
            each.region or NONE,
            each.key,
            each.text,
        )
        for each in alerts
    ]
    parts = [table(HEADS, rows)] if rows else ["no alert"]
    if lines := joined([*_given(alerts), *(f"problem: {text}" for text in problems)]):
        parts.append(lines)
    return "\n\n".join(parts)


def _given(alerts: Iterable[Alert]) -> Iterator[str]:
    for each in alerts:
        if each.who is not None:
            until = f" until {instant(each.until_ms)}" if each.until_ms is not None else ""
            yield f"{each.state}{until}: {each.key}: by {each.who}: {each.why}"


def acknowledgement_values(region: str, given: Acknowledgement) -> dict[str, Any]:
    """Returns an acknowledgement as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": region,
        "key": given.key,
        "who": given.who,
        "why": given.why,
        "at": instant(given.at_ms),
        "until": instant(given.until_ms),
    }


def acknowledgement_text(given: Acknowledgement) -> str:
    """Returns what was recorded, in a line."""
    if given.until_ms is None:
        return joined([f"acknowledged until it ends: {given.key}"])
    return joined([f"silenced until {instant(given.until_ms)}: {given.key}"])


def reopened_values(region: str, key: str, is_withdrawn: bool) -> dict[str, Any]:
    """Returns a reopened alert as plain values."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": region,
        "key": key,
        "reopened": is_withdrawn,
    }


def reopened_text(key: str, is_withdrawn: bool) -> str:
    """Returns what was changed, in a line."""
    if is_withdrawn:
        return joined([f"open again: {key}"])
    return joined([f"nobody had acknowledged or silenced {key}: nothing was changed"])
