"""Seconds from kill -9 of `sluice replicate` until its successor, started at once, carries again.

python -m bench.restart CHECKOUT [--pairs 5]

CHECKOUT is a clone at an older commit, set up by its own `make setup`. Each version has servers and
a flow of records of its own. Both are killed with all that they have started at the same moment, so
that both restarts meet the same load. Figures and medians go into bench/results/restart.json. On a
busy machine CPU time is the better figure: that of the whole process tree up to the first record.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

import click
import psutil
from confluent_kafka import Consumer, Producer, TopicPartition

from bench import machine
from bench.ground import DIRECTORY, PARTITIONS, Ground, log_end, make_topic, say
from bench.mirror import Order
from bench.sluice_run import OWN_PROGRAM, Sluice, program_of
from deploy.lab.kafka import CHECKOUT
from deploy.lab.wait import until

FILE = CHECKOUT / "bench" / "results" / "restart.json"
TOPIC = "restart"
ROUNDS_PER_SECOND = 20
"""Records of each partition in a second."""
STEADY_SECONDS = 8.0
CARRIED_SECONDS_MAX = 300.0
LOOK_SECONDS = 0.02
FLUSH_SECONDS = 10.0

STAGES = {
    "starting": "daemon_imported",
    "spark-started": "spark_started",
    "term": "first_epoch",
    "epoch": "plan_and_job",
}
"""Stages of a start, by the log event that ends each; the first record ends the last one."""
LAST_STAGE = "take_over_and_carry"
EVENT = re.compile(r"^(\S+Z) .*event=(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Restart:
    """A restart, from the kill to the first record at the target."""

    seconds: float
    cpu_by_process: Mapping[str, float]
    stages_seconds: Mapping[str, float]

    @property
    def cpu_seconds(self) -> float:
        return sum(self.cpu_by_process.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "seconds": round(self.seconds, 2),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "cpu_by_process": _rounded(self.cpu_by_process),
            "stages_seconds": _rounded(self.stages_seconds),
        }


class Version:
    """A version that mirrors a topic from and to servers of its own, once it has begun."""

    def __init__(self, name: str, program: Path, stack: ExitStack) -> None:
        self.name = name
        self._ground = stack.enter_context(Ground(DIRECTORY.with_name(f"bench-restart-{name}")))
        make_topic(self._ground.source, TOPIC)
        self._sluice = Sluice(self._ground, Order(TOPIC, "kills"), program)
        stack.callback(self._end)
        stack.enter_context(_flow(self._ground))
        self._read_bytes = 0
        self._sluice.start()
        admin = self._ground.target.admin()
        if not until(lambda: log_end(admin, TOPIC), CARRIED_SECONDS_MAX):
            raise self._sluice.process.failure("carries nothing")

    def kill(self) -> None:
        """Kills the daemon and all that it has started."""
        self._sluice.kill()
        self._read_bytes = self._sluice.process.log.stat().st_size

    def start(self) -> None:
        self._sluice.start()

    def watch(self, killed_at: float) -> Restart:
        """Waits for the first record that was carried since the kill, at a unix time."""
        consumer, process = self._consumer(), self._sluice.process

        def has_record() -> bool:
            message = consumer.poll(LOOK_SECONDS)
            return message is not None and message.error() is None

        try:
            if not until(has_record, CARRIED_SECONDS_MAX, 0.0):
                raise process.failure("carries nothing")
            seconds = time.time() - killed_at
            return Restart(seconds, _cpu_by_process(process.pid), self._stages(killed_at, seconds))
        finally:
            consumer.close()

    def _stages(self, killed_at: float, seconds: float) -> dict[str, float]:
        with self._sluice.process.log.open(errors="replace") as log:
            log.seek(self._read_bytes)
            text = log.read()
        times: dict[str, float] = {}
        for when, event in EVENT.findall(text):
            times.setdefault(event, datetime.fromisoformat(when).timestamp() - killed_at)
        found, before = {}, 0.0
        for event, stage in STAGES.items():
            found[stage], before = times[event] - before, times[event]
        return {**found, LAST_STAGE: seconds - before}

    def _consumer(self) -> Consumer:
        """Returns a consumer that stands at the end of the target's logs."""
        settings = {"group.id": "bench", "enable.auto.commit": False, "fetch.wait.max.ms": 20}
        consumer = Consumer({**self._ground.target.librdkafka_options(), **settings})
        places = (TopicPartition(TOPIC, number) for number in range(PARTITIONS))
        ends = [consumer.get_watermark_offsets(place, timeout=30)[1] for place in places]
        consumer.assign([TopicPartition(TOPIC, number, end) for number, end in enumerate(ends)])
        return consumer

    def _end(self) -> None:
        with suppress(psutil.NoSuchProcess):
            self._sluice.kill()


@contextmanager
def _flow(ground: Ground) -> Iterator[None]:
    """Produces some records a second into the source's topic until the block ends."""
    ended = threading.Event()
    producer = Producer({**ground.source.librdkafka_options(), "linger.ms": 5})

    def produce() -> None:
        while not ended.wait(1 / ROUNDS_PER_SECOND):
            for number in range(PARTITIONS):
                producer.produce(TOPIC, value=b"record", partition=number)
            producer.poll(0)
        producer.flush(FLUSH_SECONDS)

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _cpu_by_process(pid: int) -> dict[str, float]:
    """Returns the CPU seconds of a daemon's process tree; `gone` are those that have ended."""
    found: dict[str, float] = defaultdict(float)
    daemon = psutil.Process(pid)
    for process in (daemon, *daemon.children(recursive=True)):
        try:
            used, name = process.cpu_times(), process.name()
        except psutil.NoSuchProcess:
            continue
        kind = "jvm" if name == "java" else "driver" if process.pid == pid else "python"
        found[kind] += used.user + used.system
        found["gone"] += used.children_user + used.children_system
    return dict(found)


def _pair(versions: Sequence[Version]) -> dict[str, Restart]:
    """Kills all versions at once, starts them, and waits until each carries."""
    time.sleep(STEADY_SECONDS)
    killed_at = time.time()
    for version in versions:
        version.kill()
    for version in versions:
        version.start()
    found: dict[str, Restart] = {}

    def watch(version: Version) -> None:
        found[version.name] = version.watch(killed_at)

    threads = [threading.Thread(target=watch, args=(version,)) for version in versions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(figure, 1) for name, figure in figures.items()}


def _medians(restarts: Sequence[Restart]) -> dict[str, Any]:
    stages = restarts[0].stages_seconds
    return {
        "seconds": round(median(each.seconds for each in restarts), 1),
        "cpu_seconds": round(median(each.cpu_seconds for each in restarts), 1),
        "stages_seconds": _rounded(
            {stage: median(each.stages_seconds[stage] for each in restarts) for stage in stages}
        ),
    }


def _commit(checkout: Path) -> str:
    asked = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=8"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


@click.command()
@click.argument("checkout", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--pairs", default=5, show_default=True, type=click.IntRange(1))
def main(checkout: Path, pairs: int) -> None:
    """Ratios are this checkout's figures to the other's."""
    program = program_of(checkout)
    kept, found = [], []
    with ExitStack() as stack:
        programs = {"old": program, "new": OWN_PROGRAM}
        versions = [Version(name, each, stack) for name, each in programs.items()]
        for number in range(pairs):
            load_before = machine.load_average()
            pair = _pair(versions if number % 2 else versions[::-1])
            if len(pair) < len(versions):
                raise click.ClickException("a version did not come back")
            old, new = pair["old"], pair["new"]
            found.append((old, new))
            kept.append(
                {
                    "load": [round(load_before, 1), round(machine.load_average(), 1)],
                    "old": old.to_json(),
                    "new": new.to_json(),
                    "ratio": round(new.seconds / old.seconds, 2),
                    "cpu_ratio": round(new.cpu_seconds / old.cpu_seconds, 2),
                }
            )
            say(f"{old.seconds:.1f} s, {new.seconds:.1f} s: {new.seconds / old.seconds:.2f}")
    medians = {
        "old": _medians([old for old, _ in found]),
        "new": _medians([new for _, new in found]),
        "ratio_of_a_pair": round(median(new.seconds / old.seconds for old, new in found), 2),
        "cpu_ratio_of_a_pair": round(
            median(new.cpu_seconds / old.cpu_seconds for old, new in found), 2
        ),
    }
    results = {
        "what": "seconds from kill -9 of sluice replicate with all it started, started again at "
        "once, to the first record at the target: both versions killed at the same moment",
        "machine": machine.described(),
        "date": time.strftime("%Y-%m-%d"),
        "old": _commit(checkout),
        "new": _commit(CHECKOUT),
        "pairs": kept,
        "medians": medians,
    }
    FILE.write_text(json.dumps(results, indent=2) + "\n")
    print(json.dumps(medians, indent=2))


if __name__ == "__main__":
    main()
