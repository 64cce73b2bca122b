"""Run of the console in a terminal, to its end: by a key, a signal, or an error."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from types import FrameType

from tui.console.app import ConsoleApp
from tui.console.interpreter import screen_first
from tui.console.terminal import TerminalState, drop_stdout, quiet_stderr
from tui.console.textual_internals import STDOUT
from tui.steering.job import SIGNALLED

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
END_SECONDS = 1.5
"""Time after a signal at which the process ends even if something hangs."""
CLOSE_SECONDS = 0.5


def run(app: ConsoleApp) -> int:
    """Runs the console, and returns the exit code. Raises the error that ended it."""
    terminal = TerminalState(sys.stdin.fileno(), STDOUT)
    ended = _Signals(app, terminal)
    before = {number: signal.signal(number, ended.take) for number in SIGNALS}
    try:
        with quiet_stderr(), screen_first():
            app.run(mouse=app.state.settings.has_mouse)
    except OSError as error:
        # The terminal is gone: neither drawing nor putting it back is possible.
        app.failure = app.failure or error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    closing = threading.Thread(target=app.close_parts, name="closing", daemon=True)
    closing.start()
    closing.join(CLOSE_SECONDS)
    if isinstance(app.failure, OSError) and app.failure.errno == errno.EIO:
        ended.number = ended.number or signal.SIGHUP
    if ended.number == signal.SIGHUP:
        drop_stdout()
    if ended.number is not None:
        return SIGNALLED + ended.number
    if app.failure is not None:
        raise app.failure
    return app.return_value or 0


class _Signals:
    """Ends the console after a signal, in any case within END_SECONDS."""

    def __init__(self, app: ConsoleApp, terminal: TerminalState) -> None:
        self._app = app
        self._terminal = terminal
        self.number: int | None = None

    def take(self, number: int, _: FrameType | None) -> None:
        """Handles a signal."""
        if self.number is not None:
            return
        self.number = number
        threading.Thread(target=self._end, name="end", daemon=True).start()

    def _end(self) -> None:
        self._app.exit_from_thread(SIGNALLED + (self.number or 0))
        time.sleep(END_SECONDS)
        # Still here: a terminal that is gone, or a thread that does not end.
        self._terminal.restore()
        os._exit(SIGNALLED + (self.number or 0))
