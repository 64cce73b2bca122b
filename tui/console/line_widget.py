"""Widget of lines: draws pieces by Textual's line API, and again only those that changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tui.console.styled_text import StyledLine, changed_spans

TONES = (
    "bad",
    "warn",
    "good",
    "dim",
    "bold",
    "heading",
    "titles",
    "cursor",
    "bar",
    "key",
    "off",
    "on",
)


class LineWidget(ScrollView):
    """Widget that shows lines of pieces."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"tone--{tone}" for tone in TONES}
    DEFAULT_CSS = """
    LineWidget { overflow: hidden hidden; background: $background; color: $foreground; }
    LineWidget > .tone--bad { color: $text-error; text-style: bold; }
    LineWidget > .tone--warn { color: $text-warning; }
    LineWidget > .tone--good { color: $text-success; }
    LineWidget > .tone--dim { color: $foreground 70%; }
    LineWidget > .tone--bold { text-style: bold; }
    LineWidget > .tone--heading { color: $text-accent; text-style: bold; }
    LineWidget > .tone--titles { color: $foreground; background: $panel; }
    LineWidget > .tone--cursor {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
    }
    LineWidget > .tone--bar { color: $foreground; background: $panel; }
    LineWidget > .tone--key { color: $text-accent; background: $panel; text-style: bold; }
    LineWidget > .tone--off { color: $foreground 60%; background: $panel; }
    LineWidget > .tone--on {
        color: $block-cursor-foreground; background: $block-cursor-background; text-style: bold;
    }
    """
    can_focus = False

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: list[StyledLine] = []

    @property
    def lines(self) -> Sequence[StyledLine]:
        """Lines that are shown."""
        return self._lines

    def show_lines(self, lines: Sequence[StyledLine]) -> None:
        """Shows lines; only those that differ from the ones before are drawn."""
        old, self._lines = self._lines, list(lines)
        width = self.size.width
        regions = [
            Region(x, y, length, 1)
            for y in range(max(len(old), len(lines)))
            for x, length in changed_spans(
                old[y] if y < len(old) else None, lines[y] if y < len(lines) else (), width
            )
        ]
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """Returns one line for Textual."""
        width = self.size.width
        if y >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        segments = [
            Segment(text, self.get_component_rich_style(f"tone--{tone}") if tone else base)
            for base in (self.rich_style,)
            for text, tone in self._lines[y]
        ]
        # Each segment costs some 30 bytes of escapes, so neighbours in one tone are joined.
        return Strip(segments).adjust_cell_length(width, self.rich_style).simplify()
