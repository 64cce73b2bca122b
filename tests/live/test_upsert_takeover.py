"""Upsert table whose coordinator stands still in the middle of a tick while another one takes over,
and whose checkpoint and claims are those of earlier times."""

from __future__ import annotations

import shutil
import signal

import psutil
import pytest

from deploy.lab.operator import Operator
from tests.live.replicate_daemon import ReplicateDaemon, aggregate_runs
from tests.live.upsert_ground import UpsertGround, states
from tests.live.upsert_steps import Step, Steps

# One after the other: each has two daemons with a JVM, one of which stands still.
pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]
REPLICAS = (0, 1, 2)
ENDED_SECONDS = 120.0
LEFT_BEHIND = 8
"""Exit code of a daemon that another one has succeeded."""


class Kept(UpsertGround):
    """Upsert table to which records come in portions."""

    sent = 0

    def send_some(self) -> None:
        self.sent += self.send(states(200, keys=60, partitions=3, seed=self.sent, first=self.sent))

    def claims(self) -> list[tuple]:
        """Returns all rows of the table of ticks, by tick."""
        with self.database.client() as client:
            return client.execute(f"SELECT * FROM {self.table}__ticks ORDER BY tick")

    def restore(self, rows: list[tuple]) -> None:
        """Puts other rows in place of those of the table of ticks."""
        self.database.execute(f"DROP TABLE {self.table}__ticks")
        self.create()
        self.add(rows)

    def add(self, rows: list[tuple]) -> None:
        """Inserts rows into the table of ticks."""
        for row in rows:
            assert self.database.insert(0, f"{self.table}__ticks", [row], insert_quorum=2) == 0


@pytest.fixture
def ground(tmp_path, aggregate, redis, replicated_database):
    ground = Kept(tmp_path, aggregate, redis, replicated_database)
    ground.create()
    return ground


@pytest.fixture
def start(ground):
    with aggregate_runs(ground.config) as start:
        yield start


def stop(daemon: ReplicateDaemon) -> list[psutil.Process]:
    """Stops a daemon with its JVM and workers, as a machine that is suspended."""
    family = daemon.family()
    for each in family:
        each.suspend()
    return family


def verify(ground: Kept) -> None:
    """Checks that the verifier finds nothing."""
    table = ("--feed", ground.feed, "--table", ground.table)
    Operator(ground.config).ask("upsert", "verify", *table)


@pytest.mark.parametrize("step", [Step.CUT, Step.ENDS])
def test_a_coordinator_that_stood_still_counts_for_nothing(ground, start, tmp_path, step):
    """At CUT no block of the tick was sent; at ENDS its rows are stored."""
    steps = Steps(tmp_path / "steps")
    zombie = start(steps.program)
    ground.send_some()
    ground.assert_seen(*REPLICAS)
    with steps.held(step, ground.send_some):
        family = stop(zombie)
    leads = start()
    leads.hear(r"event=upsert-begins .* was cut and not claimed")
    ground.send_some()
    ground.assert_seen(*REPLICAS)
    for each in family:
        each.resume()
    assert zombie.ended(ENDED_SECONDS) == LEFT_BEHIND
    ground.send_some()
    ground.assert_seen(*REPLICAS)
    verify(ground)


def test_claims_and_checkpoints_of_earlier_times_are_told_apart(ground, start, tmp_path):
    checkpoints, older = ground.config.parent / "upsert", tmp_path / "older"
    first = start()
    ground.send_some()
    ground.assert_seen(*REPLICAS)
    shutil.copytree(checkpoints, older)
    for _ in range(3):
        ground.send_some()
        ground.assert_seen(*REPLICAS)
    first.signal(signal.SIGTERM)  # behind the newest tick
    assert first.ended() == 0
    rows = ground.claims()
    newest = max(row[1] for row in rows)
    ground.restore([row for row in rows if row[1] < newest - 1])
    last = start()
    lost = f"ticks {newest - 1} to {newest - 1} are lost"
    last.hear(f"event=upsert-failed .* claims up to {newest - 2}: {lost}")
    ground.add([row for row in rows if row[1] == newest - 1])
    last.hear(
        f"event=upsert-failed .* the state holds ticks up to {newest}, and the store has claims up "
        f"to {newest - 1}: claims of ticks {newest} to {newest} are lost"
    )
    shutil.rmtree(checkpoints)
    shutil.copytree(older, checkpoints)
    ground.add([row for row in rows if row[1] == newest])
    last.hear(r"event=upsert-begins .*state=bootstrap: the checkpoint ends with tick")
    ground.send_some()
    ground.assert_exact()
    verify(ground)
