"""A loader in a process of its own, which reads its assignment from a file.

python -m tests.live.loader_process TOLD
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path

from aggregator.loader.loader import load
from aggregator.loader.loader_assignment import LoaderAssignment
from deploy.lab.process import Process
from replicator.config.topology import Appliance
from replicator.runtime.logs import log_to_stderr

CHECKOUT = Path(__file__).parents[2]


def begin_as_told(told: Path, appliance: Appliance, assignment: LoaderAssignment) -> Process:
    """Writes the assignment file and returns the started process; its log is next to the file."""
    told.write_bytes(pickle.dumps((appliance, assignment)))
    return Process(
        f"loader-{assignment.number}",
        [sys.executable, "-m", "tests.live.loader_process", str(told)],
        told.with_suffix(".log"),
        environment={"PYTHONPATH": str(CHECKOUT)},
    )


def load_as_told(told: Path) -> None:
    """Runs the loader that begin_as_told described."""
    # Written by begin_as_told only, so that unpickling is safe.
    appliance, assignment = pickle.loads(told.read_bytes())
    log_to_stderr()
    asyncio.run(load(appliance, assignment))


if __name__ == "__main__":
    load_as_told(Path(sys.argv[1]))
