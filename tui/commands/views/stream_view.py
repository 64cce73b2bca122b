"""Output of `sluice stream list`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tui.commands.text import NONE, instant, table
from tui.commands.views.order_view import SCHEMA_VERSION
from tui.facts.streams import StreamSummary, limits_of

TOPICS_SHOWN_MAX = 3
HEADS = ("ROUTE", "STREAM", "TOPICS", "MATCHING", "PARTITIONS", "CARRIERS", "LIMITS", "WHO", "WHY")


def as_values(region: str, streams: Sequence[StreamSummary]) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": region,
        "streams": [
            {
                "route": each.route.name,
                "stream": each.name,
                "topics": list(each.stream.topics) if each.stream else None,
                "is_paused": each.stream is not None and each.stream.is_paused,
                "first_carrier": each.stream.first_carrier if each.stream else 0,
                "carriers": list(each.carriers),
                "limits": limits_of(each.stream) if each.stream else {},
                "matching": None if each.partitions is None else dict(each.partitions),
                "who": each.stream.who if each.stream else None,
                "why": each.stream.why if each.stream else None,
                "at": instant(each.stream.at_ms) if each.stream else None,
            }
            for each in streams
        ],
    }


def as_text(streams: Sequence[StreamSummary]) -> str:
    """Formats the streams as a table for people."""
    return table(HEADS, [_row(each) for each in streams])


def matching_text(partitions: Mapping[str, int]) -> str:
    """Returns the first TOPICS_SHOWN_MAX topics by name, and the number of further ones."""
    names = sorted(partitions)
    more = len(names) - TOPICS_SHOWN_MAX
    shown = " ".join(names[:TOPICS_SHOWN_MAX]) or NONE
    return f"{shown} and {more} more" if more > 0 else shown


def _row(summary: StreamSummary) -> tuple[Any, ...]:
    known, stream = summary.partitions, summary.stream
    matching = None if known is None else matching_text(known)
    count = None if known is None else sum(known.values())
    carriers = _ranges(summary.carriers) or NONE
    if stream is None:
        return (
            summary.route.name,
            summary.name,
            "all others",
            matching,
            count,
            carriers,
            NONE,
            NONE,
            NONE,
        )
    return (
        summary.route.name,
        f"{summary.name} (paused)" if stream.is_paused else summary.name,
        " ".join(stream.topics),
        matching,
        count,
        carriers,
        " ".join(f"{name}={it:g}" for name, it in limits_of(stream).items()) or NONE,
        stream.who,
        stream.why,
    )


def _ranges(numbers: tuple[int, ...]) -> str:
    """Formats 0, 1, 2 and 5 as "0-2 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
