"""Page of the balancing of all target regions: who acts, and the streams."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.balancing import reasons
from tui.facts.counted import counted
from tui.facts.moments import iso_zulu_text
from tui.pages.ages import age_text
from tui.pages.balance_actions import is_held, stream_actions
from tui.pages.figures import NONE, UNKNOWN, digits_cell, number_cell, text_cell
from tui.pages.page import Action, Cell, Column, Page, Row, Section
from tui.pages.stream import StreamPage, label_of, load_cell

if TYPE_CHECKING:
    from tui.facts.balancing import BalanceView, StreamView
    from tui.facts.snapshot import Snapshot

TOPICS_SHOWN_MAX = 3
REGION_COLUMNS = (
    Column("REGION", 7, "target region"),
    Column("BALANCER", 24, "the one that acts, or acted last", grows=True),
    Column("HEARD", 7, "time since it renewed its lease", is_right=True),
    Column("CARRIED", 7, "partitions that the driver carries", is_right=True, priority=1),
    Column("ORDERS", 6, "orders in force", is_right=True, priority=2),
    Column("LEADER SINCE", 20, "when it took the lease", priority=3, is_printed_only=True),
    Column("SLOTS", 5, "task slots of the driver", True, priority=4, is_printed_only=True),
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
TOPIC_COLUMNS = (
    Column("PAUSED", 6, "yes: its topics are not carried", priority=8, is_printed_only=True),
    Column("TOPICS", 20, "patterns of its topics", priority=8, is_printed_only=True),
    Column("MATCHING", 20, "topics that belong to it now", priority=9, is_printed_only=True),
    Column("CARRIED", 7, "their partitions, with paused ones", True, 10, is_printed_only=True),
    Column("NUMBERS", 8, "numbers of its carriers", priority=11, is_printed_only=True),
    Column("LIMITS", 20, "those that it sets itself", priority=12, is_printed_only=True),
    Column("WHO", 14, "operator who made or changed it", priority=13, is_printed_only=True),
    Column("WHY", 16, "reason", priority=14, is_printed_only=True),
)
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
    Column("CARRIERS", 8, "carriers", is_right=True, priority=2),
    Column("HEAVIEST", 8, "load of the heaviest carrier that can be relieved", is_right=True),
    Column("BOUND", 5, "lower bound of it in any placement", is_right=True, priority=1),
    Column("RATIO", 5, "heaviest over bound; 1.00 is the best there is", is_right=True),
    Column("CERT", 4, "the last plan needed at least so many moves", is_right=True, priority=4),
    Column("ROUND", 7, "time since the balancer's last round", is_right=True, priority=5),
    Column("NEEDED", 6, "carriers that the loads ask for", is_right=True, priority=6),
    Column("DRIVER", 6, "generation that the driver follows", is_right=True, priority=7),
    *TOPIC_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class BalancePage(Page):
    """Balancers of all target regions, and their streams."""

    name = "balance"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of streams."""
        count = sum(len(each.streams) for each in snapshot.balance)
        return f"balance   {counted(count, 'stream')}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the tables of streams and balancers."""
        balancers = balancers_section(snapshot.balance, now)
        return streams_section(snapshot.balance, now), replace(balancers, heading="BALANCERS")

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

    def _stream(self, snapshot: Snapshot, row: Row | None) -> tuple[BalanceView, StreamView] | None:
        key = None if row is None else row.key
        pairs = ((view, each) for view in snapshot.balance for each in view.streams)
        return next((it for it in pairs if key_of(it[1]) == key), None)


def streams_section(balances: Sequence[BalanceView], now: float) -> Section:
    """Returns the table of streams."""
    return Section(
        "streams",
        STREAM_COLUMNS,
        [stream_row(balance, each, now) for balance in balances for each in balance.streams],
        empty="no stream is known yet",
        sort=("STATE", "-RATIO", "STREAM"),
    )


def balancers_section(balances: Sequence[BalanceView], now: float) -> Section:
    """Returns the table of balancers, one for each target region."""
    return Section(
        "balancers",
        REGION_COLUMNS,
        [region_row(each, now) for each in balances],
        empty="balancing is not known yet",
        sort=("REGION",),
    )


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
    since = NONE if balance.is_acting is False and balance.lease_who is None else UNKNOWN
    if balance.lease_since_ms is not None:
        since = iso_zulu_text(balance.lease_since_ms)
    orders = None if balance.orders is None else len(balance.orders)
    is_fault = balance.is_acting is not True or bool(balance.problems)
    return Row(
        key=balance.region,
        cells=(
            text_cell(balance.region, "bold"),
            text_cell(who, tone),
            number_cell(age_text(heard), heard),
            digits_cell(balance.driver_partitions),
            digits_cell(orders),
            text_cell(since),
            digits_cell(balance.driver_slots),
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
            text_cell(label_of(stream), "bold"),
            digits_cell(stream.generation),
            digits_cell(stream.partitions),
            digits_cell(carriers),
            load_cell(stream.heaviest),
            load_cell(stream.bound),
            load_cell(stream.ratio),
            Cell("-") if is_full else digits_cell(stream.certificate),
            number_cell(age_text(age), age),
            digits_cell(stream.needed),
            digits_cell(stream.driver_generation),
            *topic_cells(stream),
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


def topic_cells(stream: StreamView) -> tuple[Cell, ...]:
    """Returns the cells of what belongs to a stream, and of what its operator has set."""
    count = None if stream.matching is None else sum(stream.matching.values())
    numbers = None if stream.carriers is None else [each.number for each in stream.carriers]
    paused = UNKNOWN if stream.is_paused is None else "yes" if stream.is_paused else "no"
    return (
        text_cell(paused),
        text_cell(topics_text(stream)),
        text_cell(UNKNOWN if stream.matching is None else matching_text(stream.matching)),
        digits_cell(count),
        text_cell(UNKNOWN if numbers is None else ranges_text(numbers) or NONE),
        text_cell(" ".join(f"{name}={it:g}" for name, it in stream.limits.items()) or NONE),
        text_cell(NONE if stream.who is None else stream.who),
        text_cell(NONE if stream.why is None else stream.why),
    )


def topics_text(stream: StreamView) -> str:
    """Returns the patterns of a stream's topics; the default stream has all that match no other."""
    if stream.stream == "default":
        return "all others"
    return UNKNOWN if stream.topics is None else " ".join(stream.topics)


def matching_text(matching: Iterable[str]) -> str:
    """Returns the first TOPICS_SHOWN_MAX topics by name, and the number of further ones."""
    names = sorted(matching)
    more = len(names) - TOPICS_SHOWN_MAX
    shown = " ".join(names[:TOPICS_SHOWN_MAX]) or NONE
    return f"{shown} and {more} more" if more > 0 else shown


def ranges_text(numbers: Iterable[int]) -> str:
    """Returns 0, 1, 2 and 5 as "0-2 5"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def notes_of(stream: StreamView) -> list[str]:
    """Returns the alerts of a stream, and why it does not move or has no loads."""
    found = [f"{each.name}: {each.text}" for each in stream.current_alerts]
    return [*found, *reasons(stream.held, stream.degraded)]
