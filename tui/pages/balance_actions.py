"""Actions on a stream of a route: plan, apply, and the orders with their ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tui.pages.page import Action, Field

if TYPE_CHECKING:
    from tui.facts.balancing import BalanceView, OrderView, StreamView

NO_STREAM = "no stream under the cursor"
FULL = Field(
    "full",
    "--full",
    "no",
    is_required=False,
    choices=("no", "yes"),
    help="place all partitions anew, instead of moving as few as possible",
)
REASON = Field("reason", "--reason", help="recorded, and shown to other operators")
LENGTH = Field("for", "--for", is_required=False, help="such as 30m or 2h; empty: until taken back")


def stream_label(route: str, stream: str) -> str:
    """Returns west>east for a default stream, west>east/money for a named one."""
    return route if stream == "default" else f"{route}/{stream}"


def stream_actions(
    balance: BalanceView | None,
    stream: StreamView | None,
    *,
    order: OrderView | None = None,
    partition: tuple[str, int] | None = None,
    carrier: int | None = None,
) -> tuple[Action, ...]:
    """Returns the actions on a stream.

    Args:
        order: under the cursor; the actions that end orders then end this one.
        partition, carrier: under the cursor; forms begin with them.
    """
    route = stream.route if stream else ""
    label = stream_label(route, stream.stream) if stream else ""
    of_stream = ("--route", route, "--stream", stream.stream if stream else "")
    of_route = ("--route", route)
    missing = None if stream else NO_STREAM
    topic, number = partition or ("", "")
    place = (Field("topic", "", topic), Field("partition", "", str(number)))
    on = "" if carrier is None else str(carrier)
    changing = partial(Action, confirmation=label or NO_STREAM, why_off=missing)
    return (
        Action("P", "plan", ("balance", "plan", *of_stream), (FULL,), why_off=missing),
        _apply(balance, stream, of_stream),
        changing("H", "hold", ("balance", "pause", *of_stream), (REASON, LENGTH)),
        _ended(order)
        or changing(
            "R",
            "resume",
            ("balance", "resume", *of_stream),
            why_off=missing or _why_nothing_held(balance, stream, label),
        ),
        changing(
            "D",
            "pin",
            ("balance", "pin", *of_route),
            (*place, Field("carrier", "--carrier", on), REASON, LENGTH),
        ),
        _unpinned(order) or changing("U", "unpin", ("balance", "unpin", *of_route), place),
        changing(
            "X",
            "exclude",
            ("balance", "exclude", *of_route),
            (Field("carrier", "", on), REASON, LENGTH),
        ),
    )


def _apply(
    balance: BalanceView | None, stream: StreamView | None, of_stream: tuple[str, ...]
) -> Action:
    generation = stream.generation if stream else None
    why_off = None
    if stream is None:
        why_off = NO_STREAM
    elif generation is None:
        why_off = "the generation of its placement is not known"
    elif balance is not None and balance.is_acting is False:
        why_off = f"no balancer acts: start `sluice balance --region {balance.region}`"
    return Action(
        "A",
        "apply",
        ("balance", "apply", *of_stream, "--generation", str(generation or 0)),
        (FULL,),
        confirmation=f"generation {generation or 0}",
        why_off=why_off,
    )


def _ended(order: OrderView | None) -> Action | None:
    """Returns the action that ends the order under the cursor; None without one."""
    if order is None:
        return None
    why_off = None if order.undo else "it is carried out once and cannot be taken back"
    words = order.undo or ("balance", "show")
    return Action("R", "end order", words, confirmation=subject_of(order), why_off=why_off)


def _why_nothing_held(
    balance: BalanceView | None, stream: StreamView | None, label: str
) -> str | None:
    """Returns why there is nothing to resume; None where there is, or orders are not known."""
    if stream is not None and is_held(balance, stream) is False:
        return f"nothing holds the partitions of {label}"
    return None


def _unpinned(order: OrderView | None) -> Action | None:
    """Returns the action that ends the pin under the cursor; None without one."""
    if order is None or order.kind != "pin":
        return None
    return Action("U", "unpin", order.undo, confirmation=subject_of(order))


def is_held(balance: BalanceView | None, stream: StreamView) -> bool | None:
    """Returns True when an order keeps the stream's partitions; None when orders are not known."""
    if balance is None or balance.orders is None:
        return None
    return any(
        each.kind == "hold" and (each.route, each.stream) == (stream.route, stream.stream)
        for each in balance.orders
    )


def subject_of(order: OrderView) -> str:
    """Returns the text that confirms the end of an order: the subject of the command's words.

    It is orders-17 for a pin, 3 for an excluded carrier, the stream for a hold.
    """
    words = order.undo[2:]
    subject = words[: words.index("--route")] if "--route" in words else words
    return "-".join(subject) or stream_label(order.route, order.stream or "default")
