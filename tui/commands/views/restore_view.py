"""Output of `sluice restore`: a row for each partition, and where consumer groups go on."""

from __future__ import annotations

from typing import Any

from tui.commands.text import table
from tui.facts.restore_result import RestoreResult

HEADS = ("PARTITION", "OBJECTS", "RECORDS", "MIB", "BEGIN", "END", "RESTORED", "UP TO", "STATE")
GROUP_HEADS = ("PARTITION", "OFFSET", "GOES ON AT")
MIB = 1 << 20


def as_values(result: RestoreResult) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    request, state = result.request, result.state
    return {
        "feed": request.feed.name,
        "source": {"cluster": str(request.source), "topic": request.topic},
        "target": {
            "cluster": str(request.target),
            "topic": request.target_topic,
            "exists": state.is_there,
        },
        "partitions_of_topic": state.partitions,
        "partitions": [
            {
                "partition": plan.partition,
                "objects": len(plan.objects),
                "records_of_objects": plan.records,
                "bytes_of_objects": plan.size_bytes,
                "begin": plan.begin,
                "end": plan.end,
                "restored_records": state.entries[plan.partition].records,
                "restored_up_to": state.entries[plan.partition].position,
                "is_done": state.entries[plan.partition].is_done,
            }
            for plan in state.plans
        ],
        "doubts": [
            {
                "partition": plan.partition,
                "begin": plan.doubt.begin,
                "end": plan.doubt.end,
                "gaps": [list(gap) for gap in plan.doubt.gaps],
            }
            for plan in state.plans
            if plan.doubt
        ],
        "forgotten": [
            {"partition": plan.partition, **each._asdict()}
            for plan in state.plans
            for each in plan.forgotten
        ],
        "positions": [
            {
                "partition": each.partition,
                "source_offset": each.source_offset,
                "target_offset": each.target_offset,
            }
            for each in result.positions
        ],
    }


def as_text(result: RestoreResult) -> str:
    """Formats tables for people."""
    request, state = result.request, result.state
    there = "" if state.is_there else ", which is not there yet"
    head = (
        f"{request.source} {request.topic} -> {request.target} {request.target_topic}"
        f" ({state.partitions} partitions){there}"
    )
    rows = []
    for plan in state.plans:
        entry = state.entries[plan.partition]
        rows.append(
            (
                plan.partition,
                len(plan.objects),
                plan.records,
                f"{plan.size_bytes / MIB:.1f}",
                plan.begin,
                plan.end,
                entry.records,
                entry.position,
                "done" if entry.is_done else "open",
            )
        )
    parts = [head, table(HEADS, rows)]
    if doubts := [f"partition {it.partition}: {it.doubt}" for it in state.plans if it.doubt]:
        why = (
            "Only the bucket was asked"
            if request.is_listed
            else f"The committed offsets of {request.feed.name} are gone"
        )
        parts.append("\n".join([f"{why}: records may be missing.", *doubts]))
    forgotten = [
        f"partition {plan.partition}: {each}" for plan in state.plans for each in plan.forgotten
    ]
    if forgotten:
        why = "Objects were forgotten, as the bucket had dropped them: their records are missing."
        parts.append("\n".join([why, *forgotten]))
    if result.positions:
        positions = [
            (
                each.partition,
                each.source_offset,
                "not restored yet" if each.target_offset is None else each.target_offset,
            )
            for each in result.positions
        ]
        parts.append(table(GROUP_HEADS, positions))
    return "\n\n".join(parts)
