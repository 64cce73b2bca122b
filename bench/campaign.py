"""Long campaign of compound faults: brokers and carriers fail together, then every record is
compared.

python -m bench.campaign [--rounds 500] [--min-isr 2] [--seed 1]

Each round hits the leader of a target partition (killed, stopped for 3 to 12 s, or deposed by a
preferred election) within 50 ms of a carrier (killed, stopped, its partitions moved, its epoch
ended). Half the records are older than a day.

Every 50 rounds begin with new clusters and end with a comparison. Its result is stored under its
seed in bench/results/campaign_min_isr_<n>.json, so that an interrupted campaign continues with the
next seed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import machine
from deploy.lab.compare import RouteVerdict
from deploy.lab.dump import BOTH
from deploy.lab.kafka import CHECKOUT
from deploy.lab.skewed_load import SkewedLoad
from tests.live.campaign import Campaign, Round, rounds_of
from tests.live.campaign_ground import PARTITIONS, campaign_ground

DIRECTORY = CHECKOUT / ".lab" / "bench-campaign"
RESULTS = CHECKOUT / "bench" / "results"
ROUNDS_BETWEEN_COMPARISONS = 50
NONE = RouteVerdict()


@click.command()
@click.option("--rounds", default=500, show_default=True, type=click.IntRange(1))
@click.option("--min-isr", default=2, show_default=True, type=click.IntRange(1, 3))
@click.option("--seed", default=1, show_default=True, help="Decides the faults and their moments.")
def main(rounds: int, min_isr: int, seed: int) -> None:
    """Ends with status 1 where a record was lost, duplicated, reordered or changed."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    ) as bar:
        task = bar.add_task("campaign", total=rounds)

        def show(each: Round, seconds: float) -> None:
            bar.update(task, advance=1, description=f"{each.name}: {seconds:.0f} s")

        for number, count in enumerate(_counts(rounds)):
            with _campaign(min_isr) as (campaign, load):
                campaign.run(rounds_of(seed + number, count, PARTITIONS), load, show)
                verdicts = campaign.verdicts()
            found = _found(campaign, verdicts, load.sent)
            _keep(min_isr, seed + number, found)
            if not all(verdict.is_right for verdict in verdicts.values()):
                print(json.dumps(found, indent=2))
                sys.exit(1)
    print(_file(min_isr).read_text(), end="")


def _counts(rounds: int) -> Iterator[int]:
    """Yields the number of rounds before each comparison."""
    while rounds > 0:
        yield min(rounds, ROUNDS_BETWEEN_COMPARISONS)
        rounds -= ROUNDS_BETWEEN_COMPARISONS


def _campaign(min_isr: int) -> AbstractContextManager[tuple[Campaign, SkewedLoad]]:
    directory = DIRECTORY / f"min-isr-{min_isr}"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return campaign_ground(directory, min_isr)


def _found(campaign: Campaign, verdicts: Mapping[str, RouteVerdict], sent: int) -> dict[str, Any]:
    recovery = campaign.recovery_seconds
    return {
        "commit": described_commit(),
        "rounds": len(recovery),
        "records_sent": sent,
        **{level: asdict(verdict) for level, verdict in verdicts.items()},
        "round_seconds": {"median": round(median(recovery), 1), "worst": round(max(recovery), 1)},
        "faults": dict(sorted(campaign.done.items())),
    }


def described_commit() -> str:
    asked = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=True,
    )
    return asked.stdout.strip()


def _file(min_isr: int) -> Path:
    return RESULTS / f"campaign_min_isr_{min_isr}.json"


def _keep(min_isr: int, seed: int, found: dict[str, Any]) -> None:
    file = _file(min_isr)
    before = json.loads(file.read_text())["by_seed"] if file.exists() else {}
    by_seed: dict[str, dict[str, Any]] = {**before, str(seed): found}
    faults: Counter[str] = Counter()
    for each in by_seed.values():
        faults.update(each["faults"])
    kept: dict[str, Any] = {
        "machine": machine.described(),
        "min_isr": min_isr,
        "rounds": sum(each["rounds"] for each in by_seed.values()),
        "faults": dict(sorted(faults.items())),
    }
    for level in BOTH:
        verdicts = (RouteVerdict(**each[level]) for each in by_seed.values())
        kept[level] = asdict(sum(verdicts, NONE))
    kept["by_seed"] = by_seed
    file.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
