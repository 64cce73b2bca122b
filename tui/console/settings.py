"""Settings of one run of the console."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tui.console.keys import DEFAULT, Keymap


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSettings:
    """Settings of one run of the console.

    Args:
        file: name of the configuration or recording, for the top line.
        is_steering: changing actions can be started.
        theme: name of the theme at the start; None: Textual's own.
        export_folders: folders for exported files; the first one that can be written to is taken.
    """

    file: str
    is_steering: bool = False
    is_replay: bool = False
    has_mouse: bool = True
    keymap: Keymap = DEFAULT
    theme: str | None = None
    export_folders: tuple[Path, ...] = (Path(),)

    @property
    def mode(self) -> str:
        if self.is_replay:
            return "REPLAY"
        return "STEERING" if self.is_steering else "READING"
