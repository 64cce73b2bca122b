"""Parent watch: ends a Python process of Spark once its daemon or its JVM is gone.

Spark ends its Python processes when their JVM closes their input. A process that does not read it,
because it works or waits for work, would live on: until its epoch ends, or for ever. A signal at
the parent's death (PR_SET_PDEATHSIG) is no help: it is bound to the parent's thread, and threads of
a JVM come and go.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import MutableMapping, Sequence
from pathlib import Path
from typing import NamedTuple

DAEMON = "SLUICE_DAEMON"
"""Environment variable: the daemon's process, for processes on its host."""
OF_SPARK = frozenset(["SPARK_PYTHON_RUNTIME", "PYTHON_WORKER_FACTORY_SECRET"])
"""Environment variables that Spark sets for its Python processes."""
LOOK_SECONDS = 1.0
EXIT_CODE = 75
"""Exit code of a process that ends because its parent did; nobody is left to read it."""
PROC = Path("/proc")


class WatchedProcess(NamedTuple):
    """Process, told apart from a later one with its id.

    Args:
        born: time of its start in ticks since the host's start.
    """

    pid: int
    born: int

    @property
    def is_alive(self) -> bool:
        """False if it has ended, also while nobody has waited for it."""
        return process(self.pid) == self

    def __str__(self) -> str:
        return f"{self.pid}:{self.born}"


def process(pid: int) -> WatchedProcess | None:
    """Returns a process that runs; None if there is none."""
    fields = _fields(pid)
    if not fields or fields[0] in ("Z", "X"):
        return None
    return WatchedProcess(pid, int(fields[19]))


def tell_daemon(environment: MutableMapping[str, str]) -> None:
    """Names this process as the daemon, for the processes that inherit the environment."""
    own = process(os.getpid())
    if own is not None:
        environment[DAEMON] = str(own)


def parents() -> list[WatchedProcess]:
    """Returns the processes without which this one has no work: the parent and the parent's parent,
    which are the JVM and Spark's starter of workers, or the daemon and the JVM; and the daemon."""
    parent = os.getppid()
    above = _fields(parent)
    found = [process(pid) for pid in (parent, int(above[1]) if above else 0) if pid > 1]
    told = os.environ.get(DAEMON, "")
    if told.count(":") == 1:
        found.append(WatchedProcess(*map(int, told.split(":"))))
    return [each for each in found if each is not None]


def is_of_spark() -> bool:
    """Returns True in a Python process that Spark has started."""
    return not os.environ.keys().isdisjoint(OF_SPARK)


def end_with_parents() -> None:
    """Has this process of Spark end within seconds of any of its parents; begins once.

    Others, such as those of tests that run a task themselves, are left alone.
    """
    if not is_of_spark():
        return
    if not any(thread.name == __name__ for thread in threading.enumerate()):
        threading.Thread(target=_watch, args=(parents(),), name=__name__, daemon=True).start()


def _watch(watched: Sequence[WatchedProcess]) -> None:
    while all(each.is_alive for each in watched):
        time.sleep(LOOK_SECONDS)
    # Nothing is released: successors fence. Handlers of exits may wait for what is gone.
    os._exit(EXIT_CODE)


def _fields(pid: int) -> list[str]:
    """Returns what Linux tells of a process behind its name: state, parent and so on."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return []
    return text.rpartition(")")[2].split()
