"""Standstill: the time without records after a change of topics or streams, or after a kill.

python -m bench.standstill

The load of bench.balancing runs from west to east, and a reader of the target records the time of
every record. In turn, a topic is created; a topic gets a stream of its own, and with it a carrier;
and the balancer, a Spark worker process, and the driver with all its children are killed. Balancer
and driver are restarted at once, as systemd would do.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median

import click
import psutil
from confluent_kafka.admin import NewTopic

from bench.balancer_file import keep
from bench.balancing import (
    CANDIDATE,
    CARRIERS,
    PATIENCE_SECONDS,
    REST_SECONDS_MAX,
    Site,
    rates,
    settings,
    skewed_loads,
)
from bench.machine import load_average
from deploy.lab.arrivals import Arrivals
from deploy.lab.daemons import SLUICE, Command, Daemons
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import Lab
from deploy.lab.wait import until

DIRECTORY = CHECKOUT / ".lab" / "bench-standstill"
CALM_SECONDS = 10.0
WORKER = re.compile(r"pid=(\d+) from=\S+ event=epoch ")


def standing_still(lab: Lab, rounds: int) -> dict[str, list[float]]:
    """Maps each action to the longest time without a record of any partition, for each
    repetition."""
    found: dict[str, list[float]] = defaultdict(list)
    with Daemons(lab) as daemons, ExitStack() as loads:
        daemons.start(CANDIDATE, "replicate", "balance")
        for load in skewed_loads(lab.regions["west"].regional):
            loads.enter_context(load)
        if not until(Site(lab).is_settled, REST_SECONDS_MAX, 1.0):
            raise RuntimeError(f"partitions do not come to rest; see {daemons.logs}")
        acts: dict[str, Callable[[int], None]] = {
            "a topic comes": lambda number: _new_topic(lab, number),
            "a topic gets a carrier of its own": lambda number: _new_stream(lab, number),
            "balancer killed": lambda _: _again(daemons, "balance"),
            "worker killed": lambda _: _kill_worker(daemons),
            "driver and all it started killed": lambda _: _again(daemons, "replicate"),
        }
        with Arrivals(lab.regions[CANDIDATE].aggregate, rates()) as reader:
            for number in range(rounds):
                for what, act in acts.items():
                    if not until(reader.is_current, PATIENCE_SECONDS, 0.1):
                        raise RuntimeError(f"something stands still; see {daemons.logs}")
                    time.sleep(CALM_SECONDS)
                    began = time.time()
                    act(number)
                    time.sleep(CALM_SECONDS)
                    if not until(reader.is_current, PATIENCE_SECONDS, 0.1):
                        raise RuntimeError(f"it does not go on; see {daemons.logs}")
                    silences = reader.silences(began - 1, time.time())
                    found[what].append(round(max(silences.values())[0], 2))
                    print(what, found[what], file=sys.stderr)
        loads.close()
        daemons.end()
    return found


def _new_topic(lab: Lab, number: int) -> None:
    """Creates an empty topic that is mirrored because of its name."""
    lab.regions["west"].regional.create_topics(NewTopic(f"skewed-new-{number}", 2))


def _new_stream(lab: Lab, number: int) -> None:
    route = ["--route", f"west>{CANDIDATE}", "--config", str(lab.configuration)]
    terms = ["--topics", f"skewed-{number}", "--carriers-min", "1", "--carriers-max", "1"]
    command = [
        str(SLUICE),
        "stream",
        "create",
        f"own-{number}",
        *terms,
        *route,
        "--reason",
        "bench",
    ]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _again(daemons: Daemons, command: Command) -> None:
    daemons.kill(CANDIDATE, command)
    daemons.start(CANDIDATE, command)


def _kill_worker(daemons: Daemons) -> None:
    """Kills a worker process that carries."""
    log = daemons.log(CANDIDATE, "replicate").read_text()
    alive = [pid for pid in map(int, WORKER.findall(log)) if psutil.pid_exists(pid)]
    psutil.Process(alive[-1]).kill()


@click.command()
@click.option("--rounds", default=3, show_default=True, help="How often each is done.")
def main(rounds: int) -> None:
    """Writes `standing still` in bench/results/balancer.json."""
    busy = load_average()
    with Lab(DIRECTORY, settings=settings(CARRIERS)) as lab:
        found = standing_still(lab, rounds)
    times_of = {
        what: {"median": median(times), "worst": max(times), "times": len(times)}
        for what, times in found.items()
    }
    keep("standing still", {"longest time without a record of any partition, s": times_of}, busy)


if __name__ == "__main__":
    main()
