"""Claims about run folders: a killed run leaves nothing for good, a living one is left alone."""

import os
import subprocess
import sys

from replicator.driver.run_folder import is_running, run_folder


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
