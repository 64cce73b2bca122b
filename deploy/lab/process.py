"""One server process of the lab: started, watched, ended, and found again by a later command."""

import os
import random
import signal
import socket
import subprocess
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


class NotStarted(Exception):
    """A server of the lab ended or did not answer in time; the message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Which process this is: a pid alone may be another process by tomorrow."""

    name: str
    pid: int
    started_ticks: int

    def is_running(self) -> bool:
        """Whether that same process still runs; a zombie and a reused pid do not count."""
        return started_ticks(self.pid) == self.started_ticks


def started_ticks(pid: int) -> int | None:
    """When the process was started, in clock ticks since boot; None when there is no such process.

    Source: /proc/<pid>/stat, field 22 (and 3, the state: zombies are gone for our purposes).
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name in parentheses may hold spaces: count the fields behind the last ")".
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def descendants(pid: int) -> list[int]:
    """The processes that it started, those that they started, and so on; nearest first."""
    children = defaultdict(list)
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = entry.read_text().rpartition(")")[2].split()[1]
            children[int(parent)].append(int(entry.parent.name))
    found = list(children[pid])
    for each in found:
        found += children[each]
    return found


class Process:
    """A child process with its log; dies with its parent unless it is detached."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        *,
        detached: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        # setpriv asks the kernel to end the child when the thread that started it ends. It goes
        # by exec, so the pid stays, and no Python runs between fork and exec.
        prefix = [] if detached else ["setpriv", "--pdeathsig", "KILL"]
        with log.open("ab") as output:
            self._child = subprocess.Popen(
                [*prefix, *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=detached,
                env={**os.environ, **(environment or {})},
            )

    @property
    def pid(self) -> int:
        return self._child.pid

    def identity(self) -> Identity:
        """Raises NotStarted when the process is gone already."""
        ticks = started_ticks(self.pid)
        if ticks is None:
            raise self.failure("has ended")
        return Identity(self.name, self.pid, ticks)

    def is_running(self) -> bool:
        return self._child.poll() is None

    def send(self, number: int) -> None:
        """Sends the signal; a process that has ended already is left alone."""
        self._child.send_signal(number)

    def kill(self) -> None:
        """Ends it as a power cut would: SIGKILL, works on a paused process too."""
        self._child.kill()
        self._child.wait()

    def kill_family(self) -> None:
        """kill(), of everything that descends from it as well."""
        family = descendants(self.pid)
        self.kill()
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait(self, timeout_seconds: float | None = None) -> int:
        """The exit status; raises subprocess.TimeoutExpired."""
        return self._child.wait(timeout_seconds)

    def terminate(self) -> None:
        """Asks it to end (SIGTERM), also when it is paused; does not wait."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)

    def stop(self, timeout_seconds: float = 20.0) -> None:
        """Asks it to end, and ends it when it has not done so in time."""
        self.terminate()
        try:
            self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def failure(self, what: str) -> NotStarted:
        """The error that says what is wrong with this process, with the end of its log."""
        tail = self.log.read_text(errors="replace")[-2000:]
        return NotStarted(f"{self.name} {what}; see {self.log}, which ends with:\n{tail}")


def end(processes: Sequence[Identity], timeout_seconds: float = 20.0) -> None:
    """Ends exactly these processes, whoever started them: SIGTERM to all, SIGKILL to the last."""
    for number, patience_seconds in ((signal.SIGTERM, timeout_seconds), (signal.SIGKILL, 5.0)):
        left = [process for process in processes if process.is_running()]
        for process in left:
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, number)
        give_up_at = time.monotonic() + patience_seconds
        while any(process.is_running() for process in left) and time.monotonic() < give_up_at:
            time.sleep(0.05)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on.

    Below the range that outgoing connections take their ports from (32768 and up on Linux): a
    broker that is down for a moment could else find its port taken by some client, or a client
    that reconnects could be connected to itself.
    """
    while True:
        port = random.SystemRandom().randrange(10_240, 32_000)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
