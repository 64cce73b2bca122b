"""Start and end of a driver, its exit codes, and the folders of its runs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from contextlib import contextmanager

import pytest

from replicator.config.topology import Appliance, KafkaCluster, Region
from replicator.kafka.admin.admin_error import Refused
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.cluster_ids import SameCluster
from replicator.mirror.driver.daemon import FORESEEN
from replicator.runtime.exit_codes import Exit, decisive
from replicator.spark.authentication import NoSecret
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.driver_daemon import exit_code_of
from replicator.spark.driver_start import is_running, run_driver, run_folder
from replicator.spark.slots import SlotsUnlimited

# -- Order in which a driver starts, and its end.


class Broken(Exception):
    """The daemon cannot be made."""


@pytest.fixture(autouse=True)
def umask():
    """A driver changes the mask of its process."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def appliance(tmp_path):
    regional, aggregate = (KafkaCluster(bootstrap=(f"127.0.0.1:{port}",)) for port in (1, 2))
    east = Region(name="east", regional=regional, aggregate=aggregate, redis="redis://127.0.0.1:3")
    folders = {"state_dir": tmp_path / "state", "receipts_dir": tmp_path / "receipts"}
    return Appliance(regions={"east": east}, replicator=folders)


class Start:
    """A start whose steps are noted."""

    def __init__(self, appliance):
        self._appliance = appliance
        self.steps = []

    @contextmanager
    def launch(self, master, folder, conf, imports):
        assert folder.is_dir()
        self.steps.append(("launched", master, *imports))
        try:
            yield "the JVM"
        finally:
            self.steps.append("ended")

    def make(self, run):
        self.steps.append(f"made upon {run.jvm}")
        raise Broken

    def run(self, master="local[*,8]", conf=None):
        run_driver(
            self._appliance,
            "east",
            "replicate",
            self.make,
            doing="mirrors",
            imports=["json"],
            master=master,
            conf=conf or {},
            launch=self.launch,
        )


def test_the_jvm_is_launched_before_the_daemon_is_imported_and_ends_with_it(appliance):
    start = Start(appliance)
    with pytest.raises(Broken):
        start.run()
    assert start.steps == [("launched", "local[*,8]", "json"), "made upon the JVM", "ended"]


@pytest.mark.parametrize(
    ("master", "conf", "error"),
    [
        ("spark://spark.east:7077", {}, NoSecret),
        ("local[*,8]", {"spark.dynamicAllocation.enabled": "true"}, SlotsUnlimited),
    ],
)
def test_no_jvm_is_launched_for_settings_that_are_wrong(appliance, master, conf, error):
    start = Start(appliance)
    with pytest.raises(error):
        start.run(master, conf)
    assert start.steps == []


# -- Driver daemon: its exit codes.

REFUSED, FENCED = Refused("east aggregate", "no"), Fenced("east aggregate", [90])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FENCED, Exit.FENCED),
        (ExceptionGroup("", [REFUSED, FENCED]), Exit.FENCED),
        (ExceptionGroup("", [REFUSED, ExceptionGroup("", [TermSuperseded("x")])]), Exit.FENCED),
        (ExceptionGroup("", [ExceptionGroup("", [Unreachable("x")])]), Exit.UNREACHABLE),
        (ExceptionGroup("", [REFUSED, KeyError("x")]), Exit.FAILED),
        (ExceptionGroup("", [SameCluster("x")]), Exit.MISCONFIGURED),
        (ExceptionGroup("", [SameCluster("x"), FENCED]), Exit.FENCED),
    ],
)
def test_a_newer_driver_decides_the_exit_code_whatever_else_failed(error, code):
    decided = decisive(error, (Fenced, TermSuperseded))
    assert exit_code_of(decided, FORESEEN, has_successor=True) is code


def test_a_fence_that_is_no_newer_drivers_is_a_failure_that_a_restart_mends():
    assert exit_code_of(FENCED, FORESEEN, has_successor=False) is Exit.FAILED


# -- Run folders: a killed run leaves nothing for good, a running one is left alone.


def test_a_folder_goes_with_its_run(tmp_path):
    with run_folder(tmp_path / "state") as folder:
        (folder / "scratch").write_text("x")
    assert list((tmp_path / "state").iterdir()) == []


def test_what_a_killed_run_left_is_cleared_and_a_living_run_is_left_alone(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for process in (ended.pid, os.getppid()):
        (tmp_path / f"run-{process}").mkdir()
    with run_folder(tmp_path):
        names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"run-{os.getpid()}", f"run-{os.getppid()}"}


def test_a_name_that_is_no_process_is_not_running():
    assert not is_running("x")
    assert is_running("1")


def test_a_run_folder_and_what_is_above_it_are_for_their_owner_alone_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        with run_folder(tmp_path / "state" / "east") as folder:
            found = {stat.S_IMODE(it.stat().st_mode) for it in (folder, *folder.parents[:2])}
    finally:
        os.umask(before)
    assert found == {0o700}


def test_a_state_that_others_may_write_to_is_refused_with_the_mend(tmp_path):
    state = tmp_path / "state"
    state.mkdir()
    state.chmod(0o777)
    with pytest.raises(OSError, match=f"chmod go-w {state}"), run_folder(state):
        pass
