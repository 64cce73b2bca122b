"""Frame of the benches: rounds, failures of one system, and systems that cannot do a case."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.results import FeedResult, MirrorResult
from bench.side_by_side import Bench, Impossible, Measured


class Played(Bench[list[str]]):
    """Bench whose servers are a list of what was done, and whose systems are played."""

    systems = ("fast", "failing", "unable", "last_round")
    cases = ("full", "paced")
    full = cases
    result = FeedResult
    file = directory = Path("unused")

    @contextmanager
    def ground(self) -> Iterator[list[str]]:
        yield []

    def is_rated(self, case: str) -> bool:
        return case == "full"

    def rounds_of(self, case: str, system: str, rounds: int) -> range:
        if system == "last_round":
            return range(rounds - 1, rounds) if self.is_rated(case) else range(0)
        return range(rounds)

    def prepare(self, ground: list[str], case: str) -> None:
        ground.append("prepare")

    def clear(self, ground: list[str], case: str) -> None:
        ground.append("clear")

    def measured(self, ground: list[str], case: str, system: str) -> Measured:
        ground.append(system)
        if system == "failing":
            raise RuntimeError("no answer\nof the server")
        if system == "unable":
            raise Impossible("it has no such format")
        return FeedResult(case=case, system=system, rows_per_second=1.0), {}

    def write_tables(self) -> None:
        raise AssertionError("a partial run does not change the tables")


def test_a_failing_system_is_noted_in_each_round_and_the_others_are_measured():
    bench, ground = Played(is_quick=False), []
    found, impossible = bench.measure(ground, "full", Played.systems, rounds=2)
    assert ground == [
        "prepare", "fast", "failing", "unable", "fast", "failing", "last_round", "clear",
    ]  # fmt: skip
    assert {system: len(rounds) for system, rounds in found.items()} == {
        "fast": 2,
        "failing": 0,
        "unable": 0,
        "last_round": 1,
    }
    assert impossible == {"unable": "it has no such format"}
    assert bench.failed == ["full, failing failed: no answer"] * 2


def test_a_case_that_is_not_rated_takes_one_round_and_fills_no_topic():
    ground = []
    found, _ = Played(is_quick=False).measure(ground, "paced", Played.systems, rounds=3)
    assert ground == ["fast", "failing", "unable"]
    assert "last_round" not in found


def test_the_topic_of_a_case_is_deleted_also_after_an_error_of_the_bench():
    class Broken(Played):
        def measured(self, ground: list[str], case: str, system: str) -> Measured:
            raise KeyError(system)

    ground = []
    with pytest.raises(KeyError):
        Broken(is_quick=True).measure(ground, "full", ["fast"], rounds=1)
    assert ground == ["prepare", "clear"]


def test_results_of_a_case_replace_those_before_and_what_was_not_measured_is_null(tmp_path):
    bench, file = Played(is_quick=True), tmp_path / "part.json"
    bench.run(("paced",), ("fast",), 1, file)
    bench.run(("paced", "full"), ("failing",), 1, file)
    text = file.read_text()
    assert '"system": "fast"' not in text
    assert text.count('"rows_per_second": null') == 2
    assert '"quick": true' in text


def test_of_loading_the_round_with_the_median_rate_is_kept_whole_of_mirroring_each_median():
    rounds = [
        FeedResult(case="c", system="s", rows_per_second=rate, peak_rss_mb=megabytes)
        for rate, megabytes in ((3.0, 10.0), (1.0, 30.0), (2.0, 90.0))
    ]
    assert FeedResult.median(rounds) == rounds[2]
    mirrored = [
        MirrorResult(case="c", system="s", records_per_second=rate, peak_rss_mb=megabytes)
        for rate, megabytes in ((3.0, 10.0), (1.0, 30.0), (2.0, 90.0))
    ]
    median = MirrorResult.median(mirrored)
    assert (median.records_per_second, median.peak_rss_mb) == (2.0, 30.0)
