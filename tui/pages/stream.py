"""Page of one stream: alerts with advice, carriers as load bars, orders, moves of the last plan."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING

from tui.facts.balancing import reasons
from tui.facts.counted import counted
from tui.facts.moments import date_text, iso_zulu_text
from tui.pages.ages import age_text
from tui.pages.balance_actions import stream_actions, stream_label
from tui.pages.figures import UNKNOWN, digits_cell, number_cell, text_cell
from tui.pages.page import Action, Cell, Column, Page, Row, Section
from tui.pages.rows import LazyRows, Shown, shown_by, sorts_by
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
STREAM_COLUMN = Column(
    "STREAM",
    14,
    "route, and the name of a stream that is not the default",
    priority=9,
    is_printed_only=True,
)
ALERT_COLUMNS = (
    Column("ALERT", 14, "kind"),
    Column("FOUND, AND ADVICE", 40, "what the balancer found, and what to do", grows=True),
    STREAM_COLUMN,
)
CARRIER_COLUMNS = (
    Column("CARRIER", 7, "number", is_right=True),
    Column("HOST", 12, "host on which it runs, by its reports", priority=2),
    Column("PARTS", 6, "partitions", is_right=True, priority=1),
    Column("LOAD", 5, "predicted part of its time", is_right=True),
    Column("BAR", BAR_WIDTH, "of its time; > is more than all of it", grows=True),
    STREAM_COLUMN,
)
ORDER_COLUMNS = (
    Column("ORDER", 22, "kind and subject", grows=True),
    Column("WHO", 14, "operator", priority=1),
    Column("SINCE", 8, "age of the order", is_right=True, priority=3),
    Column("ENDS", 11, "time until it ends by itself; -: until it is ended", is_right=True),
    Column("WHY", 16, "reason", priority=2),
    Column("ROUTE", 14, "route that it is about", priority=4, is_printed_only=True),
)
MOVE_COLUMNS = (
    Column("TOPIC", 14, "topic", grows=True),
    Column("PART", 5, "partition", is_right=True),
    Column("FROM", 5, "carrier before; new: it had none", is_right=True),
    Column("TO", 5, "carrier since the last placement", is_right=True),
    Column("REASON", 30, "why it was moved"),
)
Placed = tuple["StreamView", "CarrierLoad"]
"""Stream, and one of its carriers."""


@dataclass(frozen=True, slots=True)
class StreamPage(Page):
    """Stream of a route: alerts, carriers, orders, moves."""

    route: str
    stream: str

    name = "balance"

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
        orders = None if balance.orders is None else self._orders(balance)
        carriers = carriers_section([stream], carriers_of([stream]))
        return (
            *([alerts_section([stream])] if stream.alerts else []),
            replace(carriers, heading=heading_of(stream)),
            replace(orders_section(orders, now), heading="ORDERS"),
            Section(
                "moves",
                MOVE_COLUMNS,
                [move_row(each) for each in stream.moves],
                heading=moves_heading(stream, now),
                empty="nothing was moved",
            ),
        )

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
        return () if stream is None else tuple(reasons(stream.held, None))

    def _found(self, snapshot: Snapshot) -> tuple[BalanceView | None, StreamView | None]:
        for balance in snapshot.balance:
            for stream in balance.streams:
                if (stream.route, stream.stream) == (self.route, self.stream):
                    return balance, stream
        return None, None

    def _orders(self, balance: BalanceView | None) -> Sequence[OrderView]:
        """Returns the orders about the route, but not those about its other streams."""
        orders = balance.orders if balance else None
        return [
            each
            for each in orders or ()
            if each.route == self.route and each.stream in (None, self.stream)
        ]


def alerts_section(streams: Sequence[StreamView]) -> Section:
    """Returns the table of the alerts of the last rounds of these streams."""
    return Section(
        "alerts",
        ALERT_COLUMNS,
        [alert_row(at, each, of) for of in streams for at, each in enumerate(of.alerts)],
        empty="no alert" if any(each.at_ms for each in streams) else "alerts are not known",
        rows_max=4,
    )


def alert_row(at: int, alert: BalanceAlert, stream: StreamView) -> Row:
    """Returns the row of an alert; the whole text is its why."""
    return Row(
        key=f"alert {at}",
        cells=(text_cell(alert.name, "bad"), text_cell(alert.text), text_cell(label_of(stream))),
        is_fault=True,
        why=alert.text,
    )


def carriers_of(streams: Iterable[StreamView]) -> list[Placed]:
    """Returns the carriers of the streams that are known."""
    return [(stream, each) for stream in streams for each in stream.carriers or ()]


def carriers_section(streams: Sequence[StreamView], carriers: Sequence[Placed]) -> Section:
    """Returns the table of carriers, each with its stream; each row is made when it is drawn.

    Args:
        streams: whose carriers these are.
    """
    is_known = any(each.carriers is not None for each in streams)
    rows = LazyRows(
        items=carriers,
        make=carrier_row,
        key=lambda each: carrier_key(each[1]),
        sorts=sorts_by(CARRIERS_SHOWN),
        is_fault=lambda each: is_overloaded(each[1]),
        text=lambda each: f"carrier {each[1].number} {each[1].host or ''}",
    )
    return Section(
        "carriers",
        CARRIER_COLUMNS,
        rows,
        empty="no carrier" if is_known else "carriers are not known",
        sort=("-LOAD", "CARRIER"),
        rows_max=8,
    )


def carrier_key(carrier: CarrierLoad) -> str:
    """Returns the key of a carrier's row."""
    return f"carrier {carrier.number}"


def carrier_row(placed: Placed) -> Row:
    """Returns the row of a carrier of a stream."""
    _, carrier = placed
    return Row(
        key=carrier_key(carrier),
        cells=tuple(CARRIERS_SHOWN[column.title].cell(placed) for column in CARRIER_COLUMNS),
        is_fault=is_overloaded(carrier),
        why="more than all of its time" if is_overloaded(carrier) else "",
    )


def load_cell(load: float | None, tone: str = "") -> Cell:
    """Returns the cell of a load, or of a ratio of loads: 0.62; three decimals in full."""
    if load is None:
        return number_cell(UNKNOWN, None)
    return Cell(f"{load:.2f}", tone, load, f"{load:.3f}")


def label_of(stream: StreamView) -> str:
    """Returns west>east for a default stream, west>east/money for a named one."""
    return stream_label(stream.route, stream.stream)


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


def orders_section(orders: Sequence[OrderView] | None, now: float) -> Section:
    """Returns the table of orders; of None it says that they are not known."""
    return Section(
        "orders",
        ORDER_COLUMNS,
        [order_row(each, now) for each in orders or ()],
        empty="orders are not known" if orders is None else "no order in force",
        rows_max=5,
    )


def order_row(order: OrderView, now: float) -> Row:
    """Returns the row of an order; in full, its times are instants and its end a command."""
    age = None if order.at_ms is None else now - order.at_ms / 1000
    since = Cell(UNKNOWN, "warn")
    if age is not None and order.at_ms is not None:
        since = Cell(age_text(age), sort=age, full=iso_zulu_text(order.at_ms))
    end = Cell("-", sort=float("inf"), full=ended_by(order))
    if order.until_ms is not None:
        left = order.until_ms / 1000 - now
        end = Cell(age_text(left), sort=left, full=iso_zulu_text(order.until_ms))
    return Row(
        key=order_key(order),
        cells=(
            text_cell(order.what),
            text_cell(order.who),
            since,
            end,
            text_cell(order.why),
            text_cell(order.route),
        ),
        why=order.why,
    )


def ended_by(order: OrderView) -> str:
    """Returns the command that ends an order; empty for one that is carried out once."""
    if order.undo:
        return f"by {' '.join(order.undo[:2])}"
    # A stream that is not paused has nothing to undo, and holds until it is deleted.
    return "by stream delete" if order.kind == "paused stream" else ""


def move_key(move: MoveView) -> str:
    """Returns the key of a move's row."""
    return f"move {move.topic}-{move.partition}"


def move_row(move: MoveView) -> Row:
    """Returns the row of a move."""
    source = Cell("new", sort=-1) if move.source is None else digits_cell(move.source)
    return Row(
        key=move_key(move),
        cells=(
            text_cell(move.topic),
            digits_cell(move.partition),
            source,
            digits_cell(move.target),
            text_cell(move.reason),
        ),
        why=move.reason,
        topic=move.topic,
    )


def heading_of(stream: StreamView) -> str:
    """Returns heaviest load, bound, ratio and certificate."""
    if stream.heaviest is None or stream.bound is None:
        return next(reasons(None, stream.degraded), "loads are not known")
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


def _tone(placed: Placed) -> str:
    return "bad" if is_overloaded(placed[1]) else ""


CARRIERS_SHOWN: dict[str, Shown[Placed]] = {
    "CARRIER": shown_by(lambda each: each[1].number, digits_cell),
    "HOST": Shown(lambda each: each[1].host or "", lambda each: text_cell(each[1].host or UNKNOWN)),
    "PARTS": shown_by(lambda each: each[1].partitions, digits_cell),
    "LOAD": Shown(lambda each: each[1].load, lambda each: load_cell(each[1].load, _tone(each))),
    "BAR": Shown(
        lambda each: each[1].load, lambda each: Cell(bar(each[1].load), _tone(each), each[1].load)
    ),
    "STREAM": shown_by(lambda each: label_of(each[0]), text_cell),
}
"""Value and cell of each column of carriers, by its title."""
