"""A carrier in a process of its own, which reads its assignment from a file.

python -m tests.live.carrier_process TOLD
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from pathlib import Path

from deploy.lab.process import Process
from replicator.config.topology import Appliance
from replicator.mirror.carrier.carrier import carry
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment

CHECKOUT = Path(__file__).parents[2]


def begin_as_told(
    told: Path, appliance: Appliance, assignment: CarrierAssignment, program: str, *arguments: str
) -> Process:
    """Writes the assignment file and returns the started process; its log is next to the file."""
    told.write_bytes(pickle.dumps((appliance, assignment)))
    return Process(
        f"carrier-{assignment.route.target}",
        [sys.executable, "-m", program, str(told), *arguments],
        told.with_suffix(".log"),
        environment={"PYTHONPATH": str(CHECKOUT)},
    )


def carry_as_told(told: Path) -> None:
    """Runs the carrier that begin_as_told described."""
    # Written by begin_as_told only, so that unpickling is safe.
    appliance, assignment = pickle.loads(told.read_bytes())
    asyncio.run(carry(appliance, assignment))


if __name__ == "__main__":
    carry_as_told(Path(sys.argv[1]))
