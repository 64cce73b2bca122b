"""Page of one consumer group: its positions in all regions, and where it would resume."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.pages.ages import age_text
from tui.pages.figures import (
    UNKNOWN,
    digits_cell,
    number_cell,
    offset_width,
    short,
    text_cell,
    whole,
)
from tui.pages.page import NO_FOCUS, Action, Cell, Column, Focus, Page, Row, Section, Sort
from tui.pages.plan_forms import plan_actions
from tui.pages.rows import LazyRows

if TYPE_CHECKING:
    from tui.facts.group_view import GroupDetail, GroupPosition, GroupView
    from tui.facts.snapshot import Snapshot

STALE_SECONDS = 30.0
"""Age of worked out offsets above which they are stale; they are worked out every 5 s."""
BASES = {"exact": "", "floor": "warn", "chosen": "warn", "uncommitted": "warn"}
"""Tones of what a resume offset stands on; all else is a fault."""
REGION_COLUMNS = (
    Column("REGION", 12, "region that the group could move to"),
    Column("STATE", 40, "", grows=True),
)


@dataclass(frozen=True, slots=True)
class GroupPage(Page):
    """Positions of one group, and where it would resume in the target region.

    Args:
        source, target: regions; "" when there is no other region.
    """

    group: str
    source: str = ""
    target: str = ""

    name = "groups"

    def title(self, snapshot: Snapshot) -> str:
        """Returns the group, and the way that it would take."""
        found = self._view(snapshot)
        home = "" if found is None or found.primary is None else f"   lives in {found.primary}"
        way = f"   {self.source}:{self.target}" if self.target else ""
        return f"groups > {self.group}{home}{way}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the positions; before them other regions to move to, where there are several."""
        regions = regions_of(snapshot)
        detail = self._detail(snapshot)
        table = Section(
            "positions",
            columns_of(positions_of(detail), regions, self.target),
            rows_of(positions_of(detail), regions),
            heading=self._heading(detail, now),
            empty=self._empty(detail),
            sort=("TOPIC", "PART"),
        )
        others = [each for each in regions if each not in (self.source, self.target)]
        if not others or not self.target:
            return (table,)
        rows = [
            Row(each, (text_cell(each), text_cell("enter: resume offsets there")))
            for each in others
        ]
        return Section("regions", REGION_COLUMNS, rows, rows_max=3), table

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the same group on its way to another region."""
        regions = {each.region for each in snapshot.regions}
        return GroupPage(self.group, self.source, row.key) if row.key in regions else None

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns plans of a move of this group."""
        regions = regions_of(snapshot)
        return plan_actions(regions, self.source, self.target, self.group)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the remarks of the plan on a position."""
        detail = self._detail(snapshot)
        positions = positions_of(detail)
        key = None if row is None else row.key
        found = next((each for each in positions if key_of(each) == key), None)
        return () if found is None else found.notes

    def focus(self) -> Focus:
        """Returns the group, so that its resume offsets are worked out."""
        if not self.target:
            return NO_FOCUS
        return Focus(group=(self.group, self.source, self.target))

    def _view(self, snapshot: Snapshot) -> GroupView | None:
        return next((each for each in snapshot.groups or () if each.group == self.group), None)

    def _detail(self, snapshot: Snapshot) -> GroupDetail | None:
        """Returns the detail if it is that of this page, and not of the page before."""
        detail = snapshot.group_detail
        if detail is None:
            return None
        is_own = (detail.group, detail.source, detail.target) == (
            self.group,
            self.source,
            self.target,
        )
        return detail if is_own else None

    def _heading(self, detail: GroupDetail | None, now: float) -> str:
        if detail is None:
            return ""
        age = now - detail.worked_out_at
        state = ", STALE" if age > STALE_SECONDS else ""
        text = f"resume in {self.target}, worked out {age_text(age)} ago{state}"
        return f"{text}; NOT KNOWN: {detail.problem}" if detail.problem else text

    def _empty(self, detail: GroupDetail | None) -> str:
        if not self.target:
            return "there is no other region that the group could move to"
        if detail is None:
            return "resume offsets are being worked out"
        return detail.problem or "nothing is committed in any region"


def regions_of(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the names of all regions, sorted."""
    return tuple(sorted(each.region for each in snapshot.regions))


def way_of(group: GroupView, snapshot: Snapshot) -> tuple[str, str]:
    """Returns source and target of the move that a group would make first.

    The source is where it lives, has members, or has committed; the target is the first other
    region, "" without one.
    """
    regions = regions_of(snapshot)
    likely = [group.primary, *group.members, *sorted(group.lag), *regions]
    source = next((each for each in likely if each), "")
    return source, next((each for each in regions if each != source), "")


def positions_of(detail: GroupDetail | None) -> tuple[GroupPosition, ...]:
    """Returns the positions of a detail; none while there is none."""
    return () if detail is None else detail.positions


def columns_of(
    found: Sequence[GroupPosition], regions: Sequence[str], target: str
) -> tuple[Column, ...]:
    """Returns the columns, with one of the position and one of the lag in each region."""
    basis = max([5, *(len(each.basis or UNKNOWN) for each in found)])
    resume = offset_width("RESUME", (each.resume for each in found))
    positions = (
        Column(
            region.upper(),
            offset_width(region, (each.committed.get(region) for each in found)),
            f"next offset to read in {region}, as committed",
            is_right=True,
            priority=2 if at < 2 else 10 + at,
        )
        for at, region in enumerate(regions)
    )
    lags = (
        Column(
            lag_title(region),
            max(8, min(12, len(region) + 4)),
            f"offsets that are left in {region}",
            is_right=True,
            priority=5 if at < 2 else 20 + at,
        )
        for at, region in enumerate(regions)
    )
    return (
        Column("TOPIC", 14, "topic", grows=True),
        Column("PART", 4, "partition", is_right=True),
        *positions,
        Column("RESUME", resume, f"offset at which it would go on in {target}", is_right=True),
        Column(
            "BASIS",
            basis,
            "exact: the first unread record; floor: not past it; else why nothing moves",
            priority=1,
        ),
        Column(
            "READ AGAIN",
            10,
            "records that would be read again, at most",
            is_right=True,
            priority=1,
        ),
        *lags,
    )


def rows_of(positions: Sequence[GroupPosition], regions: Sequence[str]) -> LazyRows[GroupPosition]:
    """Returns the rows; each is made when it is drawn."""
    sorts: dict[str, Callable[[GroupPosition], Sort]] = {
        "TOPIC": lambda each: each.topic,
        "PART": lambda each: each.partition,
        "RESUME": lambda each: each.resume,
        "BASIS": lambda each: each.basis or "",
        "READ AGAIN": lambda each: each.read_again,
    }
    sorts |= {region.upper(): committed_in(region) for region in regions}
    sorts |= {lag_title(region): lag_in(region) for region in regions}
    return LazyRows(
        items=positions,
        make=lambda each: row_of(each, regions),
        key=key_of,
        sorts=sorts,
        is_fault=lambda each: each.basis not in BASES,
        text=lambda each: f"{each.topic} {each.partition} {each.basis or UNKNOWN}",
    )


def committed_in(region: str) -> Callable[[GroupPosition], Sort]:
    """Returns the value by which the position in a region is sorted."""
    return lambda each: each.committed.get(region)


def lag_title(region: str) -> str:
    """Returns the title of the column with the lag in a region."""
    return f"LAG {region.upper()}"


def lag_in(region: str) -> Callable[[GroupPosition | GroupView], Sort]:
    """Returns the value by which the lag in a region is sorted."""
    return lambda each: each.lag.get(region)


def lag_cells(lag: Mapping[str, int], regions: Sequence[str]) -> Iterator[Cell]:
    """Yields the cell of the lag in each region."""
    return (number_cell(short(lag.get(it)), lag.get(it)) for it in regions)


def key_of(position: GroupPosition) -> str:
    """Returns the key of a position's row."""
    return f"{position.topic}-{position.partition}"


def row_of(position: GroupPosition, regions: Sequence[str]) -> Row:
    """Returns the row of a position."""
    basis = position.basis or UNKNOWN
    return Row(
        key=key_of(position),
        cells=(
            text_cell(position.topic),
            digits_cell(position.partition),
            *(
                number_cell(whole(position.committed.get(it)), position.committed.get(it))
                for it in regions
            ),
            number_cell(whole(position.resume), position.resume, "bold"),
            text_cell(basis, BASES.get(basis, "bad")),
            number_cell(short(position.read_again), position.read_again),
            *lag_cells(position.lag, regions),
        ),
        is_fault=basis not in BASES,
        topic=position.topic,
    )
