"""Dialog of an action: its fields, the exact command, and a confirmation that is typed.

There are no buttons to aim at. An empty confirmation cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input

from tui.console.command_line import JobRefused, missing
from tui.console.line_widget import LineWidget
from tui.console.overlay import Overlay
from tui.console.plain import plain, wrapped
from tui.console.plain_input import PlainInput
from tui.console.styled_text import styled_column
from tui.pages.page import Action, Field
from tui.steering.steered_command import as_typed

COMMAND_LINES_MAX = 6
PAGES = {"pageup": 1 - COMMAND_LINES_MAX, "pagedown": COMMAND_LINES_MAX - 1}
LABEL_WIDTH = 16


class ActionDialog(Overlay[Mapping[str, str] | None]):
    """Dialog. Its result are the values by name of the field; None: nothing is done.

    Args:
        command: returns the exact command; raises JobRefused.
    """

    CSS = """
    ActionDialog { align: center middle; }
    #dialog { width: 92%; height: auto; max-height: 95%; background: $background;
              border: solid $panel; }
    #fields { height: auto; max-height: 12; }
    .field { height: 2; }
    .label { width: 16; height: 1; }
    .help, #title, #said, #ask { height: 1; }
    #command { height: 2; }
    """

    def __init__(self, action: Action, command: Callable[[Mapping[str, str]], str]) -> None:
        super().__init__()
        self.action = action
        self._command = command
        self._first_line = 0

    @property
    def _is_typed(self) -> bool:
        """True when a confirmation is typed."""
        return self.action.changes and not self.action.is_copied

    def compose(self) -> ComposeResult:
        """Yields title, fields, command, confirmation."""
        with Vertical(id="dialog"):
            yield LineWidget(id="title")
            with VerticalScroll(id="fields", can_focus=False):
                for at, field in enumerate(self.action.fields):
                    with Vertical(classes="field"):
                        with Horizontal():
                            yield LineWidget(id=f"label-{at}").add_class("label")
                            # A value with control characters could not be edited as it is.
                            if field.preset == plain(field.preset):
                                yield PlainInput(field.preset, f"field-{at}", is_replaced=True)
                            else:
                                yield LineWidget(id=f"fixed-{at}")
                        yield LineWidget(id=f"help-{at}").add_class("help")
            yield LineWidget(id="command")
            yield LineWidget(id="ask")
            yield PlainInput(id="confirm")
            yield LineWidget(id="said")

    def on_mount(self) -> None:
        """Begins in the first field that has to be filled in."""
        inputs = self._inputs()
        empty = [each for each in inputs if not each.value]
        if not self._is_typed:
            self.query_one("#confirm").can_focus = True
        (empty or [self.query_one("#confirm", PlainInput)])[0].focus()
        self.call_after_refresh(self._show)

    def on_descendant_focus(self, _: events.DescendantFocus) -> None:
        """Moves the mark to the field that takes what is typed."""
        self.call_after_refresh(self._mark)

    def on_resize(self, _: events.Resize) -> None:
        """Draws for the new size."""
        self.call_after_refresh(self._show)

    def _inputs(self) -> list[PlainInput]:
        return [each for each in self.query(PlainInput) if each.id != "confirm"]

    def values(self) -> dict[str, str]:
        """Returns the values of the fields."""
        found = {}
        for at, field in enumerate(self.action.fields):
            inputs = self.query(f"#field-{at}")
            found[field.name] = inputs.first(PlainInput).value.strip() if inputs else field.preset
        return found

    # --- Showing.

    def _show(self) -> None:
        action = self.action
        self._line("title", f"{action.label}: {as_typed(action.words)}", "heading")
        for at, field in enumerate(action.fields):
            self._line(f"help-{at}", f"{'':{LABEL_WIDTH - 1}}{help_of(field)}", "dim")
            if self.query(f"#fixed-{at}"):
                self._line(f"fixed-{at}", field.preset, "")
        self._mark()
        self._show_command()

    def _question(self) -> str:
        others = "; ↑↓ fields" if self.action.fields else ""
        if self.action.is_copied:
            return f"not run from here: enter copies the command, esc leaves{others}"
        if self._is_typed:
            text = f"Type {self.action.confirmation} to run it; empty enter or esc: nothing is done"
            return text + others
        return f"it changes nothing: enter runs it, esc leaves{others}"

    def _show_command(self) -> None:
        try:
            text, tone = self._command(self.values()), ""
        except JobRefused as error:
            text, tone = str(error), "bad"
        widget = self.query_one("#command", LineWidget)
        width = max(10, self.query_one("#title").size.width)
        found = wrapped(text, width - 2)
        self._first_line = max(0, min(self._first_line, len(found) - COMMAND_LINES_MAX))
        lines = window(found, self._first_line, COMMAND_LINES_MAX)
        widget.styles.height = len(lines)
        widget.show_lines([(styled_column(f" {line}", width, tone),) for line in lines])

    def _line(self, name: str, text: str, tone: str, mark: str = " ") -> None:
        widget = self.query_one(f"#{name}", LineWidget)
        widget.show_lines([(styled_column(f"{mark}{text}", max(1, widget.size.width), tone),)])

    def _mark(self) -> None:
        """Marks the field that takes what is typed: a colour alone would not do."""
        for at, field in enumerate(self.action.fields):
            self._line(f"label-{at}", field.name, "bold", self._mark_of(f"field-{at}"))
        tone = "warn" if self._is_typed else "bold"
        self._line("ask", self._question(), tone, self._mark_of("confirm"))

    def _mark_of(self, name: str) -> str:
        return "›" if any(each.has_focus for each in self.query(f"#{name}")) else " "

    def _say(self, text: str) -> None:
        self._line("said", text, "bad")

    # --- Keys.

    def on_key(self, event: events.Key) -> None:
        """Leaves, or moves between the fields."""
        if event.key == "escape":
            event.stop()
            self.dismiss(None)
        elif event.key in ("down", "up"):
            event.stop()
            self.focus_next() if event.key == "down" else self.focus_previous()
        elif event.key in PAGES:
            event.stop()
            self._first_line += PAGES[event.key]
            self._show_command()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Shows the command that belongs to the values."""
        event.stop()
        self._say("")
        self._show_command()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes to the next field, or decides."""
        event.stop()
        if event.input.id != "confirm":
            self.focus_next()
            return
        text = event.value.strip()
        if self._is_typed and not text:
            self.dismiss(None)
            return
        problem = missing(self.action, self.values()) or self._refusal()
        if problem is None and self._is_typed and text != plain(self.action.confirmation):
            problem = f"{text} is not {self.action.confirmation}: nothing is done"
        if problem is not None:
            self._say(problem)
            return
        self.dismiss(self.values())

    def _refusal(self) -> str | None:
        try:
            self._command(self.values())
        except JobRefused as error:
            return str(error)
        return None


def window(lines: Sequence[str], first: int, count: int) -> list[str]:
    """Returns lines from the line `first` on; the last one says how many more there are.

    The last window is full: it ends with the last line.
    """
    left = len(lines) - first - count
    if left <= 0:
        return list(lines[first:])
    return [*lines[first : first + count - 1], f"... {left + 1} lines more: pgdn"]


def help_of(field: Field) -> str:
    """Returns the line below a field."""
    parts = [field.help] if field.help else []
    if field.choices:
        parts.append(f"one of {', '.join(field.choices)}")
    if not field.is_required:
        parts.append("may be empty")
    return "; ".join(parts)
