"""Terminal of the console, settings of Python, and its ends, which leave the terminal as it was."""

import gc
import io
import os
import pty
import signal
import sys
import termios
import threading
import time
from collections.abc import Iterator

import pytest

from tests.tui.console.in_pty import InPty, started
from tui.console.interpreter import SWITCH_SECONDS, keep_imported, screen_first
from tui.console.terminal import RESTORING, TerminalState, quiet_stderr, why_no_terminal

# --- Terminal: refused where there is none, put back at the end.


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


# --- Settings of Python while the console runs.


def test_the_settings_hold_for_the_run_only():
    before = gc.get_threshold(), sys.getswitchinterval()
    with screen_first():
        assert gc.get_threshold()[2] > 100_000
        assert sys.getswitchinterval() == SWITCH_SECONDS
    assert (gc.get_threshold(), sys.getswitchinterval()) == before


def test_garbage_is_collected_now_and_then():
    collected = threading.Event()

    def note(phase: str, about: dict[str, int]) -> None:
        if about["generation"] == 2 and threading.current_thread().name == "collector":
            collected.set()

    gc.callbacks.append(note)
    try:
        with screen_first(collection_seconds=0.001):
            assert collected.wait(10)
    finally:
        gc.callbacks.remove(note)


def test_what_was_imported_is_not_looked_at_again():
    before = gc.get_freeze_count()
    try:
        keep_imported()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


# --- Run in a terminal: every end leaves it as it was, within two seconds.

CODE = """
import sys
from tui.console.app import ConsoleApp
from tui.console.run import run
from tui.console.settings import ConsoleSettings
from tui.console.source import Opened
from tui.console.textual_internals import StdoutDriver
class Source:
    problem = ""
    def start(self, tell): self.tell = tell
    def ask_now(self): {ask}
    def set_focus(self, focus): pass
    def close(self): {close}
app = ConsoleApp(ConsoleSettings(file='a.toml'), lambda: Opened(source=Source()),
                 driver=StdoutDriver)
try:
    code = run(app)
except BaseException as error:
    print('failed:', error)
    code = 1
print('left', flush=True)
sys.exit(code)
"""
LEFT_SCREEN = b"\x1b[?1049l"


@pytest.fixture
def consoles() -> Iterator[list[InPty]]:
    found: list[InPty] = []
    yield found
    for each in found:
        each.kill()


def console(consoles: list[InPty], ask: str = "pass", close: str = "pass") -> InPty:
    """Starts a console without servers, and waits for its first frame."""
    found = started(["-c", CODE.format(ask=ask, close=close)])
    consoles.append(found)
    assert found.shows(b"asking the servers")
    return found


def test_q_ends_with_0_and_leaves_the_terminal_as_it_was_and_takes_its_size_from_it(consoles):
    code = CODE.format(ask="pass", close="pass")
    found = started(["-c", code], size=(100, 30), COLUMNS="80", LINES="24")
    consoles.append(found)
    # The terminal tells its size, and not the environment.
    assert found.shows(b"\x1b[30;1H"), found.output
    os.write(found.fileno, b"q")
    assert found.ended(5)
    assert found.exit_code == 0
    assert LEFT_SCREEN in found.output and found.output.rstrip().endswith(b"left")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_within_two_seconds(consoles, number):
    found = console(consoles)
    began = time.monotonic()
    os.kill(found.pid, number)
    assert found.ended(5)
    assert time.monotonic() - began < 2.5
    assert found.exit_code == 128 + number
    assert LEFT_SCREEN in found.output


def test_a_signal_ends_it_even_if_its_thread_hangs(consoles):
    found = console(consoles, ask="__import__('time').sleep(60)")
    os.write(found.fileno, b" ")
    began = time.monotonic()
    os.kill(found.pid, signal.SIGTERM)
    assert found.ended(5)
    assert time.monotonic() - began < 2.5
    assert found.exit_code == 143
    assert LEFT_SCREEN in found.output


def test_a_source_that_does_not_end_holds_nothing_up(consoles):
    found = console(consoles, close="__import__('time').sleep(60)")
    os.write(found.fileno, b"q")
    assert found.ended(4)
    assert found.exit_code == 0


def test_a_crash_leaves_the_terminal_first_and_prints_no_values(consoles):
    found = console(consoles, ask="raise KeyError('lost key')")
    os.write(found.fileno, b" ")
    assert found.ended(5)
    assert found.exit_code == 1
    after = found.output.partition(LEFT_SCREEN)[2]
    assert b"failed: 'lost key'" in after
    assert b"Traceback" not in after


def test_the_end_of_its_terminal_ends_it(consoles):
    found = console(consoles)
    began = time.monotonic()
    os.close(found.fileno)
    while found.exit_code is None and time.monotonic() - began < 5:
        pid, status = os.waitpid(found.pid, os.WNOHANG)
        if pid:
            found.exit_code = os.waitstatus_to_exitcode(status)
        else:
            os.sched_yield()
    assert found.exit_code == 129
    assert time.monotonic() - began < 2.5
