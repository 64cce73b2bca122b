"""Processes of the lab are identified by pid and start time, and end on request."""

import os
import signal
import sys
from pathlib import Path

import psutil

from deploy.lab.process import Identity, Process, descendants, end, free_port, started_ticks
from deploy.lab.wait import until


def test_a_process_is_itself_only_while_it_runs(tmp_path):
    process = Process("sleep", ["sleep", "60"], tmp_path / "log")
    identity = process.identity()
    assert identity.is_running()
    process.stop()
    assert not identity.is_running()


def test_another_process_with_the_same_pid_is_not_the_same_process():
    ticks = started_ticks(os.getpid())
    assert ticks is not None
    assert Identity("me", os.getpid(), ticks).is_running()
    assert not Identity("me", os.getpid(), ticks - 1).is_running()


def test_end_leaves_a_reused_pid_alone():
    end([Identity("me", os.getpid(), 1)])


def test_a_process_that_ignores_sigterm_is_killed_in_the_end(tmp_path):
    stubborn = "trap '' TERM; echo ready; while true; do sleep 0.05; done"
    process = Process("stubborn", ["bash", "-c", stubborn], tmp_path / "log")
    assert until(lambda: "ready" in (tmp_path / "log").read_text(), 10)
    process.stop(timeout_seconds=0.2)
    assert not process.is_running()


def test_a_process_stands_still_when_sigstop_was_sent_and_can_be_stopped_again(tmp_path):
    process = Process("sleep", ["sleep", "60"], tmp_path / "log")
    for _ in range(20):
        process.send(signal.SIGSTOP)
        assert psutil.Process(process.pid).status() == psutil.STATUS_STOPPED
        process.send(signal.SIGCONT)
    process.kill()
    process.send(signal.SIGSTOP)


def test_a_child_dies_with_its_parent(tmp_path):
    script = (
        "import sys, pathlib\n"
        "from deploy.lab.process import Process\n"
        "child = Process('sleep', ['sleep', '60'], pathlib.Path(sys.argv[1]))\n"
        "print(child.pid, child.identity().started_ticks, flush=True)\n"
        "sys.stdin.read()\n"
        "import time; time.sleep(60)\n"
    )
    log = tmp_path / "parent.log"
    parent = Process(
        "parent",
        [sys.executable, "-c", script, str(tmp_path / "child.log")],
        log,
        environment={"PYTHONPATH": str(Path.cwd())},
    )
    assert until(lambda: log.read_text().count("\n") == 1, 20)
    pid, ticks = map(int, log.read_text().split())
    child = Identity("sleep", pid, ticks)
    # setpriv asks for the kill, and then becomes the command.
    assert until(lambda: Path(f"/proc/{pid}/comm").read_text() == "sleep\n", 5)
    assert child.is_running()
    parent.kill()
    assert until(lambda: not child.is_running(), 5)


def test_free_ports_stay_below_those_of_outgoing_connections():
    assert all(10_240 <= free_port() < 32_000 for _ in range(20))


def test_a_free_port_is_given_once():
    # Of a thousand that are drawn at random, some are the same but for a chance of 1e-10.
    ports = [free_port() for _ in range(1000)]
    assert len({*ports}) == len(ports)


def test_a_family_is_killed_with_those_that_left_their_group(tmp_path):
    log = tmp_path / "log"
    script = "setsid sleep 60 & (sleep 60 & echo ready; wait) & wait"
    parent = Process("parent", ["bash", "-c", script], log)
    assert until(lambda: "ready" in log.read_text() and len(descendants(parent.pid)) >= 3, 10)
    ticks = {pid: started_ticks(pid) for pid in descendants(parent.pid)}
    parent.kill_family()
    assert until(lambda: not any(started_ticks(pid) == at for pid, at in ticks.items()), 5)
