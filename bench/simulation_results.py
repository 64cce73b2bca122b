"""Results of the simulated cluster in bench/results/simulation.json: runs and mutations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.machine import described

FILE = Path(__file__).parent / "results" / "simulation.json"
Results = Mapping[str, Any]


def read_results() -> Results:
    """Returns the results of earlier runs."""
    found: Results = json.loads(FILE.read_text()) if FILE.exists() else {}
    return found


def write_results(results: Results) -> None:
    """Writes the results, with the sums over all runs."""
    runs = results.get("runs", [])
    sums = {
        "machine": described(),
        "steps_of_all_runs": sum(run["steps"] for run in runs),
        "virtual_hours_of_all_runs": round(sum(run["virtual_hours"] for run in runs), 2),
    }
    FILE.write_text(json.dumps({**results, **sums}, indent=2) + "\n")


def with_run(results: Results, run: Results) -> Results:
    """Returns the results with one run more."""
    return {**results, "runs": [*results.get("runs", []), run]}


def with_mutation(results: Results, row: Results) -> Results:
    """Returns the results with the figures of a mutation, in place of its former ones."""
    key = row["family"], row["name"]
    others = [each for each in results["mutations"] if (each["family"], each["name"]) != key]
    rows = sorted([*others, row], key=lambda each: (each["rule"], each["name"]))
    return {**results, "mutations": rows}
