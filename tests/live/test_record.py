"""`sluice record` beside a route that carries: killed, continued, ended, and replayed."""

from __future__ import annotations

import json
import queue
import signal
import sqlite3
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from deploy.lab.credentials import PASSWORD
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import Process
from deploy.lab.redis import RedisServer
from deploy.lab.wait import until
from tests.live import viewer
from tests.live.conftest import ClusterMaker, StageMaker
from tests.live.failover_command import Sluice
from tests.live.stage import Stage
from tui.facts.snapshot import Snapshot
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording
from tui.recording.replay import Replay
from tui.recording.tables import Damaged

PATIENCE_SECONDS = 60.0
RECORDS = 100


def configuration(directory: Path, stage: Stage, redis: RedisServer, unused: KafkaCluster) -> Path:
    """Writes the configuration of the stage's route, with a password for its source and for Redis.

    Args:
        unused: cluster that no route uses.
    """
    password = directory / "redis-password"
    password.write_text(viewer.PASSWORD)
    route = stage.route
    lines = [f'routes = ["{route.name}"]', "[topics]", f'allow = ["{stage.topic}"]']
    ends = (
        (route.source, stage.source.topology_table(), nowhere("127.0.0.1", unused)),
        (route.target, nowhere("localhost", unused), stage.target.topology_table()),
    )
    for region, regional, aggregate in ends:
        url = redis.url.replace("redis://", f"redis://{viewer.VIEWER}@")
        lines += [f'[regions."{region}"]', f'redis = "{url}"']
        lines += [f"redis_password_file = {json.dumps(str(password))}"]
        for role, table in (("regional", regional), ("aggregate", aggregate)):
            lines.append(f"{role}.bootstrap = {json.dumps(table['bootstrap'])}")
            for key, value in table.get("security", {}).items():
                lines.append(f"{role}.security.{key} = {json.dumps(value)}")
    path = directory / "appliance.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def nowhere(host: str, unused: KafkaCluster) -> dict[str, Any]:
    """Returns the table of a cluster that no route uses, under a host name of its own."""
    return {"bootstrap": unused.bootstrap.replace("127.0.0.1", host).split(",")}


@contextmanager
def recorder(path: Path, config: Path) -> Iterator[Process]:
    """Runs `sluice record` until the end of the block."""
    command = [sys.executable, "-m", "tui.program", "record", str(path), "--config", str(config)]
    process = Process("recorder", command, path.with_suffix(".log"))
    try:
        yield process
    finally:
        process.kill()


def last(path: Path) -> Snapshot | None:
    """Returns the newest snapshot of a recording; None while there is none."""
    with suppress(NoRecording, Damaged), Reader(path) as reader:
        return reader.snapshot(reader.last())
    return None


def offsets(snapshot: Snapshot | None) -> list[tuple[str, str, int, int | None, int | None]]:
    """Returns the place, source end and mirrored offset of each partition."""
    return [
        (route.route, topic.topic, each.partition, each.source_end, each.mirrored_to)
        for route in (snapshot.routes if snapshot else ())
        for topic in route.topics or ()
        for each in topic.partitions
    ]


def lasting(snapshot: dict[str, Any]) -> Any:
    """Returns what two snapshots of a quiet route have in common: places, offsets and custody."""
    names = ("partition", "source_end", "mirrored_to", "custody", "parked")
    return [
        (
            (route["route"], route["source"], route["target"]),
            topic["topic"],
            topic["states"],
            [[each[name] for name in names] for each in topic["partitions"]],
        )
        for route in snapshot["routes"]
        for topic in route["topics"]
    ]


def replayed(path: Path) -> list[Snapshot]:
    """Returns all snapshots that a replay shows, step by step."""
    shown: queue.Queue[Snapshot] = queue.Queue()
    replay = Replay(Reader(path), speed=0.0)
    replay.start(shown.put)
    found = [shown.get(timeout=PATIENCE_SECONDS)]
    while not replay.state.is_at_end:
        replay.step(1)
        found.append(shown.get(timeout=PATIENCE_SECONDS))
    assert replay.state.problem is None
    replay.close()
    return found


def contents(path: Path) -> bytes:
    """Returns all that a recording holds, unpacked."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT content FROM frames").fetchall()
    connection.close()
    return path.read_bytes() + b"".join(zlib.decompress(content) for (content,) in rows)


@pytest.mark.core
def test_a_killed_recorder_is_continued_and_its_last_frame_is_what_status_says(
    regional: KafkaCluster,
    redis: RedisServer,
    make_cluster: ClusterMaker,
    make_stage: StageMaker,
    sluice: Sluice,
    tmp_path: Path,
) -> None:
    source = make_cluster("source", security="sasl_plaintext")
    stage = make_stage(source=source)
    viewer.admit(redis, viewer.redis_rules())
    config = configuration(tmp_path, stage, redis, regional)
    path = tmp_path / "day.rec"
    hand = stage.hand(0).start()
    hand.until(lambda: stage.place in hand.pipelines)

    def until_recorded(process: Process, count: int) -> None:
        wanted = [(stage.route.name, stage.topic, 0, count, count)]

        def is_recorded() -> bool:
            assert process.is_running(), process.failure("has ended")
            return offsets(last(path)) == wanted

        assert until(is_recorded, PATIENCE_SECONDS), process.failure(f"recorded {last(path)}")

    with recorder(path, config) as first:
        until_recorded(first, stage.send(RECORDS))
        stage.send(RECORDS)
        first.send(signal.SIGKILL)
        assert first.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    killed_at = last(path)
    assert killed_at is not None

    with recorder(path, config) as second:
        count = stage.send(RECORDS)
        hand.until_carried(stage.place)
        until_recorded(second, count)
        second.terminate()
        assert second.wait(PATIENCE_SECONDS) == 0, second.failure("failed")
        log = second.log.read_text()
    assert [each.name for each in tmp_path.glob("day.rec*")] == ["day.rec"]
    events = [line.split("event=")[1].split()[0] for line in log.splitlines() if "event=" in line]
    # Other tests leave flawed orders in the region's log, which every reader of it names.
    own = [name for name in events if not name.startswith("order-")]
    assert own == ["recording", "recording", "stopping", "stopped"]

    snapshots = replayed(path)
    times = [each.taken_at for each in snapshots]
    assert times == sorted(times)
    assert times[0] < killed_at.taken_at < times[-1]
    ends = [[each[3:] for each in offsets(snapshot)] for snapshot in snapshots]
    assert [(RECORDS, RECORDS)] in ends
    assert ends[-1] == [(3 * RECORDS, 3 * RECORDS)]

    code, told, said = sluice("status", "--config", str(config), "-o", "json", "--timeout", "5")
    assert code == 0, said
    recorded = TypeAdapter(Snapshot).dump_python(snapshots[-1], mode="json")
    assert lasting(recorded) == lasting(json.loads(told))
    assert lasting(recorded)[0][0][0] == stage.route.name

    everything = contents(path) + log.encode() + told.encode()
    for secret in (PASSWORD, viewer.PASSWORD):
        assert secret.encode() not in everything
