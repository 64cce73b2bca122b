"""`--reruns`: kinds of failures that get a second try."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]
FAILS = """\
from pathlib import Path
from deploy.lab.compare import RecordsDiffer, RouteVerdict
def test_fails():
    with Path("{tries}").open("a") as tries:
        tries.write("x")
    {failure}
"""


@pytest.mark.parametrize(
    ("failure", "tries"), [("RouteVerdict(sent=1, lost=1).assert_exact()", 1), ("assert False", 2)]
)
def test_a_comparison_of_records_that_fails_is_never_run_once_more(tmp_path, failure, tries):
    file, tried = tmp_path / "test_fails.py", tmp_path / "tries"
    file.write_text(FAILS.format(tries=tried, failure=failure))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--reruns",
        "1",
        "-c",
        str(CHECKOUT / "pyproject.toml"),
    ]
    ended = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(file)],
        cwd=CHECKOUT,
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout
    assert tried.read_text() == "x" * tries
