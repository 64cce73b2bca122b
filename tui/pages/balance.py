"""Page of the balancing of all target regions: who acts, and the streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.facts.counted import counted
from tui.pages.ages import age_text
from tui.pages.balance_actions import is_held, stream_actions, stream_label
from tui.pages.figures import UNKNOWN, number_cell, text_cell
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section
from tui.pages.stream import StreamPage

if TYPE_CHECKING:
    from tui.facts.balancing import BalanceView, StreamView
    from tui.facts.snapshot import Snapshot

REGION_COLUMNS = (
    Column("REGION", 7, "target region"),
    Column("BALANCER", 24, "the one that acts, or acted last", grows=True),
    Column("HEARD", 7, "time since it renewed its lease", is_right=True),
    Column("CARRIED", 7, "partitions that the driver carries", is_right=True, priority=1),
    Column("ORDERS", 6, "orders in force", is_right=True, priority=2),
)
STATES = {
    UNKNOWN: ("warn", None),
    "HOT": ("bad", 0.0),
    "ALERT": ("warn", 1.0),
    "NO LOAD": ("warn", 2.0),
    "PAUSED": ("warn", 3.0),
    "HELD": ("warn", 4.0),
    "BY COUNT": ("dim", 5.0),
    "OK": ("good", 6.0),
}
STREAM_COLUMNS = (
    Column(
        "STATE",
        8,
        "HOT: a partition is more than a carrier may take; ALERT: another alert of the balancer; "
        "NO LOAD: loads are not known; PAUSED: not carried; HELD: nothing moves; BY COUNT: not "
        "placed by load yet",
    ),
    Column("STREAM", 14, "route, and the name of a stream that is not the default", grows=True),
    Column("GEN", 5, "generation of the placement; 0: by count", is_right=True, priority=1),
    Column("PARTS", 6, "partitions", is_right=True, priority=3),
    Column("CARR", 4, "carriers", is_right=True, priority=2),
    Column("HEAVY", 5, "load of the heaviest carrier that can be relieved", is_right=True),
    Column("BOUND", 5, "lower bound of it in any placement", is_right=True, priority=1),
    Column("RATIO", 5, "heaviest over bound; 1.00 is the best there is", is_right=True),
    Column("CERT", 4, "the last plan needed at least so many moves", is_right=True, priority=4),
    Column("ROUND", 7, "time since the balancer's last round", is_right=True, priority=5),
    Column("NEEDED", 6, "carriers that the loads ask for", is_right=True, priority=6),
    Column("DRIVER", 6, "generation that the driver follows", is_right=True, priority=7),
)


@dataclass(frozen=True, slots=True)
class BalancePage:
    """Balancers of all target regions, and their streams."""

    @property
    def name(self) -> str:
        return "balance"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of streams."""
        count = sum(len(each.streams) for each in snapshot.balance)
        return f"balance   {counted(count, 'stream')}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of streams and balancers."""
        return (
            Section(
                "streams",
                STREAM_COLUMNS,
                [
                    stream_row(balance, each, now)
                    for balance in snapshot.balance
                    for each in balance.streams
                ],
                empty="no stream is known yet",
                sort=("STATE", "-RATIO", "STREAM"),
            ),
            Section(
                "balancers",
                REGION_COLUMNS,
                [region_row(each, now) for each in snapshot.balance],
                empty="balancing is not known yet",
                heading="BALANCERS",
                sort=("REGION",),
            ),
        )

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of a stream, or of a region's worst one."""
        found = self._stream(snapshot, row) or worst_of(snapshot, row.key)
        return None if found is None else StreamPage(found[1].route, found[1].stream)

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns the actions on the stream under the cursor."""
        found = self._stream(snapshot, row)
        return stream_actions(*(found or (None, None)))

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns more alerts and why nothing moves, or the problems of a region."""
        found = self._stream(snapshot, row)
        if found is not None:
            # The first one is the row's why.
            return notes_of(found[1])[1:]
        key = None if row is None else row.key
        view = next((each for each in snapshot.balance if each.region == key), None)
        return () if view is None else view.problems

    def focus(self) -> Focus:
        """Returns none."""
        return NO_FOCUS

    def _stream(self, snapshot: Snapshot, row: Row | None) -> tuple[BalanceView, StreamView] | None:
        key = None if row is None else row.key
        pairs = ((view, each) for view in snapshot.balance for each in view.streams)
        return next((it for it in pairs if key_of(it[1]) == key), None)


def worst_of(snapshot: Snapshot, region: str) -> tuple[BalanceView, StreamView] | None:
    """Returns the stream of a region whose state is the worst; None without one."""

    def place(pair: tuple[BalanceView, StreamView]) -> float:
        found = STATES[state_of(*pair)][1]
        return -1.0 if found is None else found

    pairs = [(it, each) for it in snapshot.balance if it.region == region for each in it.streams]
    return min(pairs, key=place, default=None)


def key_of(stream: StreamView) -> str:
    """Returns the key of a stream's row."""
    return f"{stream.route}/{stream.stream}"


def region_row(balance: BalanceView, now: float) -> Row:
    """Returns the row of a region."""
    heard = None if balance.lease_at_ms is None else now - balance.lease_at_ms / 1000
    who, tone = acting_text(balance)
    orders = None if balance.orders is None else len(balance.orders)
    is_fault = balance.is_acting is not True or bool(balance.problems)
    return Row(
        key=balance.region,
        cells=(
            text_cell(balance.region, "bold"),
            text_cell(who, tone),
            number_cell("?" if heard is None else age_text(heard), heard),
            number_cell(_number(balance.driver_partitions), balance.driver_partitions),
            number_cell(_number(orders), orders),
        ),
        is_fault=is_fault,
        why=next(iter(balance.problems), "") or ("" if balance.is_acting else who),
        region=balance.region,
    )


def acting_text(balance: BalanceView) -> tuple[str, str]:
    """Returns who balances a region, and the tone of it."""
    if balance.is_acting is None:
        return "? its orders are not known", "warn"
    if balance.lease_who is None:
        return "none has ever acted: partitions are placed by count", "dim"
    if balance.is_acting:
        return f"{balance.lease_who} acts", "good"
    return f"{balance.lease_who} DOES NOT ACT", "bad"


def stream_row(balance: BalanceView, stream: StreamView, now: float) -> Row:
    """Returns the row of a stream."""
    state = state_of(balance, stream)
    tone, place = STATES[state]
    carriers = None if stream.carriers is None else len(stream.carriers)
    age = None if stream.at_ms is None else now - stream.at_ms / 1000
    is_full = stream.placed_at_ms is not None and stream.certificate is None
    return Row(
        key=key_of(stream),
        cells=(
            Cell(state, tone, place),
            text_cell(stream_label(stream.route, stream.stream), "bold"),
            number_cell(_number(stream.generation), stream.generation),
            number_cell(_number(stream.partitions), stream.partitions),
            number_cell(_number(carriers), carriers),
            number_cell(decimals(stream.heaviest), stream.heaviest),
            number_cell(decimals(stream.bound), stream.bound),
            number_cell(decimals(stream.ratio), stream.ratio),
            Cell("-") if is_full else number_cell(_number(stream.certificate), stream.certificate),
            number_cell("?" if age is None else age_text(age), age),
            number_cell(_number(stream.needed), stream.needed),
            number_cell(_number(stream.driver_generation), stream.driver_generation),
        ),
        is_fault=state in (UNKNOWN, "HOT", "ALERT", "NO LOAD"),
        why=next(iter(notes_of(stream)), ""),
        route=stream.route,
        region=balance.region,
    )


def state_of(balance: BalanceView, stream: StreamView) -> str:
    """Returns the state of a stream in words, a key of STATES."""
    if stream.generation is None or stream.is_paused is None:
        return UNKNOWN
    if any(each.name == "hot partition" for each in stream.current_alerts):
        return "HOT"
    if stream.current_alerts:
        return "ALERT"
    if stream.degraded:
        return "NO LOAD"
    if stream.is_paused:
        return "PAUSED"
    if is_held(balance, stream) or stream.held:
        return "HELD"
    return "OK" if stream.generation else "BY COUNT"


def notes_of(stream: StreamView) -> list[str]:
    """Returns the alerts of a stream, and why it does not move or has no loads."""
    found = [f"{each.name}: {each.text}" for each in stream.current_alerts]
    if stream.held:
        found.append(f"nothing moves that need not: {stream.held}")
    if stream.degraded and stream.degraded not in (stream.held or ""):
        found.append(f"loads are not known: {stream.degraded}")
    return found


def decimals(value: float | None) -> str:
    """Returns a load or a ratio: 0.62."""
    return UNKNOWN if value is None else f"{value:.2f}"


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)
