"""Search over all names of a snapshot: regions, routes, topics, groups, feeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.list_page import ListPage
from tui.pages.page import Cell, Column, Page, Row, Section
from tui.pages.partitions import PartitionsPage
from tui.pages.rows import LazyRows
from tui.pages.topics import TopicsPage

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot

COLUMNS = (
    Column("KIND", 7),
    Column("NAME", 20, grows=True),
    Column("OF", 14, priority=1, grows=True),
)


@dataclass(frozen=True, slots=True)
class Name:
    """Name that can be jumped to.

    Args:
        of: route of a topic, region of a feed.
    """

    kind: str
    text: str
    of: str = ""

    @property
    def key(self) -> str:
        # Of texts with any character in them, this one is unique as well.
        return repr((self.kind, self.text, self.of))


def names_of(snapshot: Snapshot) -> Iterator[Name]:
    """Yields all names of a snapshot."""
    yield from (Name("region", each.region) for each in snapshot.regions)
    for route in snapshot.routes:
        yield Name("route", route.route)
    for route in snapshot.routes:
        yield from (Name("topic", each.topic, route.route) for each in route.topics or ())
    yield from (Name("group", each.group, each.primary or "") for each in snapshot.groups or ())
    yield from (Name("feed", each.feed, each.region) for each in snapshot.feeds)


def search_page(names: Sequence[Name]) -> ListPage:
    """Returns the list of names."""
    rows: LazyRows[Name] = LazyRows(
        items=names,
        make=lambda each: Row(
            each.key, (Cell(each.kind, "dim"), Cell(each.text, "bold"), Cell(each.of))
        ),
        key=lambda each: each.key,
        sorts={},
        is_fault=lambda _: False,
        text=lambda each: f"{each.kind} {each.text} {each.of}",
    )
    return ListPage("search: type a part of a name", (Section("names", COLUMNS, rows),))


@dataclass(frozen=True, slots=True)
class Target:
    """Place that a name leads to: a screen, pages above its first one, and the cursor's row."""

    screen: str
    pages: tuple[Page, ...] = ()
    cursor: tuple[str, str] | None = None


def target_of(name: Name) -> Target:
    """Returns where a chosen name leads."""
    kind, text, of = name.kind, name.text, name.of
    if kind == "topic":
        return Target("routes", (TopicsPage(of), PartitionsPage(of, text)))
    if kind == "route":
        return Target("routes", (TopicsPage(text),))
    if kind == "region":
        return Target("overview", cursor=("regions", text))
    return Target(f"{kind}s", cursor=(f"{kind}s", text))
