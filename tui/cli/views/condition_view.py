"""Text of conditions: reasons why something is not carried or loaded."""

from __future__ import annotations

from datetime import UTC, datetime

from replicator.notices.condition import Condition


def condition_line(condition: Condition) -> str:
    """Returns a condition as a line: what it is about, since when it holds, who says so."""
    topic, partition = condition.topic, condition.partition
    place = topic if partition is None else f"{topic}-{partition}"
    about = " ".join(filter(None, (condition.route, condition.feed, condition.cluster, place)))
    since = datetime.fromtimestamp(condition.since_ms / 1000, UTC).isoformat(timespec="seconds")
    told = ": ".join(filter(None, (condition.kind, about, condition.text)))
    return f"{told} (since {since}, says {condition.who})"
