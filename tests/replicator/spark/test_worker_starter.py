"""Claims about what Spark's Python workers share: what their tasks import, and nothing alive."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import aggregator.driver.start
import replicator.mirror.driver.carrier_source
import replicator.mirror.driver.start
from replicator.spark import worker_starter

SCRIPT = """
import json, os, sys
from pathlib import Path
from replicator.spark.worker_starter import start

def fork_workers():
    files = [os.readlink(file) for file in Path("/proc/self/fd").iterdir() if file.exists()]
    print(json.dumps({
        "modules": list(sys.modules),
        "threads": [task.read_text().strip() for task in Path("/proc/self/task").glob("*/comm")],
        "sockets": [file for file in files if file.startswith("socket:")],
    }))

start(sys.argv[1:], fork_workers)
"""
JEMALLOC = "jemalloc_bg_thd"
"""Thread of Arrow's library, which expects forks and has no work in a pool that nobody uses."""


def imported_later(source: ast.Module) -> set[str]:
    """Returns the modules that functions of a module import when they are called."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    inner = [
        node for each in ast.walk(source) if isinstance(each, functions) for node in ast.walk(each)
    ]
    plain = {name.name for node in inner if isinstance(node, ast.Import) for name in node.names}
    return plain | {str(node.module) for node in inner if isinstance(node, ast.ImportFrom)}


def test_modules_are_imported_before_a_worker_is_forked():
    seen = []
    worker_starter.start(["colorsys"], lambda: seen.append("colorsys" in sys.modules))
    assert seen == [True]


@pytest.fixture(scope="module")
def told():
    """Answers of starters that have imported the modules of each kind of task."""
    kinds = {"carriers": replicator.mirror.driver.start, "loaders": aggregator.driver.start}
    environment = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[3])}
    return {
        kind: json.loads(
            subprocess.check_output([sys.executable, "-c", SCRIPT, *start.IMPORTS], env=environment)
        )
        for kind, start in kinds.items()
    }


@pytest.mark.parametrize("kind", ["carriers", "loaders"])
def test_a_process_that_forks_workers_has_no_thread_and_no_connection(told, kind):
    assert len(set(told[kind]["threads"]) - {JEMALLOC}) == 1, told[kind]["threads"]
    assert told[kind]["sockets"] == []


def test_workers_share_all_that_carriers_import(told):
    source = ast.parse(Path(replicator.mirror.driver.carrier_source.__file__).read_text())
    assert imported_later(source) <= set(told["carriers"]["modules"])
