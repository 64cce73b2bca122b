"""Spotlight: the topic and group on screen, for questions that are asked more often for them."""

from __future__ import annotations

from typing import Protocol


class FocusLike(Protocol):
    """Topic and group that are on screen (tui/pages/page.py: Focus)."""

    @property
    def topic(self) -> tuple[str, str] | None:
        """Route and topic, such as ("west>east", "orders")."""

    @property
    def group(self) -> tuple[str, str, str] | None:
        """Group, source region and target region."""


class Spotlight:
    """Holder of the focus. Any thread may read or turn it."""

    def __init__(self) -> None:
        # One tuple, so that a reader never sees the topic of one page and the group of another.
        self._focus: tuple[tuple[str, str] | None, tuple[str, str, str] | None] = (None, None)

    def turn(self, focus: FocusLike) -> bool:
        """Sets the focus; returns True if it is another one."""
        before, self._focus = self._focus, (focus.topic, focus.group)
        return before != self._focus

    @property
    def topic(self) -> tuple[str, str] | None:
        return self._focus[0]

    @property
    def group(self) -> tuple[str, str, str] | None:
        return self._focus[1]

    def topic_of(self, route: str) -> str | None:
        """Returns the topic on screen if it is shown of this route."""
        topic = self.topic
        return topic[1] if topic is not None and topic[0] == route else None
