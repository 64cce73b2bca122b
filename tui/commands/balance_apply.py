"""sluice balance apply: orders the placement of a stream, then waits for the balancer's answer."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tui.commands.balance_plan import MOVES_SHOWN_MAX, full_option
from tui.commands.command_context import CommandContext, on_one_route
from tui.commands.exit_codes import ExitCode
from tui.commands.options import output_option, timeout_option, typed_config_option
from tui.commands.output import emit
from tui.commands.progress import progress_option, steps_display
from tui.commands.text import joined, table
from tui.pages.balance_actions import stream_label
from tui.pages.figures import NONE

if TYPE_CHECKING:
    from balancer.decision.placement import Scope
    from replicator.config.topology import Route
    from replicator.orders.order_follower import OrderFollower
    from replicator.orders.order_log import OrderLog
    from replicator.orders.order_records import ByHand
    from tui.facts.manual_placement_result import ManualPlacement
    from tui.facts.watch.balance_client import BalanceClient
    from tui.orders.region_orders import RegionOrders

SCHEMA_VERSION = 1


@click.command()
@on_one_route
@click.option(
    "--stream", default="default", show_default=True, metavar="STREAM", help="Stream to place."
)
@full_option
@click.option(
    "--generation",
    type=click.IntRange(min=0),
    required=True,
    help="Generation of the placement that the plan is based on, as printed by `sluice balance "
    "plan`.",
)
@timeout_option(30.0, "Seconds to wait for the balancer's answer.", name="answer_seconds")
@progress_option
@output_option
def apply(
    context: CommandContext,
    stream: str,
    full: bool,
    generation: int,
    answer_seconds: float,
    progress: str | None,
) -> int:
    """Have the balancer place a stream now, as `plan` has shown it.

    The balancer makes the plan anew, from what it knows then. Exits with 6, and nothing moves, when
    the current placement has another generation; with 7 when no balancer has answered: the order
    stays.
    """
    from balancer.decision.placement import Scope
    from tui.facts.manual_placement_result import Result

    display = steps_display(progress)
    placement = place_stream(
        context.orders,
        context.route,
        stream,
        scope=Scope.FULL if full else Scope.STICKY,
        generation=generation,
        timeout_seconds=answer_seconds,
        progress=lambda left, text: display.show("balance", left, text, time.monotonic()),
    )
    config = typed_config_option()
    emit(
        context.output,
        placement_values(placement),
        lambda: placement_text(placement, config),
    )
    return {
        Result.DONE: ExitCode.DONE,
        Result.STALE: ExitCode.PLAN_STALE,
        Result.UNKNOWN: ExitCode.RESULT_UNKNOWN,
    }[placement.result]


class AnswerListener:
    """Listener for the answer to one order; the thread that tails the topic calls `hear`.

    Args:
        before: order log that was read before the order was written.
    """

    def __init__(self, order: ByHand, before: OrderLog) -> None:
        from replicator.orders.order_records import key_of

        # Until the topic is read, the log holds what it held before, and the order, which replaced
        # an earlier unanswered order for the same stream.
        self.order_log = before.after([(key_of(order), order)])
        self.answered = threading.Event()
        self._order = order

    def hear(self, order_log: OrderLog) -> None:
        self.order_log = order_log
        if order_log.answer(self._order.route, self._order.stream, self._order.id):
            self.answered.set()


def place_stream(
    orders: RegionOrders,
    route: Route,
    stream: str,
    *,
    scope: Scope,
    generation: int,
    timeout_seconds: float,
    progress: Callable[[int, str], object],
) -> ManualPlacement:
    """Has the balancer place a stream now, unless another generation than this one is placed.

    Args:
        progress: called with what is left, and each step in words.

    Raises:
        UnknownStream: the route has no such stream.
        AdminError: the order was not written.
        WriteUnknown: the order may be written.
    """
    from replicator.orders.order_follower import OrderFollower
    from replicator.orders.order_records import ByHand
    from tui.facts.streams import find_stream

    before, now_ms = orders.order_log, orders.now_ms
    find_stream(before, route.key, stream, now_ms)
    orders.warn_unless_acting(f"start `sluice balance --region {orders.region}`")
    order = ByHand(
        route=route.key,
        at_ms=now_ms,
        who=orders.who,
        why="sluice balance apply",
        id=uuid.uuid4().hex,
        stream=stream,
        scope=scope,
        generation=generation,
    )
    return order_placement(orders.client, order, before, timeout_seconds, progress, OrderFollower)


def order_placement(
    client: BalanceClient,
    order: ByHand,
    before: OrderLog,
    timeout_seconds: float,
    progress: Callable[[int, str], object],
    make_follower: type[OrderFollower],
) -> ManualPlacement:
    """Writes a manual order and returns its result, after `timeout_seconds` at the latest.

    An order whose generation is already superseded is not written.

    Args:
        before: order log that was read before the order was made.

    Raises:
        AdminError: the order was not written.
        WriteUnknown: the order may be written.
    """
    from tui.facts.manual_placement_result import ManualPlacement

    placed = before.placed(order.route, order.stream)
    if order.generation != (placed.generation if placed else 0):
        lease = before.lease(client.region)
        return ManualPlacement(order, None, placed, None, lease, order.at_ms, is_written=False)
    client.write([order])
    progress(1, f"ordered; waits at most {timeout_seconds:g} s for the balancer")
    listener = AnswerListener(order, before)
    follower = make_follower(client.name, client.cluster, listener.hear)
    follower.start()
    try:
        is_answered = listener.answered.wait(timeout_seconds)
    finally:
        follower.stop()
    if is_answered:
        progress(0, "the balancer has answered")
    now_ms, after = time.time_ns() // 1_000_000, listener.order_log
    newest = after.by_hand(order.route, order.stream, now_ms)
    return ManualPlacement(
        order,
        after.answer(order.route, order.stream, order.id),
        placed,
        after.placed(order.route, order.stream),
        after.lease(client.region),
        now_ms,
        replaced_by=newest if newest and newest.id != order.id else None,
    )


def placement_values(placement: ManualPlacement) -> dict[str, Any]:
    """Returns the result as plain values for JSON and YAML."""
    order, answer = placement.order, placement.answer
    is_done = placement.result == "done"
    return {
        "schema_version": SCHEMA_VERSION,
        "route": _route_name(placement),
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


def placement_text(placement: ManualPlacement, config: str) -> str:
    """Formats the result for people.

    Args:
        config: --config option for the command that is suggested next; may be empty.
    """
    name = stream_label(_route_name(placement), placement.order.stream)
    if placement.result != "done":
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
    from tui.facts.balance_readings import is_acting

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
    route = _route_name(placement)
    if placement.result == "stale":
        return f"Nothing was changed. Plan again: sluice balance plan --route '{route}'{config}"
    return f"Look: sluice balance show --route '{route}'{config}"


def _route_name(placement: ManualPlacement) -> str:
    from tui.facts.streams import route_name

    return route_name(placement.order.route)
