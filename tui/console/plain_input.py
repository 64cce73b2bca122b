"""Input of one line without a border, into which no control character gets."""

from __future__ import annotations

from textual.widgets import Input

from tui.console.plain import plain


class PlainInput(Input):
    """Input of one line; what is pasted is escaped like all other text.

    Args:
        is_replaced: what is typed first takes the place of the value that it began with.
    """

    DEFAULT_CSS = """
    PlainInput, PlainInput:focus {
        height: 1; border: none; padding: 0; background: $panel; color: $foreground;
    }
    """

    def __init__(
        self,
        value: str = "",
        id: str | None = None,  # noqa: A002
        is_replaced: bool = False,
    ) -> None:
        super().__init__(value=value, id=id, select_on_focus=is_replaced)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """Returns the value without control characters."""
        return plain(value)
