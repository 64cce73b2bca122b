"""Page of all consumer groups: where each lives and has members, its lag, age of the copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.facts.counted import counted
from tui.facts.moments import date_text, utc_text
from tui.facts.region_view import COPIES_STALE_SECONDS
from tui.pages.ages import age_text
from tui.pages.figures import UNKNOWN, number_cell, short, text_cell
from tui.pages.group import GroupPage, lag_cells, lag_in, lag_title, regions_of, way_of
from tui.pages.page import Action, Cell, Column, Page, Row, Section, Sort
from tui.pages.plan_forms import plan_actions
from tui.pages.rows import LazyRows

if TYPE_CHECKING:
    from tui.facts.group_view import GroupView
    from tui.facts.snapshot import Snapshot

ANY_REGION = "any"
STATES = {
    "ACTIVE TWICE": ("bad", 0.0),
    "OUT OF PLACE": ("bad", 1.0),
    UNKNOWN: ("warn", None),
    "no members": ("dim", 3.0),
    "any region": ("dim", 4.0),
    "in place": ("good", 5.0),
}
"""Tone of each state, and the value by which it is sorted."""
STATE = Column(
    "STATE",
    12,
    "ACTIVE TWICE: members in several regions; OUT OF PLACE: members outside of the region that it "
    "lives in; ?: not known of every region; any region: no record, it may consume anywhere",
)
COLUMNS = (
    STATE,
    Column("GROUP", 14, "name", grows=True),
    Column("LIVES IN", 8, "primary region, by its record", priority=1),
    Column("MEMBERS IN", 10, "regions in which it has members", priority=2),
    Column("COPIES", 6, "age of the oldest copy of its commits", is_right=True, priority=4),
)
MORE_COLUMNS = (
    Column("PARTS", 5, "partitions with a commit, where it lives", is_right=True, priority=30),
    Column("SINCE", 19, "when its primary region was decided", priority=31),
    Column("WHO", 14, "operator who decided", priority=32),
    Column("WHY", 20, "reason of that decision", priority=33, is_wide=True),
)


@dataclass(frozen=True, slots=True)
class GroupsPage(Page):
    """All groups, one of them, or those that have committed on one topic."""

    topic: str = ""
    group: str = ""

    name = "groups"

    @staticmethod
    def for_row(row: Row) -> GroupsPage:
        """Returns the groups of a row of another page."""
        return GroupsPage(group=row.group) if row.group else GroupsPage(row.topic or "")

    def title(self, snapshot: Snapshot) -> str:
        """Returns the number of groups."""
        found = self._groups(snapshot)
        count = "not known" if found is None else counted(len(found), "group")
        subject = self.group or self.topic
        return f"groups{f' > {subject}' if subject else ''}   {count}"

    def sections(self, snapshot: Snapshot, now: float) -> Sequence[Section]:
        """Returns the table of groups."""
        found = self._groups(snapshot)
        section = groups_section(found, regions_of(snapshot))
        section = replace(section, heading=heading_of(snapshot, now))
        if self.topic and found is not None:
            section = replace(section, empty=f"no group has committed on {self.topic}")
        return (section,)

    def opened(self, snapshot: Snapshot, row: Row) -> Page | None:
        """Returns the page of a group."""
        found = self._group(snapshot, row)
        return None if found is None else GroupPage(found.group, *way_of(found, snapshot))

    def actions(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[Action]:
        """Returns plans of a move of the group under the cursor."""
        found = self._group(snapshot, row)
        if found is None:
            return plan_actions(regions_of(snapshot))
        return plan_actions(regions_of(snapshot), *way_of(found, snapshot), found.group)

    def notes(self, snapshot: Snapshot, row: Row | None, now: float) -> Sequence[str]:
        """Returns the decision about a group, and where its members are not known."""
        found = self._group(snapshot, row)
        return () if found is None else notes_of(found)

    def _groups(self, snapshot: Snapshot) -> Sequence[GroupView] | None:
        if snapshot.groups is None:
            return None
        if self.group:
            return [each for each in snapshot.groups if each.group == self.group]
        if not self.topic:
            return snapshot.groups
        return [each for each in snapshot.groups if self.topic in each.topics]

    def _group(self, snapshot: Snapshot, row: Row | None) -> GroupView | None:
        key = None if row is None else row.key
        return next((each for each in snapshot.groups or () if each.group == key), None)


def groups_section(groups: Sequence[GroupView] | None, regions: Sequence[str] = ()) -> Section:
    """Returns the table of groups; of None it says that they are not known yet.

    Args:
        regions: each has a column of lag.
    """
    return Section(
        "groups",
        columns_of(regions),
        rows_of(groups or (), regions),
        empty="groups are not known yet" if groups is None else "no group is known",
        sort=("STATE", "GROUP"),
    )


def columns_of(regions: Sequence[str]) -> tuple[Column, ...]:
    """Returns the columns, with one of the lag in each region."""
    lags = (
        Column(
            lag_title(region),
            max(8, min(12, len(lag_title(region)))),
            f"offsets of {region}'s logs that the group has not committed",
            is_right=True,
            priority=3 if at < 2 else 5 + at,
        )
        for at, region in enumerate(regions)
    )
    return (*COLUMNS, *lags, *MORE_COLUMNS)


def rows_of(groups: Sequence[GroupView], regions: Sequence[str]) -> LazyRows[GroupView]:
    """Returns the rows; each is made when it is drawn."""
    sorts: dict[str, Callable[[GroupView], Sort]] = {
        "STATE": lambda each: STATES[state_of(each)][1],
        "GROUP": lambda each: each.group,
        "LIVES IN": home_of,
        "MEMBERS IN": members_of,
        "COPIES": lambda each: each.copies_age_seconds,
        "PARTS": lambda each: each.partitions,
        "SINCE": lambda each: each.decided_at_ms,
        "WHO": lambda each: each.who or "",
        "WHY": lambda each: each.why or "",
    }
    sorts |= {lag_title(region): lag_in(region) for region in regions}
    return LazyRows(
        items=groups,
        make=lambda each: row_of(each, regions),
        key=lambda each: each.group,
        sorts=sorts,
        is_fault=lambda each: is_fault(each, len(regions)),
        text=lambda each: " ".join((each.group, state_of(each), home_of(each), members_of(each))),
    )


def row_of(group: GroupView, regions: Sequence[str]) -> Row:
    """Returns the row of a group."""
    state, age = state_of(group), group.copies_age_seconds
    is_stale = age is not None and age > COPIES_STALE_SECONDS
    copies = "STALE" if is_stale else age_text(age)
    tone, place = STATES[state]
    none = UNKNOWN if group.has_record is None else "-"
    at_ms = group.decided_at_ms
    return Row(
        key=group.group,
        cells=(
            Cell(state, tone, place),
            text_cell(group.group, "bold"),
            text_cell(home_of(group)),
            text_cell(members_of(group), "warn" if group.unknown else ""),
            Cell(copies, "bad" if is_stale else "warn" if age is None else "", age),
            *lag_cells(group.lag, regions),
            number_cell(short(group.partitions), group.partitions),
            Cell(none, sort=at_ms)
            if at_ms is None
            else Cell(date_text(at_ms / 1000), sort=at_ms, full=utc_text(at_ms)),
            text_cell(group.who or none),
            text_cell(group.why or none),
        ),
        is_fault=is_fault(group, len(regions)),
        why=why_of(group),
        group=group.group,
    )


def state_of(group: GroupView) -> str:
    """Returns the state of a group in words, a key of STATES."""
    if group.is_active_twice:
        return "ACTIVE TWICE"
    if group.is_out_of_place:
        # Members in two regions are worse than members in another one.
        return "ACTIVE TWICE" if len(group.members) > 1 else "OUT OF PLACE"
    if group.unknown or (group.primary is None and group.has_record is None):
        return UNKNOWN
    if not group.members:
        return "no members"
    return "any region" if group.primary is None else "in place"


def home_of(group: GroupView) -> str:
    """Returns the region that a group lives in, "any", or "?"."""
    if group.primary is not None:
        return group.primary
    return UNKNOWN if group.has_record is None else ANY_REGION


def members_of(group: GroupView) -> str:
    """Returns the regions with members; "?" stands for those that are not known."""
    found = [*group.members, *([UNKNOWN] if group.unknown else [])]
    return ", ".join(found) or "-"


def is_fault(group: GroupView, regions: int) -> bool:
    """Returns True for a group that an operator should look at."""
    age = group.copies_age_seconds
    is_old = regions > 1 and (age is None or age > COPIES_STALE_SECONDS)
    return group.is_out_of_place or state_of(group) == UNKNOWN or is_old


def why_of(group: GroupView) -> str:
    """Returns why a group is not in place; "" for one that is."""
    if group.is_out_of_place:
        where = " and ".join(group.members)
        return f"has members in {where}; it lives in {group.primary}"
    if group.unknown:
        return f"members in {', '.join(group.unknown)} are not known"
    return ""


def notes_of(group: GroupView) -> list[str]:
    """Returns the decision about where a group lives."""
    if group.decided_at_ms is None:
        return []
    since = utc_text(group.decided_at_ms)
    text = f"{group.group} lives in {group.primary or 'any region'} since {since}"
    if group.who:
        text += f" by {group.who}: {group.why or ''}"
    return [text + (f" (plan {group.plan_id})" if group.plan_id else "")]


def heading_of(snapshot: Snapshot, now: float) -> str:
    """Returns the servers whose lags or members are stale; "" when all are fresh."""
    stale = [
        f"{part.about} of {part.server} "
        + ("not known" if part.asked_at is None else f"{age_text(now - part.asked_at)} old, STALE")
        for part in snapshot.parts
        if part.about in ("members", "group lag") and part.is_stale(now)
    ]
    return "; ".join(stale)
