"""Terminal: refused where there is none, put back at the end."""

import io
import os
import pty
import termios

import pytest

from tui.console.terminal import RESTORING, TerminalState, quiet_stderr, why_no_terminal


class Stream(io.StringIO):
    def __init__(self, is_tty: bool) -> None:
        super().__init__()
        self._is_tty = is_tty

    def isatty(self) -> bool:
        return self._is_tty


@pytest.mark.parametrize(
    ("stdin", "stdout", "term", "why"),
    [
        (True, True, "xterm", None),
        (False, True, "xterm", "stdin is no terminal"),
        (True, False, "xterm", "stdout is no terminal"),
        (True, True, "dumb", "TERM names no terminal"),
        (True, True, "", "TERM names no terminal"),
    ],
)
def test_it_takes_a_terminal_on_stdin_and_stdout(stdin, stdout, term, why):
    found = why_no_terminal(Stream(stdin), Stream(stdout), term)
    assert found is None if why is None else found is not None and found.startswith(why)


def test_the_settings_are_put_back_and_the_screen_is_left():
    own, terminal = pty.openpty()
    state = TerminalState(terminal, terminal)
    before = termios.tcgetattr(terminal)
    raw = termios.tcgetattr(terminal)
    raw[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSANOW, raw)
    state.restore()
    assert termios.tcgetattr(terminal) == before
    assert os.read(own, 1000) == RESTORING.encode()
    os.close(own)
    os.close(terminal)


def test_a_terminal_that_is_gone_is_passed():
    own, terminal = pty.openpty()
    state = TerminalState(terminal, terminal)
    os.close(own)
    state.restore()
    os.close(terminal)


def test_stderr_is_kept_from_the_screen_and_comes_back():
    reading, writing = os.pipe()
    kept = os.dup(2)
    os.dup2(writing, 2)
    try:
        with quiet_stderr():
            os.write(2, b"lost")
        os.write(2, b"told")
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(writing)
    with os.fdopen(reading, "rb") as found:
        assert found.read() == b"told"
