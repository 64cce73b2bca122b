"""Page of one stream: alerts with advice, carriers as load bars, orders, moves of the last plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from tui.facts.counted import counted
from tui.facts.moments import date_text
from tui.pages.ages import age_text
from tui.pages.balance_actions import stream_actions, stream_label
from tui.pages.figures import UNKNOWN, number_cell, text_cell
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section
from tui.pages.rows import LazyRows
from tui.steering.steered_command import as_typed

if TYPE_CHECKING:
    from tui.facts.balancing import (
        BalanceAlert,
        BalanceView,
        CarrierLoad,
        MoveView,
        OrderView,
        StreamView,
    )
    from tui.facts.snapshot import Snapshot

BAR_WIDTH = 30
OVERLOAD = 1.0
ALERT_COLUMNS = (
    Column("ALERT", 14, "kind"),
    Column("FOUND, AND ADVICE", 40, "what the balancer found, and what to do", grows=True),
)
CARRIER_COLUMNS = (
    Column("CARRIER", 7, "number", is_right=True),
    Column("HOST", 12, "host on which it runs, by its reports", priority=2),
    Column("PARTS", 6, "partitions", is_right=True, priority=1),
    Column("LOAD", 5, "predicted part of its time", is_right=True),
    Column("BAR", BAR_WIDTH, "of its time; > is more than all of it", grows=True),
)
ORDER_COLUMNS = (
    Column("ORDER", 22, "kind and subject", grows=True),
    Column("WHO", 14, "operator", priority=1),
    Column("SINCE", 8, "age of the order", is_right=True, priority=3),
    Column("ENDS", 11, "time until it ends by itself; -: until it is ended", is_right=True),
    Column("WHY", 16, "reason", priority=2),
)
MOVE_COLUMNS = (
    Column("TOPIC", 14, "topic", grows=True),
    Column("P", 5, "partition", is_right=True),
    Column("FROM", 5, "carrier before; new: it had none", is_right=True),
    Column("TO", 5, "carrier since the last placement", is_right=True),
    Column("REASON", 30, "why it was moved"),
)


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Stream of a route: alerts, carriers, orders, moves."""

    route: str
    stream: str

    @property
    def name(self) -> str:
        return "balance"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the stream, with its generation and numbers."""
        label = f"balance > {stream_label(self.route, self.stream)}"
        stream = self._found(snapshot)[1]
        if stream is None:
            return label
        generation = UNKNOWN if stream.generation is None else str(stream.generation)
        parts = UNKNOWN if stream.partitions is None else str(stream.partitions)
        return f"{label}   generation {generation}   {parts} partitions"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of alerts, carriers, orders and moves."""
        balance, stream = self._found(snapshot)
        if balance is None or stream is None:
            return (Section("carriers", CARRIER_COLUMNS, (), empty="this stream is not known"),)
        alerts = Section(
            "alerts",
            ALERT_COLUMNS,
            [alert_row(at, each) for at, each in enumerate(stream.alerts)],
            rows_max=4,
        )
        return (
            *([alerts] if stream.alerts else []),
            Section(
                "carriers",
                CARRIER_COLUMNS,
                carrier_rows(stream.carriers or ()),
                heading=heading_of(stream),
                empty="carriers are not known" if stream.carriers is None else "no carrier",
                sort=("-LOAD", "CARRIER"),
                rows_max=8,
            ),
            Section(
                "orders",
                ORDER_COLUMNS,
                [order_row(each, now) for each in self._orders(balance)],
                heading="ORDERS",
                empty="orders are not known" if balance.orders is None else "no order in force",
                rows_max=5,
            ),
            Section(
                "moves",
                MOVE_COLUMNS,
                [move_row(each) for each in stream.moves],
                heading=moves_heading(stream, now),
                empty="nothing was moved",
            ),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns none."""
        return None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the actions on the stream; forms begin with what is under the cursor."""
        balance, stream = self._found(snapshot)
        key = "" if row is None else row.key
        order = next((each for each in self._orders(balance) if order_key(each) == key), None)
        move = None
        if stream is not None and key.startswith("move "):
            move = next((each for each in stream.moves if move_key(each) == key), None)
        carrier = int(key.removeprefix("carrier ")) if key.startswith("carrier ") else None
        return stream_actions(
            balance,
            stream,
            order=order,
            partition=(move.topic, move.partition) if move else None,
            carrier=move.source if move else carrier,
        )

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the command that ends the order under the cursor, or why nothing moves."""
        balance, stream = self._found(snapshot)
        key = None if row is None else row.key
        order = next((each for each in self._orders(balance) if order_key(each) == key), None)
        if order is not None:
            end = f"ended by: {as_typed(order.undo)}"
            return (end if order.undo else "it is carried out once and cannot be taken back",)
        if stream is not None and stream.held:
            return (f"nothing moves that need not: {stream.held}",)
        return ()

    def focus(self) -> Focus:
        """Returns none."""
        return NO_FOCUS

    def _found(self, snapshot: Snapshot) -> tuple[BalanceView | None, StreamView | None]:
        for balance in snapshot.balance:
            for stream in balance.streams:
                if (stream.route, stream.stream) == (self.route, self.stream):
                    return balance, stream
        return None, None

    def _orders(self, balance: BalanceView | None) -> Iterable[OrderView]:
        """Returns the orders about the route, but not those about its other streams."""
        orders = balance.orders if balance else None
        return [
            each
            for each in orders or ()
            if each.route == self.route and each.stream in (None, self.stream)
        ]


def alert_row(at: int, alert: BalanceAlert) -> Row:
    """Returns the row of an alert; the whole text is its why."""
    return Row(
        key=f"alert {at}",
        cells=(text_cell(alert.name, "bad"), text_cell(alert.text)),
        is_fault=True,
        why=alert.text,
    )


def carrier_rows(carriers: Sequence[CarrierLoad]) -> LazyRows[CarrierLoad]:
    """Returns the rows of carriers; each is made when it is drawn."""
    return LazyRows(
        items=carriers,
        make=carrier_row,
        key=carrier_key,
        sorts={
            "CARRIER": lambda each: each.number,
            "HOST": lambda each: each.host or "",
            "PARTS": lambda each: each.partitions,
            "LOAD": lambda each: each.load,
            "BAR": lambda each: each.load,
        },
        is_fault=is_overloaded,
        text=lambda each: f"carrier {each.number} {each.host or ''}",
    )


def carrier_key(carrier: CarrierLoad) -> str:
    """Returns the key of a carrier's row."""
    return f"carrier {carrier.number}"


def carrier_row(carrier: CarrierLoad) -> Row:
    """Returns the row of a carrier."""
    load = carrier.load
    tone = "bad" if is_overloaded(carrier) else ""
    return Row(
        key=carrier_key(carrier),
        cells=(
            Cell(str(carrier.number), sort=carrier.number),
            text_cell(carrier.host or UNKNOWN),
            Cell(str(carrier.partitions), sort=carrier.partitions),
            number_cell(UNKNOWN if load is None else f"{load:.2f}", load, tone),
            Cell(bar(load), tone, load),
        ),
        is_fault=is_overloaded(carrier),
        why="more than all of its time" if is_overloaded(carrier) else "",
    )


def is_overloaded(carrier: CarrierLoad) -> bool:
    """Returns True for a carrier that has more to carry than it can."""
    return carrier.load is not None and carrier.load > OVERLOAD


def bar(load: float | None) -> str:
    """Returns a load as a bar; ">" at its end stands for more than all of a carrier's time."""
    if load is None or isnan(load):
        return ""
    size = BAR_WIDTH - 1
    filled = round(min(1.0, max(0.0, load)) * size)
    return "█" * filled + "·" * (size - filled) + (">" if load > OVERLOAD else "")


def order_key(order: OrderView) -> str:
    """Returns the key of an order's row."""
    return f"order {order.kind} {order.what}"


def order_row(order: OrderView, now: float) -> Row:
    """Returns the row of an order."""
    age = None if order.at_ms is None else now - order.at_ms / 1000
    left = None if order.until_ms is None else order.until_ms / 1000 - now
    return Row(
        key=order_key(order),
        cells=(
            text_cell(order.what),
            text_cell(order.who),
            number_cell(UNKNOWN if age is None else age_text(age), age),
            Cell(
                "-" if left is None else age_text(left), sort=float("inf") if left is None else left
            ),
            text_cell(order.why),
        ),
        why=order.why,
    )


def move_key(move: MoveView) -> str:
    """Returns the key of a move's row."""
    return f"move {move.topic}-{move.partition}"


def move_row(move: MoveView) -> Row:
    """Returns the row of a move."""
    source = (
        Cell("new", sort=-1) if move.source is None else number_cell(str(move.source), move.source)
    )
    return Row(
        key=move_key(move),
        cells=(
            text_cell(move.topic),
            Cell(str(move.partition), sort=move.partition),
            source,
            Cell(str(move.target), sort=move.target),
            text_cell(move.reason),
        ),
        why=move.reason,
        topic=move.topic,
    )


def heading_of(stream: StreamView) -> str:
    """Returns heaviest load, bound, ratio and certificate."""
    if stream.heaviest is None or stream.bound is None:
        return f"loads are not known{f': {stream.degraded}' if stream.degraded else ''}"
    certificate = UNKNOWN if stream.certificate is None else str(stream.certificate)
    needed = "" if stream.needed is None else f"   {counted(stream.needed, 'carrier')} needed"
    return (
        f"heaviest {stream.heaviest:.2f}   bound {stream.bound:.2f}   ratio {stream.ratio or 0:.2f}"
        f"   certificate {certificate}{needed}"
    )


def moves_heading(stream: StreamView, now: float) -> str:
    """Returns when the placement was made, why, and with how many moves."""
    if stream.placed_at_ms is None:
        return "MOVES"
    age = age_text(now - stream.placed_at_ms / 1000)
    when = f"{date_text(stream.placed_at_ms / 1000)}Z, {age} ago"
    triggers = f"   because {', '.join(stream.triggers)}" if stream.triggers else ""
    return f"MOVES {stream.moves_count} at {when}{triggers}"
