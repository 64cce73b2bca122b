"""Placement by traffic compared with placement by count, and the effect of moves on readers.

python -m bench.balancing

As in LinkedIn's comparison, both mirrors carry the same skewed topics from the same source, each to
a target of its own. The control (region west) has no balancer, the candidate (region east) has one.
The load of each carrier is read off the targets' logs, and `sluice audit` checks that both targets
are complete. Then a third of the partitions is moved repeatedly under the same load, while a reader
of the target records the time of every record.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from statistics import fmean, median, pstdev
from typing import Any

import click
import numpy as np
from confluent_kafka.admin import NewTopic

from balancer.carrier_plan import Plan
from balancer.topic_partition import TopicPartition
from bench.balancer_file import keep
from bench.machine import load_average
from bench.other_writer import other_writer
from deploy.lab.arrivals import Arrivals
from deploy.lab.daemons import SLUICE, Daemons
from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.lab import Lab
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.wait import until
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import load
from replicator.kafka.client.cluster import Cluster
from replicator.orders.active_plan import ActivePlan
from replicator.orders.balance_log import BalanceLog
from replicator.orders.order_records import Pin, Placed, key_of
from replicator.orders.status_board import StatusBoard
from replicator.placement.traffic.log_sampler import LogSampler
from replicator.placement.traffic.log_snapshot import LogSnapshot

DIRECTORY = CHECKOUT / ".lab" / "bench-balancing"
TOPICS, PARTITIONS, CARRIERS = 4, 6, 4
RECORD_BYTES = 1000
BYTES_PER_SECOND = 2_000_000
SKEW = 0.9
CONTROL, CANDIDATE = "west", "east"
PATIENCE_SECONDS = 180.0
REST_SECONDS_MAX = 400.0
MOVES_SECONDS = 20.0


def settings(carriers: int) -> str:
    """Returns the settings of balancer and drivers, with this number of carriers at any load."""
    return f"""\
[topics]
allow = ["skewed-.*"]
refresh_seconds = 2.0
[replicator]
carriers_per_route = {carriers}
[balance]
capacity_mib_per_second = 2.0
carriers_min = {carriers}
carriers_max = {carriers}
sample_seconds = 3.0
round_seconds = 5.0
cool_down_seconds = 0.0
"""


def rates() -> dict[TopicPartition, float]:
    """Returns the rate of each partition in bytes per second: the nth heaviest has 1 / n^SKEW of
    the heaviest."""
    places = [TopicPartition(f"skewed-{t}", p) for t in range(TOPICS) for p in range(PARTITIONS)]
    weights = np.arange(1, len(places) + 1) ** -SKEW
    shares = weights / weights.sum() * BYTES_PER_SECOND
    order = np.random.default_rng(7).permutation(len(places))
    return {places[at]: float(share) for at, share in zip(order, shares, strict=True)}


def skewed_loads(cluster: KafkaCluster) -> list[SkewedLoad]:
    """Creates the topics, and returns a load for each of them."""
    names = sorted({place.topic for place in rates()})
    cluster.create_topics(*(NewTopic(name, PARTITIONS) for name in names))
    return [
        SkewedLoad(
            cluster,
            name,
            {place.partition: rate for place, rate in rates().items() if place.topic == name},
            RECORD_BYTES,
        )
        for name in names
    ]


class Site:
    """The lab with both mirrors."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.appliance = load(lab.configuration)

    def board(self, region: str) -> ActivePlan | None:
        return StatusBoard(self.appliance.region(region).redis_url(), region).plan()

    def placed(self) -> Placed | None:
        return self.log().read().placed(f"west.{CANDIDATE}", "default")

    def log(self) -> BalanceLog:
        return BalanceLog("east aggregate", self.appliance.region(CANDIDATE).aggregate)

    def plan(self, region: str) -> Plan:
        shown = self.board(region)
        if shown is None:
            raise RuntimeError(f"no driver of {region} shows what it carries")
        return shown.plan

    def is_settled(self) -> bool:
        """Returns True if nothing was placed for 60 s (twelve rounds) and the driver follows the
        balancer."""
        placed, shown = self.placed(), self.board(CANDIDATE)
        if not placed or not shown or time.time() * 1000 - placed.at_ms < 60_000:
            return False
        return any(generation == placed.generation for *_, generation in shown.generations)

    def looked(self, region: str) -> LogSnapshot:
        """Returns a look at the logs of a target."""

        async def look() -> LogSnapshot:
            async with self._aggregate(region) as cluster:
                return await LogSampler(cluster).sample(rates())

        return asyncio.run(look())

    def other_writers(self, begins: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Maps each partition to the first offset, from the given one on, that another carrier has
        written."""

        async def found() -> dict[TopicPartition, int]:
            async with self._aggregate(CANDIDATE) as cluster:
                return {
                    place: await other_writer(cluster, *place, begin)
                    for place, begin in begins.items()
                }

        return asyncio.run(found())

    @asynccontextmanager
    async def _aggregate(self, region: str) -> AsyncIterator[Cluster]:
        settings = self.appliance.region(region).aggregate
        cluster = Cluster(ClusterName.aggregate(region), settings)
        await cluster.open({place.topic for place in rates()})
        try:
            yield cluster
        finally:
            await cluster.close()


def carried(site: Site, seconds: float) -> dict[str, object]:
    """Returns what each carrier of each mirror carried, in bytes and records, while nothing
    moved."""
    while True:
        if not until(site.is_settled, REST_SECONDS_MAX, 1.0):
            raise RuntimeError("partitions do not come to rest")
        plans = {region: site.plan(region) for region in (CONTROL, CANDIDATE)}
        before = {region: site.looked(region) for region in plans}
        time.sleep(seconds)
        after = {region: site.looked(region) for region in plans}
        if all(site.plan(region) == plan for region, plan in plans.items()):
            return {
                region: _spread(plan, before[region], after[region])
                for region, plan in plans.items()
            }


def _spread(plan: Plan, before: LogSnapshot, after: LogSnapshot) -> dict[str, object]:
    sizes: dict[int, int] = defaultdict(int)
    records: dict[int, int] = defaultdict(int)
    for carrier, places in plan.loads.items():
        if carrier.route.startswith("west."):
            for place in places:
                old, new = before.logs[place], after.logs[place]
                sizes[carrier.number] += (new.size_bytes or 0) - (old.size_bytes or 0)
                records[carrier.number] += new.end - old.end
    return {
        "carriers": len(sizes),
        "bytes: deviation / mean": _deviation(sizes),
        "records: deviation / mean": _deviation(records),
        "bytes: heaviest / mean": round(max(sizes.values()) / fmean(sizes.values()), 3),
    }


def _deviation(amounts: Mapping[int, int]) -> float:
    values = list(amounts.values())
    return round(pstdev(values) / fmean(values), 4)


def moved(site: Site, reader: Arrivals, rounds: int) -> list[dict[str, float]]:
    """Pins partitions to other carriers repeatedly, and returns the effect on readers for each
    time."""
    moves = []
    for number in range(rounds):
        before = site.placed()
        assert before
        at_ms = int(time.time() * 1000)
        chosen = sorted(before.where)[number % 3 :: 3]
        pins = [
            Pin(
                route=f"west.{CANDIDATE}",
                at_ms=at_ms,
                who="bench",
                topic=place.topic,
                partition=place.partition,
                carrier=(before.where[place] + 1) % CARRIERS,
            )
            for place in chosen
        ]
        old = site.log().read().of(Pin, f"west.{CANDIDATE}", at_ms)
        new = {key_of(pin) for pin in pins}
        site.log().write(pins, [key_of(pin) for pin in old if key_of(pin) not in new])

        def is_placed(generation: int = before.generation) -> bool:
            placed = site.placed()
            return placed is not None and placed.generation > generation

        if not until(is_placed, PATIENCE_SECONDS, 0.2):
            raise RuntimeError("the balancer did not place anything anew")
        placed = site.placed()
        assert placed
        if placed.generation != before.generation + 1:
            raise RuntimeError("the balancer placed twice in 0.2 s: which is felt is not known")
        time.sleep(MOVES_SECONDS)
        gone = {p for p, carrier in placed.where.items() if before.where.get(p) != carrier}
        moves.append((placed.at_ms / 1000, gone))
        print(f"{len(gone)} partitions moved, decided at {moves[-1][0]:.3f}", file=sys.stderr)
    # Only after all rounds: reading logs would delay the reader, which is a thread of this process.
    return [_felt(site, reader, *each) for each in moves]


def _felt(
    site: Site, reader: Arrivals, decided: float, gone: Collection[TopicPartition]
) -> dict[str, float]:
    silences = reader.silences(decided - 1, decided + 10)
    calm = reader.latencies(decided - 11, decided - 1)
    late = reader.latencies(decided - 1, decided + 9)
    begins = {place: reader.first(place, sent=decided - 1).offset for place in gone}
    lasted = [
        reader.first(place, offset=offset).arrived - decided
        for place, offset in site.other_writers(begins).items()
    ]
    felt = {
        "partitions moved": len(gone),
        "decision to first record of the last, s": round(max(lasted), 2),
        "longest silence of one that moved, s": round(max(silences[p][0] for p in gone), 2),
        "longest silence of any, s": round(max(silences.values())[0], 2),
        "p99 of 10 s before, ms": round(float(np.percentile(calm, 99)) * 1000, 1),
        "p99 of 10 s since, ms": round(float(np.percentile(late, 99)) * 1000, 1),
        "latest record, ms": round(max(late) * 1000, 1),
    }
    print(json.dumps(felt), file=sys.stderr)
    return felt


def _lag_records(lab: Lab) -> int | None:
    """Returns the lag of both mirrors together, or None if it is not known."""
    command = [str(SLUICE), "status", "--config", str(lab.configuration), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    routes = json.loads(done.stdout)["routes"]
    mirrors = {f"west>{region}" for region in (CONTROL, CANDIDATE)}
    topics = [topic for each in routes if each["route"] in mirrors for topic in each["topics"]]
    lags = [topic["lag_records"] for topic in topics]
    return None if None in lags else sum(lags)


def audited(lab: Lab) -> dict[str, Any]:
    """Returns, by route, the verdicts of `sluice audit` on all records that were sent."""
    command = [str(SLUICE), "audit", "--config", str(lab.configuration), "--since", "1h"]
    command += ["--until", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    rows = json.loads(done.stdout)["rows"]
    found: dict[str, Any] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        found[row["route"]][row["verdict"]] += 1
    return {route: dict(verdicts) for route, verdicts in found.items()}


def compare(lab: Lab, seconds: float, rounds: int) -> dict[str, object]:
    site, loads = Site(lab), skewed_loads(lab.regions["west"].regional)
    with Daemons(lab) as daemons:
        daemons.start(CONTROL, "replicate")
        daemons.start(CANDIDATE, "replicate", "balance")
        for each in loads:
            each.__enter__()
        try:
            spreads = carried(site, seconds)
            print(json.dumps(spreads, indent=2), file=sys.stderr)
            # The other mirror would disturb the measurement.
            daemons.end(CONTROL)
            with Arrivals(lab.regions[CANDIDATE].aggregate, rates()) as reader:
                time.sleep(MOVES_SECONDS)
                felt = moved(site, reader, rounds)
        finally:
            for each in loads:
                each.stop()
        daemons.start(CONTROL, "replicate")
        if not until(lambda: _lag_records(lab) == 0, PATIENCE_SECONDS, 1.0):
            raise RuntimeError(f"a lag stays; see {daemons.logs}")
        verdicts = audited(lab)
        daemons.end()
    return {
        "load": f"{TOPICS * PARTITIONS} partitions, {BYTES_PER_SECOND} bytes/s, skew {SKEW}",
        "seconds": seconds,
        "by count": spreads[CONTROL],
        "by traffic": spreads[CANDIDATE],
        "moves": {
            name: {
                "median": round(median(each[name] for each in felt), 2),
                "worst": round(max(each[name] for each in felt), 2),
            }
            for name in felt[0]
        },
        "audit": verdicts,
    }


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="That carriers are compared for.")
@click.option("--rounds", default=8, show_default=True, help="How often partitions are moved.")
def main(seconds: float, rounds: int) -> None:
    """Writes `end to end` in bench/results/balancer.json."""
    busy = load_average()
    with Lab(DIRECTORY, settings=settings(CARRIERS)) as lab:
        found = compare(lab, seconds, rounds)
    keep("end to end", found, busy)


if __name__ == "__main__":
    main()
