"""Freed memory: what was freed between pages in use goes back to the system."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from replicator.runtime.freed_memory import LARGE_BYTES, FreedMemory, give_back, map_large_blocks

PAGE = 4096


def resident_bytes():
    return PAGE * int(Path("/proc/self/statm").read_text().split()[1])


def test_memory_that_was_freed_between_pages_in_use_is_given_back():
    size, count = 64 << 10, 1000
    kept = [bytes(size) for _ in range(2 * count)]
    for at in range(0, len(kept), 2):
        kept[at] = b""
    before = resident_bytes()
    give_back()
    assert before - resident_bytes() > size * count // 2
    assert len(kept) == 2 * count


def test_memory_is_given_back_after_so_much_work_and_a_second_after_less():
    given = []
    freed = FreedMemory(100, lambda: given.append(1))
    steps = [(0.0, 60, 1), (0.1, 60, 1), (0.2, 39, 1), (0.3, 1, 2), (1.2, 5, 2), (1.3, 0, 3)]
    for now, size, expected in [*steps, (9.0, 0, 3)]:
        freed.note(size)
        freed.look(now)
        assert len(given) == expected, now


def bytes_that_go_back() -> int:
    """Returns how much of ten large blocks goes back to the system when they are freed."""
    map_large_blocks()
    assert pa.default_memory_pool().backend_name == "system"
    first = bytes(30 << 20)
    del first
    blocks, kept = [], []
    for _ in range(10):
        blocks.append(b"x" * (2 * LARGE_BYTES))
        kept.append(b"x" * (100 << 10))
    full = resident_bytes()
    blocks.clear()
    assert len(kept) == 10
    return full - resident_bytes()


def test_large_blocks_go_back_once_they_are_freed_whatever_was_freed_before():
    """The C library would keep all blocks that are smaller than one that was freed. In a process of
    its own: in one that has freed much, blocks find room where there were others."""
    code = f"import {__name__} as it; print(it.bytes_that_go_back())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) > 19 * LARGE_BYTES
