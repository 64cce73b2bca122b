"""Server process of the lab: started, watched, ended, and found again by a later command."""

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
    """A server of the lab ended or did not answer in time. The message has the end of its log."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Identity of a process: a pid alone may belong to another process later."""

    name: str
    pid: int
    started_ticks: int

    def is_running(self) -> bool:
        """Returns True if this process still runs; a zombie or a reused pid does not count."""
        return started_ticks(self.pid) == self.started_ticks


def started_ticks(pid: int) -> int | None:
    """Returns the start time of a process in clock ticks since boot, or None if there is no such
    process.

    Source: /proc/<pid>/stat, field 22; by field 3, the state, zombies count as ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name in parentheses may hold spaces: fields are counted from the last ")".
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def descendants(pid: int) -> list[int]:
    """Returns the pids of all descendants of a process, nearest first."""
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
    """A child process with its log; ends with its parent unless it is detached."""

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
        # setpriv asks the kernel to kill the child when the thread that started it ends. It
        # continues by exec, so the pid stays, and no Python runs between fork and exec.
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
        """Returns the identity. Raises NotStarted if the process has already ended."""
        ticks = started_ticks(self.pid)
        if ticks is None:
            raise self.failure("has ended")
        return Identity(self.name, self.pid, ticks)

    def is_running(self) -> bool:
        return self._child.poll() is None

    def send(self, number: int) -> None:
        """Sends the signal; does nothing if the process has already ended.

        After SIGSTOP it stands still when this returns: each of its threads was told.
        """
        self._child.send_signal(number)
        if number == signal.SIGSTOP and self.is_running():
            os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def kill(self) -> None:
        """Sends SIGKILL, the equivalent of a power cut; works on a paused process too."""
        self._child.kill()
        self._child.wait()

    def kill_family(self) -> None:
        """Kills the process and all its descendants."""
        family = descendants(self.pid)
        self.kill()
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def wait(self, timeout_seconds: float | None = None) -> int:
        """Returns the exit status. Raises subprocess.TimeoutExpired."""
        return self._child.wait(timeout_seconds)

    def terminate(self) -> None:
        """Sends SIGTERM, also to a paused process; does not wait."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)

    def stop(self, timeout_seconds: float = 20.0) -> None:
        """Sends SIGTERM, and SIGKILL if the process does not end in time."""
        self.terminate()
        try:
            self._child.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def failure(self, what: str) -> NotStarted:
        """Returns an error that names this process and what is wrong, with the end of its log."""
        tail = self.log.read_text(errors="replace")[-2000:]
        return NotStarted(f"{self.name} {what}; see {self.log}, which ends with:\n{tail}")


def end(processes: Sequence[Identity], timeout_seconds: float = 20.0) -> None:
    """Ends exactly these processes, no matter who started them: SIGTERM, then SIGKILL."""
    for number, patience_seconds in ((signal.SIGTERM, timeout_seconds), (signal.SIGKILL, 5.0)):
        left = [process for process in processes if process.is_running()]
        for process in left:
            os.kill(process.pid, signal.SIGCONT)
            os.kill(process.pid, number)
        give_up_at = time.monotonic() + patience_seconds
        while any(process.is_running() for process in left) and time.monotonic() < give_up_at:
            time.sleep(0.05)


_given_ports: set[int] = set()


def free_port() -> int:
    """Returns a port of 127.0.0.1 that is not in use, and that this process was not given before.

    The port is below the range of ephemeral ports (32768 and up on Linux). Otherwise the port of a
    broker that is down for a moment could be taken by a client, or a reconnecting client could
    connect to itself.
    """
    while True:
        port = random.SystemRandom().randrange(10_240, 32_000)
        if port in _given_ports:
            continue  # its server may still be about to start
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _given_ports.add(port)
        return port
