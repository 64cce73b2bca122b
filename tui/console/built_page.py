"""Built page: the rows of each section that are shown, in their order.

A pure function of a page, a snapshot and a view; it runs beside the thread that draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.list_page import ListPage
from tui.console.row_filter import BadFilter, Matcher, matcher_of, words_matcher
from tui.console.view_state import ViewState
from tui.pages.page import Action, Cell, Column, Page, Row, Section, Sort
from tui.pages.rows import faults_of, keys_of, sorts_of, texts_of

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltSection:
    """Section with its rows in order.

    Args:
        order: places of the shown rows in `section.rows`.
        keys: keys of the shown rows.
        sorted_by: titles of the columns, a leading "-" for descending order.
        hidden: rows left out because of `rows_max`.
        filtered: rows left out by the filter or "faults only".
    """

    section: Section
    order: Sequence[int]
    keys: Sequence[str]
    sorted_by: tuple[str, ...] = ()
    is_reversed: bool = False
    hidden: int = 0
    filtered: int = 0

    def row(self, at: int) -> Row:
        """Returns the row at a place of the shown order, or what stands for it after an error."""
        try:
            return self.section.rows[self.order[at]]
        except Exception as error:
            return failed_row(self.keys[at], len(self.section.columns), error)


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltPage:
    """Page as it is shown.

    Args:
        now: Unix seconds for which the page was built.
        problem: why the filter is not applied; None when it is.
    """

    page: Page
    title: str
    sections: tuple[BuiltSection, ...]
    snapshot: Snapshot
    now: float
    problem: str | None = None

    @property
    def row_count(self) -> int:
        return sum(len(each.order) for each in self.sections)

    @property
    def has_answers(self) -> bool:
        """True when it shows rows of a snapshot for which at least one server has answered."""
        return bool(self.row_count) and any(
            part.asked_at is not None for part in self.snapshot.parts
        )

    def place(self, at: int) -> tuple[BuiltSection, int] | None:
        """Returns the section and the place in it of the row `at` among all shown rows."""
        for each in self.sections:
            if at < len(each.order):
                return each, at
            at -= len(each.order)
        return None

    def row(self, at: int) -> Row | None:
        """Returns the row `at` among all shown rows; None when there is none."""
        found = self.place(at)
        return found[0].row(found[1]) if found else None

    def cursor_at(self, cursor: tuple[str, str] | None, otherwise: int) -> int:
        """Returns the place of the row that the cursor is on, or the nearest to `otherwise`."""
        before = 0
        for each in self.sections:
            if cursor is not None and each.section.name == cursor[0]:
                try:
                    return before + each.keys.index(cursor[1])
                except ValueError:
                    pass
            before += len(each.order)
        return max(0, min(otherwise, before - 1))

    def start_at(self) -> int:
        """Returns the place of the row on which the page begins: of the first section with rows."""
        places, before = {}, 0
        for each in self.sections:
            if each.order:
                places[each.section.name] = before
            before += len(each.order)
        begins: Sequence[str] = getattr(self.page, "begins", ())
        return next((places[name] for name in begins if name in places), 0)

    def newest_at(self) -> int | None:
        """Returns the place of the newest row; None where no page's end is the newest."""
        title = getattr(self.page, "follows", "")
        last = self.sections[-1] if self.sections else None
        if not title or last is None or not last.order or not last.sorted_by:
            return None
        first = last.sorted_by[0]
        if first.removeprefix("-") != title:
            return None
        is_on_top = first.startswith("-") != last.is_reversed
        return self.row_count - (len(last.order) if is_on_top else 1)

    # A page may stumble over a value that nobody thought of: its error is shown, and ends nothing.

    def opened(self, row: Row) -> Page | None:
        """Returns the page behind a row; None when there is none."""
        try:
            return self.page.opened(self.snapshot, row)
        except Exception:
            return None

    def actions(self, row: Row | None) -> Sequence[Action]:
        """Returns the actions on a row; none after an error."""
        try:
            return self.page.actions(self.snapshot, row, self.now)
        except Exception:
            return ()

    def notes(self, row: Row | None) -> Sequence[str]:
        """Returns the notes on a row, or the error in place of them."""
        try:
            return self.page.notes(self.snapshot, row, self.now)
        except Exception as error:
            return (error_text(error),)

    def cursor(self, at: int) -> tuple[str, str] | None:
        """Returns (section, key) of the row `at`; None when there is none."""
        found = self.place(at)
        return (found[0].section.name, found[0].keys[found[1]]) if found else None


def built_or_failed(view: ViewState, snapshot: Snapshot, now: float) -> BuiltPage:
    """Returns the page of a view as it is shown, or a page with the error that it raised."""
    try:
        return built(view, snapshot, now)
    except Exception as error:
        return built(ViewState(page=failed_page(view.page.name, error)), snapshot, now)


def built(view: ViewState, snapshot: Snapshot, now: float) -> BuiltPage:
    """Returns the page of a view."""
    page, problem = view.page, None
    matchers = []
    try:
        matchers = [matcher_of(view.filter), words_matcher(view.words)]
    except BadFilter as error:
        problem = str(error)
    filters = [each for each in matchers if each is not None]
    sections = page.sections(snapshot, now)
    return BuiltPage(
        page=page,
        title=page.title(snapshot),
        sections=tuple(
            built_section(each, view, filters, is_last=at == len(sections) - 1)
            for at, each in enumerate(sections)
        ),
        snapshot=snapshot,
        now=now,
        problem=problem,
    )


def built_section(
    section: Section, view: ViewState, filters: Sequence[Matcher] = (), is_last: bool = True
) -> BuiltSection:
    """Returns a section with the rows that the view shows, in its order."""
    rows = section.rows
    kept = _kept(section, view, filters)
    titles = view.sorts.get(section.name, section.sort)
    is_reversed = section.name in view.reversed
    order = ordered(rows, kept, section.columns, titles)
    if is_reversed:
        order.reverse()
    hidden = 0
    if not is_last and section.rows_max is not None and len(order) > section.rows_max:
        hidden = len(order) - section.rows_max
        del order[section.rows_max :]
    keys = keys_of(rows)
    return BuiltSection(
        section=section,
        order=order,
        keys=[keys[at] for at in order],
        sorted_by=titles,
        is_reversed=is_reversed,
        hidden=hidden,
        filtered=len(rows) - len(kept),
    )


def _kept(section: Section, view: ViewState, filters: Sequence[Matcher]) -> list[int]:
    rows = section.rows
    kept = list(range(len(rows)))
    if view.is_faults_only:
        faults = faults_of(rows)
        kept = [at for at in kept if faults[at]]
    if filters:
        texts = texts_of(rows, section.columns)
        kept = [at for at in kept if all(is_kept(texts[at]) for is_kept in filters)]
    return kept


def ordered(
    rows: Sequence[Row], kept: list[int], columns: Sequence[Column], titles: Sequence[str]
) -> list[int]:
    """Returns the places sorted by columns, the first title counting most; unknown is first."""
    order = list(kept)
    names = [column.title for column in columns]
    for title in reversed(titles):
        name = title.removeprefix("-")
        if name not in names:
            continue
        values = sorts_of(rows, name, names.index(name))
        _sort(order, values, is_descending=title.startswith("-"))
    return order


def _sort(order: list[int], values: list[Sort], is_descending: bool) -> None:
    """Sorts places stably by their values; unknown comes first in either direction."""
    unknown = [at for at in order if values[at] is None]
    known = [at for at in order if values[at] is not None]
    known.sort(key=lambda at: _comparable(values[at]), reverse=is_descending)
    order[:] = unknown + known


def _comparable(value: Sort) -> tuple[bool, float, str]:
    """Returns a key under which numbers and texts of one column can be compared."""
    if isinstance(value, str):
        return True, 0.0, value
    return False, value or 0.0, ""


def next_sort(columns: Sequence[Column], titles: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the sort by the column after the one sorted by; numbers begin with the largest."""
    columns = [column for column in columns if not column.is_printed_only]
    names = [column.title for column in columns]
    first = titles[0].removeprefix("-") if titles else ""
    at = (names.index(first) + 1) % len(names) if first in names else 0
    return (f"-{names[at]}" if columns[at].is_right else names[at],)


COLUMNS = (Column("ERROR", 40, "a mistake of the console; the values of servers caused it"),)


def failed_page(name: str, error: Exception) -> ListPage:
    """Returns the page that says why the page of a screen cannot be shown."""
    # Without rows, so that the cursor of the page is kept.
    table = Section("error", COLUMNS, (), empty=error_text(error))
    return ListPage(f"{name}   cannot be shown", (table,), name)


def error_text(error: Exception) -> str:
    """Returns an error as text, for the operator to report."""
    return f"cannot be shown, please report it: {type(error).__name__}: {error}"


def failed_row(key: str, columns: int, error: Exception) -> Row:
    """Returns a row in place of one that could not be made; its why is the error."""
    cells = (Cell("!", "bad"),) * columns
    return Row(key, cells, is_fault=True, why=error_text(error))
