"""Actions of all screens, with the screen on which each of them is: for the palette."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.console.keys import DEFAULT, Keymap
from tui.pages.alerts import AlertsPage
from tui.pages.balance import BalancePage
from tui.pages.failover import FailoverPage
from tui.pages.feeds import FeedsPage
from tui.pages.groups import GroupsPage
from tui.pages.page import Action, Page
from tui.pages.plan import PlanPage
from tui.pages.stream import StreamPage
from tui.pages.topics import TopicsPage

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot

PLACES: tuple[tuple[str, Page], ...] = (
    ("on a topic or a partition", TopicsPage("")),
    ("", FailoverPage()),
    ("on a plan", PlanPage("")),
    ("on a group", GroupsPage()),
    ("on a stream", BalancePage()),
    ("on a stream", StreamPage("", "")),
    ("on an alert", AlertsPage()),
    ("on a feed or a partition of it", FeedsPage()),
)
"""Pages with actions, and the row that an action is about. Their own names do not matter."""


@dataclass(frozen=True, slots=True)
class PlacedAction:
    """Action of another screen.

    Args:
        screen: name of the screen.
        row: kind of row that the action is about; "" for none.
    """

    screen: str
    row: str
    action: Action


def elsewhere(
    snapshot: Snapshot, now: float, here: Iterable[Action], keymap: Keymap = DEFAULT
) -> list[PlacedAction]:
    """Returns the actions of all screens but those `here`, each one once."""
    known = {_identity(each) for each in here}
    found = []
    for row, page in PLACES:
        for action in page.actions(snapshot, None, now):
            if _identity(action) not in known:
                known.add(_identity(action))
                found.append(PlacedAction(page.name, row, keymap.with_key(action)))
    return found


def _identity(action: Action) -> tuple[str, tuple[str, ...]]:
    return action.label, action.words[:2]
