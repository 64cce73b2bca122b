"""Results file bench/results/balancer.json: one section for each benchmark of the balancer."""

from __future__ import annotations

import json
from collections.abc import Mapping

from bench.machine import described
from deploy.lab.kafka import CHECKOUT

FILE = CHECKOUT / "bench" / "results" / "balancer.json"


def keep(section: str, found: Mapping[str, object], busy: float) -> None:
    """Replaces a section of the file, and prints it.

    Args:
        busy: load average before the run.
    """
    whole = json.loads(FILE.read_text()) if FILE.exists() else {}
    kept = {"load average at the start": round(busy, 1), **found}
    whole[section] = {"machine": described(), **kept}
    FILE.write_text(json.dumps(whole, indent=2) + "\n")
    print(json.dumps(kept, indent=2))
