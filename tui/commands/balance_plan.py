"""sluice balance plan: moves of a plan made now, with their reasons."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tui.commands.balance_partitions import read_previews
from tui.commands.command_context import CommandContext, on_routes
from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    answer_options,
    stream_option,
    typed_config_option,
)
from tui.commands.output import emit
from tui.commands.text import decimals, joined, table
from tui.facts.balancing import reasons
from tui.pages.balance_actions import stream_label
from tui.pages.figures import NONE

if TYPE_CHECKING:
    from balancer.decision.placement import Scope
    from replicator.orders.round_status import MoveStatus
    from replicator.placement.rounds.preview import Preview

MOVES_SHOWN_MAX = 40
SCHEMA_VERSION = 1

full_option = click.option(
    "--full", is_flag=True, help="Place all partitions anew. Default: move as few as possible."
)


@click.command()
@on_routes
@stream_option
@full_option
@click.option("--moves", is_flag=True, help="List all moves, however many there are.")
@answer_options
def plan(context: CommandContext, stream: str | None, full: bool, moves: bool) -> int:
    """Show the moves of a plan made now, with their reasons. Changes nothing.

    The plan is made from what driver and balancer publish in Redis. Exits with 4 when no driver
    publishes its plan.
    """
    from balancer.decision.placement import Scope

    scope = Scope.FULL if full else Scope.STICKY
    previews = read_previews(
        context.appliance,
        context.region,
        context.routes,
        context.timeout_seconds,
        stream=stream,
        scope=scope,
    )
    planned = Planned(context.region, scope, previews, typed_config_option())
    emit(context.output, plan_values(planned), lambda: plan_text(planned, all_moves=moves))
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class Planned:
    """Dry run of a manual plan, for the selected streams of a region.

    Args:
        config: --config option for the apply command; may be empty.
    """

    region: str
    scope: Scope
    previews: tuple[Preview, ...]
    config: str = ""


def plan_values(planned: Planned) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": planned.region,
        "scope": planned.scope.value,
        "streams": [_stream_values(planned, each) for each in planned.previews],
    }


def plan_text(planned: Planned, *, all_moves: bool = False) -> str:
    """Formats the plan for people: stream by stream, then the commands that apply it.

    At most MOVES_SHOWN_MAX moves of a stream are listed, unless `all_moves`.
    """
    parts = [
        _stream_text(each, None if all_moves else MOVES_SHOWN_MAX) for each in planned.previews
    ]
    return "\n\n".join([*parts, _how_to_apply(planned)])


def apply_command(planned: Planned, preview: Preview) -> str | None:
    """Returns the command that applies a preview; None when there is nothing to do."""
    if preview.outcome.placement is None:
        return None
    arguments = ["sluice", "balance", "apply", "--route", preview.route.name]
    if preview.stream != "default":
        arguments += ["--stream", preview.stream]
    if planned.scope.value == "full":
        arguments.append("--full")
    arguments += ["--generation", str(preview.generation)]
    return shlex.join(arguments) + planned.config


def _stream_values(planned: Planned, preview: Preview) -> dict[str, Any]:
    status = preview.outcome.status
    placement = preview.outcome.placement
    return {
        "route": preview.route.name,
        "stream": preview.stream,
        "generation": preview.generation,
        "moves_count": len(placement.moves) if placement else 0,
        "moves": [each.model_dump() for each in _moves(preview)],
        "carriers": [
            {"carrier": carrier, "load_before": before, "load_after": after}
            for carrier, before, after in _loads(preview)
        ],
        "triggers": list(status.triggers),
        "bound": status.bound,
        "carriers_needed": status.needed,
        "carriers_at_least": status.at_least,
        "certificate": status.certificate,
        "measured_part": status.measured_part,
        "alerts": [each.model_dump() for each in status.alerts],
        "held": status.held,
        "degraded": status.degraded,
        "apply": apply_command(planned, preview),
    }


def _moves(preview: Preview) -> tuple[MoveStatus, ...]:
    """Returns the moves of a preview; of very many, RoundStatus keeps only the first."""
    return preview.outcome.status.moves if preview.outcome.placement else ()


def _loads(preview: Preview) -> list[tuple[int, float | None, float | None]]:
    """Returns for each carrier its number and its predicted load before and after.

    A load is None when it is not known, or when the carrier does not exist at that time.
    """
    outcome = preview.outcome
    if not outcome.estimates.shares or outcome.status.degraded:
        return [(carrier, None, None) for carrier in sorted(preview.before)]
    after = outcome.status.loads
    carriers = sorted({*preview.before, *after})
    return [(each, preview.before.get(each), after.get(each)) for each in carriers]


def _stream_text(preview: Preview, shown_max: int | None) -> str:
    name = stream_label(preview.route.name, preview.stream)
    status, placement = preview.outcome.status, preview.outcome.placement
    basis = f"upon generation {preview.generation}"
    if not preview.generation:
        basis = "the first placement" if placement else "nothing is placed yet"
    count = len(placement.moves) if placement else 0
    verdict = f"{count} move{'' if count == 1 else 's'}" if placement else "nothing to move"
    known = f"{status.measured_part:.0%} of its traffic measured"
    lines = [f"{name}: {verdict}, {basis}; {status.partitions} partitions, {known}"]
    lines += [f"  {text}" for text in reasons(status.held, status.degraded)]
    lines += [f"  {alert.name}: {alert.text}" for alert in status.alerts]
    if placement:
        lines.append(_limits(preview))
    parts = [joined(lines), _loads_table(preview)]
    if moves := _moves(preview):
        parts.append(_moves_table(moves, count, shown_max))
    return "\n\n".join(part for part in parts if part)


def _limits(preview: Preview) -> str:
    status = preview.outcome.status
    placement = preview.outcome.placement
    which = " with hot partitions alone" if placement and placement.hot else ""
    text = f"  no placement{which} has its heaviest carrier below {decimals(status.bound)}"
    if status.at_least is not None:
        text += f"; any needs {status.at_least} carriers, the loads ask for {status.needed}"
    if status.certificate:
        text += f"; none relieves its carriers with fewer than {status.certificate} moves"
    return text


def _loads_table(preview: Preview) -> str:
    rows = _loads(preview)
    if not rows or all(before is after is None for _, before, after in rows):
        return ""
    cells = [(each, _cell(before), _cell(after)) for each, before, after in rows]
    return table(("CARRIER", "LOAD NOW", "PLANNED"), cells)


def _cell(load: float | None) -> str:
    """Formats a load; a carrier that does not exist has none."""
    return decimals(load) or NONE


def _moves_table(moves: Sequence[MoveStatus], count: int, shown_max: int | None) -> str:
    rows = [
        (it.topic, it.partition, NONE if it.source is None else it.source, it.target, it.reason)
        for it in moves[:shown_max]
    ]
    text = table(("TOPIC", "PARTITION", "FROM", "TO", "REASON"), rows)
    if len(rows) < count:
        reasons = Counter(it.reason for it in moves)
        summary = ", ".join(f"{number} {reason}" for reason, number in reasons.most_common())
        of_first = "" if len(moves) == count else f" of the first {len(moves)}"
        text += f"\n{len(rows)} of {count} moves{of_first}: {summary}; --moves shows more"
    return text


def _how_to_apply(planned: Planned) -> str:
    commands = [apply_command(planned, each) for each in planned.previews]
    lines = [f"  {command}" for command in commands if command]
    if not lines:
        return "Nothing was changed, and there is nothing to do."
    return "\n".join(["Nothing was changed. To do it:", *lines])
