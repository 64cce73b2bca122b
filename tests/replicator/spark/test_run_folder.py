"""Claims about run folders: a killed run leaves nothing for good, a running one is left alone."""

import os
import stat
import subprocess
import sys

import pytest

from replicator.spark.driver_start import is_running, run_folder


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
