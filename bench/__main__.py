"""`make bench`: runs every case with every system in turn, and keeps the results.

python -m bench [--case bytes200 ...] [--system sluice ...] [--rounds 3] [--quick]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import comparison, failover, kills, latency, replicate, results, table
from bench.ground import DIRECTORY, Ground, delete_topics
from bench.load import Load, fill
from bench.mirror import Factory
from bench.mirrormaker import MirrorMaker, exactly_once
from bench.results import MirrorResult
from bench.side_by_side import Bench, Measured, program
from bench.sluice_run import Sluice

SYSTEMS: dict[str, Factory] = {
    "mirrormaker2": MirrorMaker,
    "mirrormaker2_exactly_once": exactly_once,
    "sluice": Sluice,
}

LOADS = {
    "bytes200": Load("bytes200", 16_000_000, 200, 1000),
    "bytes1000": Load("bytes1000", 4_000_000, 1000, 200),
    "one_record_batches": Load("one_record_batches", 2_400_000, 200, 1),
    # Not in a full run: the batches of a producer with Kafka's default batch.size of 16 KiB.
    "bytes200_small_batches": Load("bytes200_small_batches", 8_000_000, 200, 80),
}
FAILOVER = "failover"
CASES = (*LOADS, "latency2000", "kills", FAILOVER)
FULL = tuple(case for case in CASES if case != "bytes200_small_batches")

# The exactly-once mode gets one round, the last: the brokers' JVMs are slow in the first.
ONE_ROUND = ("mirrormaker2_exactly_once",)


@dataclass(frozen=True, slots=True)
class Size:
    """Amount of work for each kind of case."""

    load_share: float = 1.0
    seconds_max: float = 25.0
    latency_warm_seconds: float = 12.0
    latency_seconds: float = 60.0
    # Sluice's runs are long enough for three ends of epochs. In much shorter runs 0.3 s of stall in
    # each would exceed the slowest hundredth of the records.
    epoch_seconds: float = 40.0
    epochs: float = 3.2
    kills: int = 4
    kill_every_seconds: float = 25.0
    kill_rate: int = 20_000


QUICK = Size(
    load_share=0.05,
    seconds_max=8.0,
    latency_warm_seconds=5.0,
    latency_seconds=12.0,
    epoch_seconds=8.0,
    epochs=2.0,
    kills=2,
    kill_every_seconds=20.0,
    kill_rate=3000,
)


class MirrorBench(Bench[Ground]):
    """Measures Sluice and MirrorMaker 2; ends with status 1 where a system failed."""

    systems = tuple(SYSTEMS)
    cases = CASES
    full = FULL
    result = MirrorResult
    file = results.FILE
    directory = DIRECTORY

    def __init__(self, *, is_quick: bool) -> None:
        super().__init__(is_quick=is_quick)
        self._size = QUICK if is_quick else Size()

    def ground(self) -> Ground:
        return Ground()

    def is_rated(self, case: str) -> bool:
        return case in LOADS

    def rounds_of(self, case: str, system: str, rounds: int) -> Sequence[int]:
        return (rounds - 1,) if system in ONE_ROUND else range(rounds)

    def run(self, cases: Sequence[str], systems: Sequence[str], rounds: int, file: Path) -> None:
        """Measures; the failover has servers of its own, and comes last."""
        if mirrored := [case for case in cases if case != FAILOVER]:
            super().run(mirrored, systems, rounds, file)
        if FAILOVER in cases:
            try:
                failover.run(quick=self.is_quick)
            except self.failures as error:
                self.failed.append(f"{FAILOVER} failed: {str(error) or type(error).__name__}")

    def prepare(self, ground: Ground, case: str) -> None:
        fill(ground, self._load(case))

    def clear(self, ground: Ground, case: str) -> None:
        delete_topics(ground.source, [LOADS[case].topic])

    def measured(self, ground: Ground, case: str, system: str) -> Measured:
        if case == "latency2000":
            return _latency(ground, system, self._size)
        if case == "kills":
            return _kills(ground, system, self._size)
        return _throughput(ground, case, system, self._load(case), self._size)

    def write_tables(self) -> None:
        table.main()
        comparison.main()

    def _load(self, case: str) -> Load:
        return LOADS[case].of(int(LOADS[case].records * self._size.load_share))


def _throughput(ground: Ground, case: str, system: str, load: Load, size: Size) -> Measured:
    window = replicate.measured(ground, system, SYSTEMS[system], load, seconds_max=size.seconds_max)
    result = MirrorResult(
        case=case,
        system=system,
        records_per_second=window.records_per_second,
        cpu_seconds_per_million=window.cpu_seconds_per_million,
        brokers_cpu_seconds_per_million=window.brokers_cpu_seconds_per_million,
        peak_rss_mb=window.peak_rss_mb,
    )
    return result, asdict(window)


def _latency(ground: Ground, system: str, size: Size) -> Measured:
    is_ours = system == "sluice"
    found = latency.measured(
        ground,
        SYSTEMS[system],
        warm_seconds=size.latency_warm_seconds,
        seconds=size.epoch_seconds * size.epochs if is_ours else size.latency_seconds,
        epoch_seconds=size.epoch_seconds,
    )
    result = MirrorResult(
        case="latency2000",
        system=system,
        records_per_second=found.window.records_per_second,
        cpu_seconds_per_million=found.window.cpu_seconds_per_million,
        latency_ms={"p50": found.p50, "p99": found.p99},
        peak_rss_mb=found.window.peak_rss_mb,
    )
    return result, asdict(found)


def _kills(ground: Ground, system: str, size: Size) -> Measured:
    found = kills.measured(
        ground,
        SYSTEMS[system],
        kills=size.kills,
        records_per_second=size.kill_rate,
        every_seconds=size.kill_every_seconds,
    )
    result = MirrorResult(
        case="kills",
        system=system,
        peak_rss_mb=found.peak_rss_mb,
        duplicates_uncommitted=found.duplicates_uncommitted,
        duplicates_committed=found.duplicates_committed,
        lost=found.lost,
    )
    return result, asdict(found)


if __name__ == "__main__":
    program(MirrorBench, rounds=3, quick_part="A twentieth")()
