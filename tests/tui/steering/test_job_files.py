"""Files of one job: written whole, read carefully, and locked as long as a process lives."""

from __future__ import annotations

import os
from pathlib import Path

from tui.steering.job_files import Command, JobFiles

COMMAND = Command(("python", "-m", "tui.program"), ("audit", "--topic", "a\x1b[1m"), 1.5, "ann")


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    assert (files.command(), files.pid(), files.end()) == (None, None, None)
    files.write_command(COMMAND)
    files.write_pid(17)
    files.write_end(7)
    assert (files.command(), files.pid()) == (COMMAND, 17)
    end = files.end()
    assert end is not None
    assert end.exit_code == 7


def test_the_lock_is_held_until_its_last_descriptor_is_closed(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    assert not files.is_locked()
    lock = files.locked()
    other = os.dup(lock)
    os.close(lock)
    assert files.is_locked()
    assert files.is_locked()
    os.close(other)
    assert not files.is_locked()


def test_reading_begins_at_an_offset_or_from_the_end(tmp_path: Path) -> None:
    files = JobFiles(tmp_path)
    files.stdout.write_bytes(b"0123456789")
    assert files.read(files.stdout, 3, 4) == b"3456"
    assert files.read(files.stdout, -4, 100) == b"6789"
    assert files.read(files.stdout, -400, 100) == b"0123456789"
    assert files.read(files.stderr, 0, 100) == b""
    assert files.read(tmp_path, 0, 100) == b""
