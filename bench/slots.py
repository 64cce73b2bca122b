"""Task slots: a Spark worker with twice as many slots carries twice the records.

python -m bench.slots

A standalone Spark has two workers, with two task slots and with one. Dynamic allocation adds
executors for the three carriers of a balanced route. The traffic of each worker is read off the
target's logs, under a load that both workers can carry.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

import click

from bench.balancer_file import keep
from bench.balancing import (
    CANDIDATE,
    PATIENCE_SECONDS,
    REST_SECONDS_MAX,
    Site,
    settings,
    skewed_loads,
)
from bench.machine import load_average
from deploy.lab.daemons import Daemons
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import Lab
from deploy.lab.spark_cluster import SparkCluster
from deploy.lab.wait import until

DIRECTORY = CHECKOUT / ".lab" / "bench-slots"
SPARK_DIRECTORY = CHECKOUT / ".lab" / "bench-slots-spark"
WORKERS = (2, 1)
SLOTS = sum(WORKERS)
ONE_ROUTE = f'routes = ["west>{CANDIDATE}"]\n'


def ratios(lab: Lab, spark: SparkCluster, seconds: float, rounds: int) -> list[float]:
    """Returns, for each round, records of the worker with two slots / records of the other."""
    site = Site(lab)
    with Daemons(lab) as daemons, ExitStack() as loads:
        settings = (*spark.authentication, *spark.dynamic_allocation)
        given = [word for setting in settings for word in ("--conf", setting)]
        daemons.start(CANDIDATE, arguments=["--master", spark.url, *given])
        daemons.start(CANDIDATE, "balance")
        for load in skewed_loads(lab.regions["west"].regional):
            loads.enter_context(load)

        if not until(lambda: _is_spread(spark.carriers()), PATIENCE_SECONDS, 0.5):
            raise RuntimeError(f"carriers are not on both hosts; see {daemons.logs}")
        if not until(site.is_settled, REST_SECONDS_MAX, 1.0):
            raise RuntimeError(f"partitions do not come to rest; see {daemons.logs}")
        found = list(_measured(site, spark, seconds, rounds))
        loads.close()
        daemons.end()
    return found


def _measured(site: Site, spark: SparkCluster, seconds: float, rounds: int) -> Iterator[float]:
    for _ in range(rounds):
        plan, hosts = site.plan(CANDIDATE), spark.carriers()
        before = site.looked(CANDIDATE)
        time.sleep(seconds)
        after = site.looked(CANDIDATE)
        if site.plan(CANDIDATE) != plan or spark.carriers() != hosts or not _is_spread(hosts):
            raise RuntimeError("partitions or carriers moved meanwhile; run it once more")
        records = [
            sum(
                after.logs[place].end - before.logs[place].end
                for carrier, places in plan.loads.items()
                if carrier.number in host
                for place in places
            )
            for host in hosts
        ]
        yield round(records[0] / records[1], 3)


def _is_spread(hosts: list[set[int]]) -> bool:
    return list(map(len, hosts)) == list(WORKERS)


@click.command()
@click.option("--seconds", default=30.0, show_default=True, help="Of each round.")
@click.option("--rounds", default=5, show_default=True)
def main(seconds: float, rounds: int) -> None:
    """Writes `twice the slots` in bench/results/balancer.json."""
    busy = load_average()
    shutil.rmtree(SPARK_DIRECTORY, ignore_errors=True)
    with (
        SparkCluster(SPARK_DIRECTORY, WORKERS) as spark,
        Lab(DIRECTORY, settings=ONE_ROUTE + settings(SLOTS)) as lab,
    ):
        found = ratios(lab, spark, seconds, rounds)
    spread = {"median": median(found), "least": min(found), "most": max(found)}
    keep(
        "twice the slots",
        {"seconds": seconds, "rounds": rounds, "records of the one / of the other": spread},
        busy,
    )


if __name__ == "__main__":
    main()
