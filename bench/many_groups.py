"""Time to move very many groups, as an operator at the command line experiences it.

    .venv/bin/python -m bench.many_groups [groups]

Two complete regions run with all daemons. Each group has committed on every partition. Wall time is
measured from the start of a command to its end; CPU time is that of the command itself. Results go
into bench/results/groups.json.
"""

from __future__ import annotations

import json
import random
import resource
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median_low
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from bench.ground import DIRECTORY
from bench.machine import described, load_average
from deploy.lab.daemons import COMMANDS, Daemons
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import REGIONS, Lab
from deploy.lab.operator import Operator, Refused
from deploy.lab.wait import until

FILE = CHECKOUT / "bench" / "results" / "groups.json"
TOPIC = "trades"
PARTITIONS = 64
RECORDS = 200
"""Records of each region in each partition."""
ROUNDS = 5
PATIENCE_SECONDS = 300.0
SOURCE, TARGET = REGIONS


def fill(lab: Lab) -> None:
    """Fills both regions at once in small batches, so that their records interleave in every
    aggregate."""
    producers = {}
    for name in REGIONS:
        admin = lab.regions[name].regional.admin()
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result(60)
        producers[name] = Producer(
            {
                "bootstrap.servers": lab.regions[name].regional.bootstrap,
                "linger.ms": 0,
                "batch.num.messages": 10,
            }
        )
    for number in range(RECORDS):
        for producer in producers.values():
            for partition in range(PARTITIONS):
                producer.produce(TOPIC, f"{number}".encode(), partition=partition)
            producer.poll(0)
        if number % 20 == 0:
            for producer in producers.values():
                producer.flush(60)
    for producer in producers.values():
        producer.flush(60)


def commit(lab: Lab, groups: Sequence[str]) -> None:
    """Commits reproducible random offsets for each group on every partition."""
    admin = lab.regions[SOURCE].aggregate.admin()
    chance = random.Random(64)
    for group in groups:
        places = [
            TopicPartition(TOPIC, number, chance.randrange(2 * RECORDS))
            for number in range(PARTITIONS)
        ]
        asked = [ConsumerGroupTopicPartitions(group, places)]
        admin.alter_consumer_group_offsets(asked)[group].result(60)


def whole_plan(operator: Operator, positions: int) -> dict[str, Any]:
    """Returns a plan that maps every position exactly, which shows that the copies are complete."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        plan = operator.plan(SOURCE, TARGET, (), "--all-groups", codes=(0, 4))
        moves = [move for group in plan["groups"] for move in group["moves"]]
        exact = sum(move["basis"] == "exact" for move in moves)
        if exact == positions:
            return plan
        if time.monotonic() > deadline:
            raise Refused(f"{exact} of {positions} positions are mapped exactly, of {len(moves)}")
        time.sleep(1.0)


@dataclass(frozen=True, slots=True, order=True)
class Took:
    """Duration of one command, or the median of several."""

    seconds: float
    cpu_seconds: float


def took(act: Callable[[], object], times: int = 1) -> Took:
    runs = []
    for _ in range(times):
        began, cpu_began = time.monotonic(), cpu_of_commands()
        act()
        cpu_seconds = cpu_of_commands() - cpu_began
        runs.append(Took(round(time.monotonic() - began, 2), round(cpu_seconds, 2)))
    return median_low(runs)


def cpu_of_commands() -> float:
    """Returns the CPU time of ended child processes; servers and daemons still run."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(operator: Operator, groups: int) -> dict[str, Took]:
    plan = whole_plan(operator, groups * PARTITIONS)
    return {
        "plan": took(lambda: operator.plan(SOURCE, TARGET, (), "--all-groups"), ROUNDS),
        "apply": took(lambda: operator.apply(plan)),
        "apply again": took(lambda: operator.apply(plan), ROUNDS),
        "verify": took(lambda: operator.verify(plan), ROUNDS),
    }


def main(groups: int) -> None:
    directory = DIRECTORY.with_name("bench-groups")
    shutil.rmtree(directory, ignore_errors=True)
    settings = f'[topics]\nallow = ["{TOPIC}"]\nrefresh_seconds = 1.0\n'
    with Lab(directory, settings=settings) as lab, Daemons(lab) as daemons:
        fill(lab)
        for name in REGIONS:
            daemons.start(name, *COMMANDS)
        if not until(lambda: daemons.lag_records() == 0, PATIENCE_SECONDS, 1.0):
            raise SystemExit(f"the mirror does not catch up; see {daemons.logs}")
        commit(lab, [f"group-{number:04}" for number in range(groups)])
        load = load_average()
        commands = measured(Operator(lab.configuration), groups)
        daemons.end()
    found = {
        "groups": groups,
        "partitions": PARTITIONS,
        "load average at the start": round(load, 1),
        "commands": {name: asdict(each) for name, each in commands.items()},
    }
    FILE.write_text(json.dumps({"machine": described(), "results": [found]}, indent=2) + "\n")
    print(f"{commands}; results are in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
