"""Key coordinator on a real Spark: ends of ticks through restarts, bootstraps and failures."""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from aggregator.upsert.version import RowEnd
from deploy.lab.wait import until
from replicator.spark.parent_watch import process
from tests.live.carrier_process import CHECKOUT
from tests.live.folding import BOOTSTRAP_AT, DIES_AT, LANES, LAST, History

SECONDS = 200.0


def run(folder: Path, mode: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.live.folding", str(folder), mode],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


class Folded:
    """Claims of a process that died and of its successor, and findings of that one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.history = History(random.randrange(10**6))
        (folder / "seed").write_text(str(self.history.seed))
        self.ends, self.states = self.history.folded()
        died = run(folder, "die")
        assert died.returncode == -signal.SIGKILL, died.stderr[-4000:]
        left = int((folder / "jvm").read_text())
        # RocksDB is loaded, and is no reason for a JVM to outlive its driver.
        self.is_jvm_gone = until(lambda: process(left) is None, 30)
        done = run(folder, "go-on")
        assert done.returncode == 0, done.stderr[-4000:]
        self.found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])

    def claimed(self, table: str, tick: int | str) -> Any:
        return json.loads((self.folder / f"{table}.{tick}").read_text())

    def expected(self, tick: int) -> Any:
        rows = [row for lane in range(LANES) for row in self.history.rows(tick, lane)]
        ends = [[*each][:-1] for each in self.ends[tick]]
        return [ends, len(rows), len({key for key, _ in rows})]


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Folded:
    return Folded(tmp_path_factory.mktemp("folded"))


def test_the_ends_of_a_random_history_are_those_of_the_fold(folded):
    assert RowEnd._fields[-1] == "key"
    for tick in range(1, LAST + 1):
        assert folded.claimed("first", tick) == folded.expected(tick), f"seed {folded.history.seed}"


def test_a_tick_that_was_claimed_and_not_committed_is_folded_again_with_the_same_ends(folded):
    assert folded.found["held"] == {"generation": 1, "tick": DIES_AT - 1}
    assert folded.claimed("first", f"{DIES_AT}.again") == folded.expected(DIES_AT)
    assert len(list(folded.folder.glob("first.*.again"))) == 1


def test_no_jvm_outlives_its_driver(folded):
    assert folded.is_jvm_gone


def test_a_bootstrap_into_a_new_folder_gives_the_same_ends_afterwards(folded):
    assert not (folded.folder / f"second.{BOOTSTRAP_AT}").exists()
    for tick in range(BOOTSTRAP_AT + 1, LAST + 1):
        assert folded.claimed("second", tick) == folded.expected(tick), (
            f"seed {folded.history.seed}"
        )
    assert folded.found["keys"] == len(folded.states[LAST])


def test_lost_older_and_alien_checkpoints_are_told_apart(folded):
    assert "is another's" in folded.found["alien"]
    assert f"tick {LAST + 1} is not posted" in folded.found["older"]
    assert folded.found["lost"] == ["StateLost", "CheckpointUnreadable"]


def test_a_failing_table_stops_no_other(folded):
    assert folded.found["failed"].startswith("CoordinatorStopped: failing: ")
    assert "tick 2 is not posted; those that are: 1 to 5" in folded.found["failed"]


def test_a_coordinator_stops_behind_its_newest_tick_or_when_time_is_up(folded):
    assert folded.found["stopped"] == [True, False, False, False]
