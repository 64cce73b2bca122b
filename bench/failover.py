"""Failover: groups move to another region. Counts records read again and missed, with Sluice and
MirrorMaker 2.

python -m bench.failover [--quick]

In the topic `single`, with one region's records, groups lag a given number of records in every
partition. MirrorMaker 2 translates their offsets; Sluice plans and applies them. In the topic
`interleaved`, with two regions' records in both aggregates, Sluice is compared with the least that
one offset per partition can reach, computed from both logs by brute force. A last case kills the
region under load (`unplanned`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from confluent_kafka.admin import NewTopic

from bench import failover_table, machine
from bench.ground import DIRECTORY, say
from bench.map_size import map_size
from bench.numbered_log import NUMBERS, Ints, Moved, NumberedLog, moved, produce, read_log
from bench.translation import Between, commit, committed_by, translated
from bench.unplanned import unplanned
from deploy.lab.application import Application, Means
from deploy.lab.daemons import Daemons
from deploy.lab.kafka import CHECKOUT, KafkaCluster
from deploy.lab.lab import REGIONS, Lab
from deploy.lab.operator import Operator
from deploy.lab.wait import until

FILE = CHECKOUT / "bench" / "results" / "failover.json"
PARTITIONS = 4
SINGLE, INTERLEAVED, LIVE = "single", "interleaved", "live"
MIRRORED = "mirrored"
"""Source topic of MirrorMaker 2. Sluice does not mirror it."""
PATIENCE_SECONDS = 120.0
SOURCE, TARGET = REGIONS

SETTINGS = f"""\
[topics]
allow = ["{SINGLE}", "{INTERLEAVED}", "{LIVE}"]
refresh_seconds = 1.0
"""


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of work; records are counted per partition."""

    records: int = 250_000
    records_per_second: int = 40_000
    lags: tuple[int, ...] = (0, 1000, 100_000)
    live_seconds: float = 15.0
    live_per_second: int = 2000


QUICK = Size(records=20_000, lags=(0, 1000, 8000), live_seconds=6.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Move of one group: sums over all partitions, and minimum and maximum of one partition."""

    case: str
    system: str
    lag: int
    partitions: int
    read_again: int
    read_again_min: int
    read_again_max: int
    read_again_least: int
    missed: int
    basis: str | None = None


def result(case: str, system: str, lag: int, each: Sequence[Moved], **more: Any) -> Result:
    again = [found.read_again for found in each]
    return Result(
        case=case,
        system=system,
        lag=lag,
        partitions=len(each),
        read_again=sum(again),
        read_again_min=min(again),
        read_again_max=max(again),
        read_again_least=sum(found.read_again_least for found in each),
        missed=sum(found.missed for found in each),
        **more,
    )


def measured(directory: Path, size: Size) -> dict[str, Any]:
    """Runs all cases. Raises NotStarted, Refused or RuntimeError."""
    began_at = time.monotonic()
    with Lab(directory, settings=SETTINGS) as lab:
        for topic in (MIRRORED, SINGLE, INTERLEAVED, LIVE):
            for name, region in lab.regions.items():
                if topic in (INTERLEAVED, LIVE) or name == SOURCE:
                    _make_topic(region.regional, topic)
        say("failover: mirrormaker2")
        results = [*_peer(lab, size)]
        with Daemons(lab) as daemons:
            for name in lab.regions:
                daemons.start(name, "replicate", "offsets")
            say("failover: sluice")
            results += _ours(lab, daemons, size)
            sizes = [
                map_size(region.redis.url, f"{source}.{name}", INTERLEAVED).to_json()
                for name, region in lab.regions.items()
                for source in lab.regions
            ]
            say("failover: sluice, the region is killed")
            lost = unplanned(
                lab,
                daemons,
                LIVE,
                partitions=PARTITIONS,
                seconds=size.live_seconds,
                records_per_second=size.live_per_second,
            )
    return {
        "results": [asdict(each) for each in results],
        "unplanned": [asdict(each) for each in lost],
        "map_size": sizes,
        "seconds": round(time.monotonic() - began_at),
    }


def _peer(lab: Lab, size: Size) -> list[Result]:
    ends = Between(lab.directory, lab.regions[SOURCE].regional, lab.regions[TARGET].aggregate)
    groups = {f"lag-{lag}": lag for lag in size.lags}
    found = translated(
        ends,
        SOURCE,
        MIRRORED,
        groups,
        partitions=PARTITIONS,
        records_each=size.records,
        records_per_second=size.records_per_second,
    )
    return [
        result(
            SINGLE,
            "mirrormaker2",
            lag,
            [
                moved(source.before(committed), target, synced)
                for source, target, committed, synced in zip(
                    found.source,
                    found.target,
                    found.committed[group],
                    found.synced[group],
                    strict=True,
                )
            ],
        )
        for group, lag in groups.items()
    ]


def _ours(lab: Lab, daemons: Daemons, size: Size) -> list[Result]:
    here, there = lab.regions[SOURCE], lab.regions[TARGET]
    pace = {"partitions": PARTITIONS, "records_per_second": size.records_per_second}
    produce([(SOURCE, here.regional)], SINGLE, records_each=size.records, **pace)
    both = [(name, region.regional) for name, region in lab.regions.items()]
    produce(both, INTERLEAVED, records_each=size.records // 2, **pace)
    if not until(lambda: daemons.lag_records() == 0, PATIENCE_SECONDS, 0.5):
        raise RuntimeError(f"a lag stays; see {daemons.logs}")
    topics = (SINGLE, INTERLEAVED)
    logs = {
        (topic, region.name): read_log(region.aggregate, topic, PARTITIONS, REGIONS)
        for topic in topics
        for region in (here, there)
    }
    groups = {f"{topic}-{lag}": (topic, lag) for topic in topics for lag in size.lags}
    committed = {
        group: [_behind(log, lag) for log in logs[topic, SOURCE]]
        for group, (topic, lag) in groups.items()
    }
    for group, (topic, _) in groups.items():
        commit(here.aggregate, group, topic, committed[group])
    plan = planned(lab, groups, committed)
    results = []
    for group, (topic, lag) in groups.items():
        resumed = committed_by(there.aggregate, group, topic, PARTITIONS)
        read = [
            log.before(offset)
            for log, offset in zip(logs[topic, SOURCE], committed[group], strict=True)
        ]
        target = logs[topic, TARGET]
        each = [moved(*partition) for partition in zip(read, target, resumed, strict=True)]
        results.append(result(topic, "sluice", lag, each, basis=_basis(plan, group)))
        with_helper = _consumed(lab, group, topic, read, target)
        results.append(result(topic, "sluice, its helper", lag, with_helper))
    return results


def planned(
    lab: Lab, groups: Mapping[str, object], committed: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Applies a switchover once the plan has the committed offsets, and returns the plan."""
    operator = Operator(lab.configuration)
    plan: dict[str, Any] = {}

    def is_known() -> bool:
        nonlocal plan
        plan = operator.plan(SOURCE, TARGET, groups, verb="switchover", codes=(0, 4))
        told = {
            group["group"]: {move["partition"]: move["committed"] for move in group["moves"]}
            for group in plan["groups"]
        }
        return all(
            told.get(group) == dict(enumerate(offsets)) for group, offsets in committed.items()
        )

    if not until(is_known, PATIENCE_SECONDS, 1.0):
        raise RuntimeError("the plan does not know what the groups have committed")
    operator.apply(plan, verb="switchover")
    operator.verify(plan)
    return plan


def _basis(plan: Mapping[str, Any], group: str) -> str:
    moves = next(each["moves"] for each in plan["groups"] if each["group"] == group)
    return "exact" if all(move["basis"] == "exact" for move in moves) else "floor"


def _consumed(
    lab: Lab, group: str, topic: str, read: Sequence[Ints], target: Sequence[NumberedLog]
) -> list[Moved]:
    """Returns, by partition, what an application handles that continues with the helper."""
    unread = [np.setdiff1d(log.numbers, numbers) for log, numbers in zip(target, read, strict=True)]
    means: Means = "helper"
    with Application(
        group,
        lab.directory / "applications",
        (topic,),
        means=means,
        configuration=lab.configuration,
    ) as application:
        application.start(lab.regions[TARGET])
        wanted = sum(map(len, unread))
        until(lambda: application.handled_count() >= wanted, PATIENCE_SECONDS, 0.2)
        application.stop()
        handled = application.handled()
    found = []
    for partition, numbers in enumerate(unread):
        met = np.array(
            [
                REGIONS.index(each.region) * NUMBERS + each.number
                for each in handled
                if each.partition == partition
            ],
            dtype=np.int64,
        )
        found.append(
            Moved(
                unread=len(numbers),
                read_again=len(met) - len(np.intersect1d(met, numbers)),
                missed=len(np.setdiff1d(numbers, met)),
                read_again_least=0,
            )
        )
    return found


def _behind(log: NumberedLog, lag: int) -> int:
    """Returns the offset from which on the log has `lag` records."""
    if not lag:
        return int(log.offsets[-1]) + 1
    return int(log.offsets[-lag])


def _make_topic(cluster: KafkaCluster, topic: str) -> None:
    admin = cluster.admin()  # the client has to live until its answer arrives
    admin.create_topics([NewTopic(topic, PARTITIONS)])[topic].result(30)


def run(*, quick: bool = False) -> None:
    """Measures and stores the results. A full run also updates the tables in bench/README.md."""
    load = round(machine.load_average(), 1)
    found = measured(DIRECTORY.with_name("bench-failover"), QUICK if quick else Size())
    text = {
        "machine": machine.described(),
        "run": {"at": time.strftime("%Y-%m-%d %H:%M"), "load_average": load, "quick": quick},
        **found,
    }
    file = DIRECTORY.with_name("bench-failover-part.json") if quick else FILE
    file.write_text(json.dumps(text, indent=2) + "\n")
    say(f"results are in {file}")
    print(failover_table.tables(text))
    if not quick:
        failover_table.write(file)


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the work: shows that all works.")
def main(quick: bool) -> None:
    """Measures the case `failover`."""
    run(quick=quick)


if __name__ == "__main__":
    main()
