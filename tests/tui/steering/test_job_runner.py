"""Runner of a job: light, and without a command it does nothing."""

import json
import subprocess
import sys
from pathlib import Path

from tui.steering.job_start import RUNNER

HEAVY = {"pydantic", "aiokafka", "redis", "click", "textual", "numpy"}


def test_a_folder_without_a_command_is_refused(tmp_path: Path) -> None:
    found = subprocess.run([*RUNNER, str(tmp_path), "0"], capture_output=True, text=True)
    assert found.returncode == 1
    assert "no command in" in found.stderr


def test_the_runner_imports_no_library() -> None:
    script = "import json, sys, tui.steering.job_runner; print(json.dumps([*sys.modules]))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not HEAVY & set(json.loads(found.stdout))
