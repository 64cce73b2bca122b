"""A Python process of Spark ends within seconds of its daemon or its JVM, whatever it does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from replicator.spark.parent_watch import DAEMON, process, tell_daemon

END_SECONDS = 5.0
# Four processes: daemon > JVM > starter > worker. The worker shuts its ears and waits for ever.
CHAIN = """
import os, signal, subprocess, sys, time
level = int(sys.argv[1])
if level == 0:
    from replicator.spark.parent_watch import end_with_parents
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end_with_parents()
    end_with_parents()
else:
    subprocess.Popen([sys.executable, "-c", os.environ["CHAIN"], str(level - 1)])
print(level, os.getpid(), flush=True)
time.sleep(600)
"""


def chain(levels: int, environment: dict[str, str]) -> dict[int, int]:
    """Starts processes, each the child of the one before; returns their ids by level."""
    command = [sys.executable, "-c", CHAIN, str(levels)]
    of_spark = {"SPARK_PYTHON_RUNTIME": "PYTHON_WORKER", "CHAIN": CHAIN}
    environment = {**os.environ, **environment, **of_spark}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as first:
        assert first.stdout is not None
        lines = [first.stdout.readline().split() for _ in range(levels + 1)]
        # The test waits for the first process only where it kills it.
        first.stdout.close()
        first.returncode = 0
    return {int(level): int(pid) for level, pid in lines}


def until(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.05)
    return holds()


@pytest.mark.parametrize("killed", [1, 2])
def test_a_worker_ends_with_its_parent_and_with_the_parents_parent(killed):
    pids = chain(2, {DAEMON: ""})
    try:
        assert process(pids[0])
        os.kill(pids[killed], signal.SIGKILL)
        assert until(lambda: process(pids[0]) is None, END_SECONDS)
    finally:
        end(pids)


def test_a_worker_ends_with_the_daemon_although_its_jvm_lives_on():
    daemon = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pids = chain(2, {DAEMON: str(process(daemon.pid))})
    try:
        assert process(pids[0])
        daemon.kill()  # nobody waits for it
        assert until(lambda: process(pids[0]) is None, END_SECONDS)
        assert process(pids[1]) and process(pids[2])
    finally:
        daemon.wait()
        end(pids)


def test_the_daemon_is_told_apart_from_a_later_process_with_its_id():
    environment: dict[str, str] = {}
    tell_daemon(environment)
    own = process(os.getpid())
    assert environment == {DAEMON: str(own)} and own is not None
    assert own.is_alive and not own._replace(born=own.born - 1).is_alive


def end(pids: dict[int, int]) -> None:
    for pid in pids.values():
        if process(pid):
            os.kill(pid, signal.SIGKILL)
