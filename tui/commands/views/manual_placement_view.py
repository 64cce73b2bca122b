"""Output of `sluice balance apply`: the result of a manual placement order."""

from __future__ import annotations

from typing import Any

from tui.commands.text import NONE, joined, table
from tui.commands.views.order_view import SCHEMA_VERSION
from tui.facts.balance_readings import is_acting
from tui.facts.manual_placement_result import ManualPlacement, Result
from tui.facts.streams import route_name
from tui.pages.balance_actions import stream_label

MOVES_SHOWN_MAX = 40


def as_values(placement: ManualPlacement) -> dict[str, Any]:
    """Returns the result as plain values for JSON and YAML."""
    order, answer = placement.order, placement.answer
    is_done = placement.result is Result.DONE
    return {
        "schema_version": SCHEMA_VERSION,
        "route": route_name(order.route),
        "stream": order.stream,
        "scope": order.scope.value,
        "order": order.id if placement.is_written else None,
        "result": placement.result.value,
        "reason": None if is_done else _failure(placement),
        "generation_asked": order.generation,
        "generation": answer.generation if answer else placement.newest_generation,
        "moves_count": answer.moves if answer else None,
        "moves": [
            {**it.partition._asdict(), "source": it.source, "target": it.target}
            for it in (placement.moves if is_done else ())
        ],
    }


def as_text(placement: ManualPlacement, config: str) -> str:
    """Formats the result for people.

    Args:
        config: --config option for the command that is suggested next; may be empty.
    """
    name = stream_label(route_name(placement.order.route), placement.order.stream)
    if placement.result is not Result.DONE:
        return joined([f"{name}: {_failure(placement)}", _next_step(placement, config)])
    assert placement.answer is not None
    count = placement.answer.moves
    if not count:
        return f"{name}: done; nothing had to move, generation {placement.answer.generation} holds"
    rows = [
        (*it.partition, NONE if it.source is None else it.source, it.target)
        for it in placement.moves[:MOVES_SHOWN_MAX]
    ]
    text = f"{name}: done, {count} moves; generation {placement.answer.generation} holds"
    if rows:
        text += "\n\n" + table(("TOPIC", "PARTITION", "FROM", "TO"), rows)
    if len(rows) < len(placement.moves):
        text += f"\n{len(rows)} of {len(placement.moves)}; -o json lists all of them"
    return text


def _failure(placement: ManualPlacement) -> str:
    asked = placement.order.generation
    if placement.answer is not None:
        return f"refused: {placement.answer.refused}"
    if not placement.is_written:
        return (
            f"not ordered: it is made upon generation {asked}, and generation "
            f"{placement.newest_generation} holds by now"
        )
    if placement.replaced_by is not None:
        return f"no answer: a later order of {placement.replaced_by.who} has taken its place"
    if is_acting(placement.lease, placement.now_ms) and placement.lease:
        return (
            f"no answer yet, though a balancer acts ({placement.lease.who}). The order stays, and "
            f"is followed unless generation {asked} no longer holds then"
        )
    return (
        "no answer: no balancer acts. The order stays, and the next balancer follows it unless "
        f"generation {asked} no longer holds then"
    )


def _next_step(placement: ManualPlacement, config: str) -> str:
    route = route_name(placement.order.route)
    if placement.result is Result.STALE:
        return f"Nothing was changed. Plan again: sluice balance plan --route '{route}'{config}"
    return f"Look: sluice balance show --route '{route}'{config}"
