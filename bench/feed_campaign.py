"""Long campaign of compound faults over a feed: servers and loaders fail together, then every row
of every replica is compared with its record.

python -m bench.feed_campaign [--rounds 200] [--seed 1]

Each round hits a server and a loader within 50 ms. For 0.5 to 8 s a replica is dead, stopped or cut
off from ZooKeeper, or ZooKeeper or the broker is dead. A loader is killed, or stopped until another
one has taken over, or its partitions move, or its epoch ends.

Every 24 rounds begin with new servers and end with a comparison. Its result is stored under its
seed in bench/results/feed_campaign.json, so that an interrupted campaign continues with the next
seed.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from statistics import median
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bench import machine
from bench.campaign import RESULTS, described_commit
from deploy.lab.kafka import CHECKOUT
from tests.live.feed_campaign import FeedCampaign, Outcome, Round, feed_campaign, rounds_of

DIRECTORY = CHECKOUT / ".lab" / "bench-feed-campaign"
FILE = RESULTS / "feed_campaign.json"
ROUNDS_BETWEEN_COMPARISONS = 24


@click.command()
@click.option("--rounds", default=200, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=1, show_default=True, help="Decides the faults and their moments.")
def main(rounds: int, seed: int) -> None:
    """Ends with status 1 where a row is missing, doubled or changed, or an intent is an anomaly."""
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
            with feed_campaign(_directory()) as (campaign, load):
                outcome = campaign.run(rounds_of(seed + number, count), load, show)
            _keep(seed + number, campaign, outcome)
            if not outcome.is_right:
                print(outcome)
                sys.exit(1)
    print(FILE.read_text(), end="")


def _counts(rounds: int) -> Iterator[int]:
    """Yields the number of rounds before each comparison."""
    while rounds > 0:
        yield min(rounds, ROUNDS_BETWEEN_COMPARISONS)
        rounds -= ROUNDS_BETWEEN_COMPARISONS


def _directory() -> Path:
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    return DIRECTORY


def _keep(seed: int, campaign: FeedCampaign, outcome: Outcome) -> None:
    recovery = campaign.recovery_seconds
    found = {
        "commit": described_commit(),
        "rounds": len(recovery),
        "outcome": asdict(outcome),
        "round_seconds": {"median": round(median(recovery), 1), "worst": round(max(recovery), 1)},
        "faults": dict(sorted(campaign.done.items())),
    }
    before = json.loads(FILE.read_text())["by_seed"] if FILE.exists() else {}
    by_seed: dict[str, dict[str, Any]] = {**before, str(seed): found}
    faults: Counter[str] = Counter()
    for each in by_seed.values():
        faults.update(each["faults"])
    total = {
        each.name: sum(one["outcome"][each.name] for one in by_seed.values())
        for each in fields(Outcome)
    }
    kept = {
        "machine": machine.described(),
        "rounds": sum(each["rounds"] for each in by_seed.values()),
        "faults": dict(sorted(faults.items())),
        "outcome": total,
        "by_seed": by_seed,
    }
    FILE.write_text(json.dumps(kept, indent=2) + "\n")


if __name__ == "__main__":
    main()
