"""Output of `sluice balance apply`: the result of a manual order, for people and programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from replicator.orders.order_records import Answer, ByHand, Lease, Placed
from tui.state.balance_status import acts
from tui.cli.views.balance_view import stream_label
from tui.cli.exit_codes import ExitCode
from tui.cli.views.order_view import SCHEMA_VERSION, route_name
from tui.cli.output import joined, table

MOVES_SHOWN_MAX = 40
NONE = "-"
Moved = tuple[str, int, int | None, int]
"""Topic, partition, carrier before (None: there was none), carrier after."""


@dataclass(frozen=True, slots=True)
class Applied:
    """Result of a manual order.

    Args:
        answer: the balancer's answer; None when none came in time.
        before, after: the stream's placement when the order was made, and at the end of the wait.
        lease: lease of the balancer that acts or acted last.
        now_ms: time of the result, in Unix milliseconds.
        other: later manual order for the stream, which replaced this one.
        is_written: False when the order was stale already and therefore not written.
    """

    order: ByHand
    answer: Answer | None
    before: Placed | None
    after: Placed | None
    lease: Lease | None
    now_ms: int
    other: ByHand | None = None
    is_written: bool = True

    @property
    def exit_code(self) -> ExitCode:
        if self.answer is None:
            return ExitCode.RESULT_UNKNOWN if self.is_written else ExitCode.PLAN_STALE
        return ExitCode.PLAN_STALE if self.answer.refused else ExitCode.DONE

    @property
    def moved(self) -> list[Moved]:
        """Partitions of the placement `after` whose carrier was another one before, or none."""
        was = self.before.where if self.before else {}
        now = self.after.where if self.after else {}
        return [
            (each.topic, each.partition, was.get(each), carrier)
            for each, carrier in sorted(now.items())
            if was.get(each) != carrier
        ]

    @property
    def standing(self) -> int:
        """Generation of the newest known placement of the stream; 0 when there is none."""
        placed = self.after or self.before
        return placed.generation if placed else 0


def as_values(applied: Applied) -> dict[str, Any]:
    """Returns the result as plain values for JSON and YAML."""
    order, answer = applied.order, applied.answer
    is_done = applied.exit_code == ExitCode.DONE
    return {
        "schema_version": SCHEMA_VERSION,
        "route": route_name(order.route),
        "stream": order.stream,
        "scope": order.scope.value,
        "order": order.id if applied.is_written else None,
        "result": {
            ExitCode.DONE: "done",
            ExitCode.PLAN_STALE: "stale",
            ExitCode.RESULT_UNKNOWN: "unknown",
        }[applied.exit_code],
        "reason": None if is_done else _why_not(applied),
        "generation_asked": order.generation,
        "generation": answer.generation if answer else applied.standing,
        "moves_count": answer.moves if answer else None,
        "moves": [
            dict(zip(("topic", "partition", "source", "target"), it, strict=True))
            for it in (applied.moved if is_done else ())
        ],
    }


def as_text(applied: Applied, config: str) -> str:
    """Formats the result for people.

    Args:
        config: --config option for the command that is suggested next; may be empty.
    """
    name = stream_label(route_name(applied.order.route), applied.order.stream)
    if applied.exit_code != ExitCode.DONE:
        return joined([f"{name}: {_why_not(applied)}", _look(applied, config)])
    assert applied.answer is not None
    count = applied.answer.moves
    if not count:
        return f"{name}: done; nothing had to move, generation {applied.answer.generation} holds"
    rows = [
        (topic, partition, NONE if was is None else was, now)
        for topic, partition, was, now in applied.moved[:MOVES_SHOWN_MAX]
    ]
    text = f"{name}: done, {count} moves; generation {applied.answer.generation} holds"
    if rows:
        text += "\n\n" + table(("TOPIC", "PARTITION", "FROM", "TO"), rows)
    if len(rows) < len(applied.moved):
        text += f"\n{len(rows)} of {len(applied.moved)}; -o json lists all of them"
    return text


def _why_not(applied: Applied) -> str:
    asked = applied.order.generation
    if applied.answer is not None:
        return f"refused: {applied.answer.refused}"
    if not applied.is_written:
        return (
            f"not ordered: it is made upon generation {asked}, and generation {applied.standing} "
            "holds by now"
        )
    if applied.other is not None:
        return f"no answer: a later order of {applied.other.who} has taken its place"
    if acts(applied.lease, applied.now_ms) and applied.lease:
        return (
            f"no answer yet, though a balancer acts ({applied.lease.who}). The order stays, and is "
            f"followed unless generation {asked} no longer holds then"
        )
    return (
        "no answer: no balancer acts. The order stays, and the next balancer follows it unless "
        f"generation {asked} no longer holds then"
    )


def _look(applied: Applied, config: str) -> str:
    route = route_name(applied.order.route)
    if applied.exit_code == ExitCode.PLAN_STALE:
        return f"Nothing was changed. Plan again: sluice balance plan --route '{route}'{config}"
    return f"Look: sluice balance show --route '{route}'{config}"
