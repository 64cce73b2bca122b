"""Freed memory: given back to the system, which is what a limit of a process's memory counts.

The C library keeps pages that were freed between others that are in use, and Arrow's own allocator
keeps some as well. Where large buffers of different lives come and go, that is as much as all that
is in use.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

LARGE_BYTES = 4 << 20
"""Smallest block that gets pages of its own. Each of them costs a page fault, so that below a MiB
writing files would take half as much time again."""
AFTER_SECONDS = 1.0
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of mallopt(3)."""


def map_large_blocks() -> None:
    """Has all memory allocated by the C library, and large blocks in pages of their own, which go
    back to the system once they are freed.

    It has such pages by itself, but takes the largest block that was freed so far for the smallest
    one to get them.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    # Another C library than GNU's has no such call.
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, LARGE_BYTES)


def give_back() -> None:
    """Gives freed memory back. It takes milliseconds, and a page fault for each page that is needed
    again.

    A thread of its own would spare an event loop nothing: the C library holds a lock meanwhile, for
    which the loop's next allocation of more than 512 bytes waits. With 100 MiB on a busy machine a
    loop stood still for 28 to 76 ms beside such a thread, and for 14 to 41 ms without one.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(ctypes.c_size_t(0))


@dataclass(eq=False)
class FreedMemory:
    """Gives back what was freed: after so much work, and soon after the last of it.

    Args:
        after_bytes: memory of the work after which that is done at once.
    """

    after_bytes: int
    give_back: Callable[[], None] = give_back
    _bytes: int = field(init=False, default=0)
    _at: float = field(init=False, default=-math.inf)

    def note(self, size_bytes: int) -> None:
        """Notes the memory of work that is done."""
        self._bytes += size_bytes

    def look(self, now: float) -> None:
        """Gives back what was freed, if it is time to.

        Args:
            now: by a clock that never goes back.
        """
        is_time = now - self._at >= AFTER_SECONDS
        if self._bytes >= self.after_bytes or (self._bytes and is_time):
            self._bytes, self._at = 0, now
            self.give_back()
