"""Run in a terminal: every end leaves it as it was, within two seconds."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.tui.console.in_pty import InPty, started

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


def test_q_ends_with_0_and_leaves_the_terminal_as_it_was(consoles):
    found = console(consoles)
    os.write(found.fileno, b"q")
    assert found.ended(5)
    assert found.exit_code == 0
    assert LEFT_SCREEN in found.output and found.output.rstrip().endswith(b"left")


def test_the_terminal_tells_its_size_and_not_the_environment(consoles):
    code = CODE.format(ask="pass", close="pass")
    found = started(["-c", code], size=(100, 30), COLUMNS="80", LINES="24")
    consoles.append(found)
    assert found.shows(b"\x1b[30;1H"), found.output


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
