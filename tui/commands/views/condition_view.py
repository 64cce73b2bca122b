"""Text of conditions: reasons why something is not carried or loaded."""

from __future__ import annotations

from replicator.notices.condition import Condition
from tui.facts.moments import iso_text


def condition_line(condition: Condition) -> str:
    """Returns a condition as a line: what it is about, since when it holds, who says so."""
    topic, partition = condition.topic, condition.partition
    place = topic if partition is None else f"{topic}-{partition}"
    about = " ".join(filter(None, (condition.route, condition.feed, condition.cluster, place)))
    told = ": ".join(filter(None, (condition.kind, about, condition.text)))
    return f"{told} (since {iso_text(condition.since_ms)}, says {condition.who})"
