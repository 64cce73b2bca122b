"""Recording without a screen: ends on a signal or by time, and drains."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tui.recording.recordings import MAX_BYTES, recorded
from tests.tui.recording.samples import BEGAN, event, full
from tui.facts.snapshot import Snapshot
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording
from tui.recording.unattended import SIGNALS, record

Tell = Callable[[str], None]


class Scripted:
    """Source that gives some snapshots at once, and then does something."""

    def __init__(self, count: int, then: Callable[[], object] = lambda: None) -> None:
        self._count, self._then = count, then
        self.is_closed = False

    def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
        def work() -> None:
            for number in range(self._count):
                on_snapshot(full(BEGAN + number))
            self._then()

        threading.Thread(target=work).start()

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def _signals_not_ignored() -> Iterator[None]:
    before = {number: signal.signal(number, signal.SIG_DFL) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def last(path: Path) -> Snapshot:
    with Reader(path) as reader:
        return reader.snapshot(reader.last())


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_it_and_the_last_snapshot_is_in_the_file(
    tmp_path: Path, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tui")
    source = Scripted(5, lambda: os.kill(os.getpid(), number))
    assert record(tmp_path / "a.rec", MAX_BYTES, lambda _: source, None)
    assert source.is_closed
    assert last(tmp_path / "a.rec") == full(BEGAN + 4)
    events = [each.getMessage().split()[0] for each in caplog.records]
    assert events == ["event=recording", "event=stopping", "event=stopped"]
    assert signal.Signals(number).name in caplog.text


def test_it_ends_when_its_time_is_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "tui")
    assert record(tmp_path / "a.rec", MAX_BYTES, lambda _: Scripted(1), 0.1)
    assert "why=its time is over" in caplog.text


def test_an_ignored_hangup_stays_ignored(tmp_path: Path) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert record(tmp_path / "a.rec", MAX_BYTES, lambda _: Scripted(1), 0.01)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


def test_a_file_that_is_no_recording_is_refused_before_a_server_is_asked(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    opened = []

    def open_source(_: Tell) -> Scripted:
        opened.append(Scripted(1))
        return opened[0]

    with pytest.raises(NoRecording):
        record(tmp_path / "notes", MAX_BYTES, open_source, 0.1)
    assert not opened


def test_it_ends_at_once_when_another_recorder_writes_to_its_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.rec"

    def opened(_: Tell) -> Scripted:
        recorded(path, [full(BEGAN - 5)])
        return Scripted(3)

    assert not record(path, MAX_BYTES, opened, 30.0)
    assert "event=recording-trouble nothing is recorded: another process" in caplog.text
    assert last(path) == full(BEGAN - 5)


def test_each_change_of_what_is_in_the_way_is_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tui")

    def opened(tell: Tell) -> Scripted:
        def problems() -> None:
            for each in ("KeyError: 'orders'", ""):
                tell(each)
            os.kill(os.getpid(), signal.SIGTERM)

        return Scripted(1, problems)

    assert record(tmp_path / "a.rec", MAX_BYTES, opened, None)
    lines = [each.getMessage() for each in caplog.records]
    assert lines[1:3] == ["event=no-snapshot KeyError: 'orders'", "event=snapshots-again"]


def test_a_snapshot_above_the_limit_is_a_line_and_the_end_is_no_success(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tui")
    large = replace(full(BEGAN), events=tuple(event(number) for number in range(20_000)))

    class Growing(Scripted):
        def start(self, on_snapshot: Callable[[Snapshot], None]) -> None:
            on_snapshot(large)

    assert not record(tmp_path / "a.rec", 64 * 1024, lambda _: Growing(0), 0.5)
    assert "event=recording-trouble nothing is recorded: " in caplog.text
    assert "--max-mib 0.0625" in caplog.text
