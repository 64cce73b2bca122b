"""Terminal of a test: a program in tmux, on a server of the test's own, driven by keys."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil

from deploy.lab.wait import until

PATIENCE_SECONDS = 30.0
THEN_TELL = '"$@"; echo "ended $?"; stty -a; exec sleep 600'
"""Shell script that runs a program, then shows its exit code and the terminal's settings."""
ENDED = re.compile(r"^ended (\d+)$", re.MULTILINE)
SETTINGS = """\
set -g status off
set -g escape-time 0
set -g default-terminal tmux-256color
"""


class Terminal:
    """Program in a terminal. Use as a context manager; whatever runs ends with it.

    Args:
        columns, rows: size at the start.
        environment: variables beside those of the test.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        columns: int = 80,
        rows: int = 24,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        # Not in pytest's folder: the path of a socket is limited to 107 characters.
        self._folder = Path(tempfile.mkdtemp(prefix="sluice-tmux-"))
        settings = self._folder / "tmux.conf"
        settings.write_text(SETTINGS)
        self._server = ["tmux", "-u", "-S", str(self._folder / "socket"), "-f", str(settings)]
        self._environment = {**os.environ, **(environment or {})}
        self._environment.pop("TMUX", None)
        size = ["-x", str(columns), "-y", str(rows)]
        self._tmux("new-session", "-d", *size, "--", "sh", "-c", THEN_TELL, "sh", *command)
        self.pid = self._program()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_server()
        shutil.rmtree(self._folder, ignore_errors=True)

    def press(self, *keys: str) -> None:
        """Presses keys by tmux's names, such as "2", "Enter", "Escape" or "C-f"."""
        self._tmux("send-keys", *keys)

    def write(self, text: str) -> None:
        """Types a text."""
        self._tmux("send-keys", "-l", text)

    def screen(self) -> str:
        """Returns the text on the screen, a line for each row."""
        return self._tmux("capture-pane", "-p")

    def shows(self, *texts: str) -> str:
        """Waits until all texts are on the screen, and returns it."""
        seen = ""

        def are_there() -> bool:
            nonlocal seen
            seen = self.screen()
            return all(text in seen for text in texts)

        assert until(are_there, PATIENCE_SECONDS), f"never {texts} on screen:\n{seen}"
        return seen

    def resize(self, columns: int, rows: int) -> None:
        """Gives the terminal another size."""
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def about(self, variable: str) -> str:
        """Returns a variable of tmux, such as "pane_pid" or "alternate_on"."""
        return self._tmux("display-message", "-p", f"#{{{variable}}}").strip()

    def exit_code(self) -> int:
        """Waits for the end of the program, and returns its exit code."""
        self.shows("ended ", "icanon")
        (found,) = ENDED.findall(self.screen())
        return int(found)

    def kill_server(self) -> None:
        """Ends the terminal as a closed connection does: the program gets a hangup."""
        subprocess.run([*self._server, "kill-server"], capture_output=True, check=False)

    def _program(self) -> int:
        shell = psutil.Process(int(self.about("pane_pid")))
        assert until(shell.children, PATIENCE_SECONDS)
        return int(shell.children()[0].pid)

    def _tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._server, *words],
            capture_output=True,
            text=True,
            check=True,
            env=self._environment,
        )
        return done.stdout
