"""Navigation: for each screen, a stack of opened pages that esc goes back along."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tui.console.view_state import ViewState
from tui.pages.page import Page


class Navigation:
    """Stack of views of each screen; the last one of the current screen is shown.

    Args:
        first_page: first page of a screen, by its name.
    """

    def __init__(self, first_page: Callable[[str], Page], screen: str) -> None:
        self._first_page = first_page
        self._stacks: dict[str, list[ViewState]] = {}
        self.screen = screen
        self.go_to(screen)

    @property
    def current(self) -> ViewState:
        """State of the view that is shown."""
        return self._stacks[self.screen][-1]

    @current.setter
    def current(self, view: ViewState) -> None:
        self._stacks[self.screen][-1] = view

    @property
    def depth(self) -> int:
        """Number of pages that esc can leave, and one."""
        return len(self._stacks[self.screen])

    def go_to(self, screen: str) -> None:
        """Shows the first page of a screen, with the cursor where it was."""
        self.screen = screen
        stack = self._stacks.setdefault(screen, [])
        del stack[1:]
        if not stack:
            stack.append(first_view(self._first_page(screen)))

    def open(self, page: Page) -> None:
        """Shows a page above the current one, whose cursor stays on its row."""
        self.current = replace(self.current, is_at_start=False)
        self._stacks[self.screen].append(first_view(page))

    def jump(self, screen: str, pages: list[Page]) -> None:
        """Shows pages of a screen, one above another."""
        self.go_to(screen)
        for page in pages:
            self.open(page)

    def back(self) -> bool:
        """Leaves the current page. Returns False on the first page of a screen."""
        stack = self._stacks[self.screen]
        if len(stack) == 1:
            return False
        stack.pop()
        return True


def first_view(page: Page) -> ViewState:
    """Returns the state with which a page is opened.

    A page may say on which row its cursor begins (`cursor`), or in which sections (`begins`), and
    by which column its newest row is found (`follows`).
    """
    cursor = getattr(page, "cursor", None)
    return ViewState(
        page=page,
        cursor=cursor if isinstance(cursor, tuple) else None,
        is_at_start=bool(getattr(page, "begins", ())),
        is_following=bool(getattr(page, "follows", "")),
    )
