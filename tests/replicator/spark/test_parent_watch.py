"""Python processes of Spark end with what started them, whatever they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from replicator.spark.parent_watch import DRIVER_PID, LOOK_SECONDS

CHECKOUT = Path(__file__).parents[3]
WATCHED = """
import socket
from replicator.spark.parent_watch import end_with_parent
end_with_parent()
print("watching", flush=True)
{work}
"""
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdout=subprocess.PIPE, text=True)
print(child.pid, child.stdout.readline(), flush=True)
child.wait()
"""
WORKS = {
    "computes": "while True: pass",
    "sleeps": "import time\nwhile True: time.sleep(0.1)",
    "waits for a socket": "socket.socketpair()[0].recv(1)",
}
PATIENCE_SECONDS = 5.0


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_a_process_ends_with_its_parent_whatever_it_does(work):
    with started(work, os.environ) as parent:
        child = child_of(parent)
        parent.kill()
        child.wait(PATIENCE_SECONDS)


def test_a_process_ends_with_the_daemon_though_its_parent_lives():
    waiting = [sys.executable, "-c", "input()"]
    with (
        subprocess.Popen(waiting, stdin=subprocess.PIPE) as daemon,
        started(WORKS["sleeps"], {**os.environ, DRIVER_PID: str(daemon.pid)}) as parent,
    ):
        child = child_of(parent)
        daemon.kill()
        daemon.wait()
        child.wait(PATIENCE_SECONDS)
        assert parent.wait() == 0


def test_a_process_whose_parent_and_daemon_live_goes_on():
    with started(WORKS["sleeps"], {**os.environ, DRIVER_PID: str(os.getpid())}) as parent:
        child = child_of(parent)
        with pytest.raises(psutil.TimeoutExpired):
            child.wait(2.5 * LOOK_SECONDS)
        parent.kill()
        child.wait(PATIENCE_SECONDS)


def started(work, environment):
    """Returns a process whose child watches over its parent, and does this work."""
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, WATCHED.format(work=work)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CHECKOUT,
        env=environment,
    )


def child_of(parent):
    """Returns the child once it is watching."""
    pid, _watching = parent.stdout.readline().split()
    return psutil.Process(int(pid))
