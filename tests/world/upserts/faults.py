"""Faults of an upsert table: daemons, servers of ClickHouse and brokers."""

from __future__ import annotations

import json
import shutil
import time
from dataclasses import replace

from aggregator.upsert.checkpoint import IDENTITY, Checkpoint, Checkpoints
from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import RotateTable
from tests.world.faults import brokers
from tests.world.faults.fault import Fault
from tests.world.kafka.partition import Partition
from tests.world.process import Process
from tests.world.sinks import faults as of_sinks
from tests.world.sinks.loaded_feed import FEED
from tests.world.sinks.loader_faults import later
from tests.world.upserts import log_faults
from tests.world.upserts.scene import CLUSTERS, HOSTS, Scene
from tests.world.upserts.server import UpsertServer
from tests.world.upserts.stored import TABLE, TICKS, UPDATES

PARTITIONS_MAX = 4
STOP_SECONDS = (0.5, 3.0, 12.0, 20.0)
SLOW = 100.0


async def kill_daemon(scene: Scene) -> None:
    """Kills the daemon after some of its turns; another one starts soon."""
    turns = scene.dice.choice([0, 3, 30, 100, 300])
    if running := scene.running():
        victim = running[-1]
        scene.tell(f"kill {victim.name} after {turns} turns")
        victim.strike(turns, lambda: _killed(scene, victim))
    elif not scene.daemons[-1].is_running:
        scene.start_daemon()


def _killed(scene: Scene, victim: Process) -> None:
    scene.tell(f"{victim.name} is killed")
    victim.kill()
    later(scene, scene.dice.choice([0.1, 2.0]), _follow, scene)


def _follow(scene: Scene) -> None:
    if not scene.daemons[-1].is_running:
        scene.start_daemon()


async def stop_daemon(scene: Scene) -> None:
    """Stops the daemon for a while; mostly another one takes over meanwhile."""
    if running := scene.running():
        victim, seconds = running[-1], scene.dice.choice(STOP_SECONDS)
        turns = scene.dice.choice([0, 3, 30, 100])
        follows = scene.dice.random() < 0.7

        def stop() -> None:
            scene.tell(f"stop {victim.name} for {seconds} s")
            victim.stop()
            later(scene, seconds, victim.resume)
            if follows:
                later(scene, 0.2, scene.start_daemon)

        victim.strike(turns, stop)


async def add_partition(scene: Scene) -> None:
    """Adds a partition to a topic, with some records."""
    name, (topic, _) = scene.dice.choice(list(CLUSTERS.items()))
    cluster = scene.clusters[name]
    known = cluster.topics[topic]
    if len(known.partitions) >= PARTITIONS_MAX:
        return
    scene.tell(f"{name} gets {topic}-{len(known.partitions)}")
    made = Partition(
        topic, known.id, len(known.partitions), known.partitions[0].replicas, min_in_sync=2
    )
    known.partitions.append(made)
    if made.decided.leader not in cluster.alive:
        cluster.elect_another(made)
    scene.truth.watch(name, made)
    sender = scene.sender(name, TopicPartition(topic, made.number))
    scene.loop.in_background(sender.send(scene.dice.randint(1, 20)))


async def cut_insert(scene: Scene) -> None:
    """Cuts the connections of all servers just when ends or a claim were sent to one. Servers are
    slow meanwhile, and do not fetch these: the repeat meets the first insert before its quorum."""
    seconds, delay = scene.dice.uniform(2.0, 5.0), scene.dice.uniform(0.0, 0.2)

    def strike(query_id: str) -> None:
        is_claim = query_id.endswith("-claim")
        if not is_claim and not query_id.endswith("-ends"):
            return
        scene.checks.armed = None
        scene.tell(f"cut the connections at {query_id}")
        for server in scene.servers.values():
            server.slowness = SLOW
            later(scene, seconds, setattr, server, "slowness", 1.0)
            _lag(scene, server, seconds, TICKS if is_claim else UPDATES)
            later(scene, delay, _cut, server)

    scene.checks.armed = strike


def _cut(server: UpsertServer) -> None:
    for line in list(server.lines):
        line.cut(ConnectionResetError(104, "Connection reset by peer"))


async def lag_with_ends(scene: Scene) -> None:
    """Has one server fetch no ends for a while, and be quicker than the others with all else."""
    server, seconds = scene.servers["ch-1"], scene.dice.uniform(5.0, 25.0)
    if not server.lagging:
        scene.tell(f"{server.name} fetches no ends for {seconds:.1f} s")
        server.slowness = 0.05
        _lag(scene, server, seconds, UPDATES)


def _lag(scene: Scene, server: UpsertServer, seconds: float, table: str) -> None:
    server.lagging.add(table)
    later(scene, seconds, server.lagging.discard, table)


async def delay_mutations(scene: Scene) -> None:
    """Has the mutations of a server wait for a while, as they do where merges take its threads."""
    server, seconds = scene.any_server(), scene.dice.uniform(8.0, 25.0)
    scene.tell(f"mutations of {server.name} wait for {seconds:.1f} s")
    server.mutates_at = scene.loop.time() + seconds


async def rotate(scene: Scene) -> None:
    order_rotation(scene)


def order_rotation(scene: Scene) -> None:
    """Orders that the state of keys is read anew."""
    scene.tell("the state is to be read anew")
    scene.rotated_at = scene.loop.time()
    at_ms = round(time.time() * 1000)
    scene.order(RotateTable(route=FEED, at_ms=at_ms, who=f"an operator {at_ms}", table=TABLE))


async def set_clock(scene: Scene) -> None:
    """Sets the clock of the daemon that runs."""
    if running := scene.running():
        most = scene.course.clock_seconds
        running[-1].clock_ahead = scene.dice.uniform(-most, most)
        scene.tell(f"the clock of {running[-1].name} is {running[-1].clock_ahead:+.1f} s ahead")


async def change_checkpoint(scene: Scene) -> None:
    """Kills the daemon, and changes what the host of the next one has of Spark: its checkpoint is
    gone, older, damaged or another table's."""
    change = scene.dice.choice([_lose, _take_back, _lose_state, _put_foreign, _put_foreign])
    if running := scene.running():
        scene.tell(f"{running[-1].name} is killed, and {change.__name__.strip('_')} follows")
        newest = scene.daemons[-1]
        running[-1].kill()
        change(scene, newest.number % HOSTS, len(scene.daemons) % HOSTS)
        later(scene, scene.dice.choice([0.1, 2.0]), _follow, scene)


def _newest(scene: Scene, host: int) -> Checkpoint | None:
    return Checkpoints(scene.folder / f"host-{host}" / f"{FEED}.{TABLE}").newest()


def _lose(scene: Scene, _: int, host: int) -> None:
    if found := _newest(scene, host):
        shutil.rmtree(found.folder)


def _take_back(scene: Scene, _: int, host: int) -> None:
    """Takes the last batches out of a checkpoint."""
    if found := _newest(scene, host):
        count = scene.dice.choice([1, 2, 5])
        for folder in ("commits", "offsets"):
            batches = sorted((found.folder / folder).glob("*"), key=lambda it: int(it.name))
            for each in batches[1:][-count:]:
                each.unlink()


def _lose_state(scene: Scene, _: int, host: int) -> None:
    if found := _newest(scene, host):
        for key in [it for it in scene.states if it[0] == found.folder]:
            del scene.states[key]


def _put_foreign(scene: Scene, source: int, host: int) -> None:
    """Puts a checkpoint of another table where the newest one is looked for."""
    found, following = _newest(scene, source), _newest(scene, host)
    if found is None or following is None:
        return
    made = Checkpoint(following.folder.parent / str(int(following.folder.name) + 1))
    shutil.copytree(found.folder, made.folder)
    identity = json.loads((made.folder / IDENTITY).read_text()) | {"table": "other"}
    (made.folder / IDENTITY).write_text(json.dumps(identity))
    for _, batch in [it for it in scene.states if it[0] == found.folder]:
        scene.states[made.folder, batch] = {}


FAULTS: tuple[Fault[Scene], ...] = (
    Fault("kill the daemon", kill_daemon, 4),
    Fault("stop the daemon", stop_daemon, 3),
    Fault("add a partition", add_partition, 1),
    Fault("kill a server", of_sinks.kill_server, 2),  # type: ignore[arg-type]
    Fault("stop a server", of_sinks.stop_server, 2),  # type: ignore[arg-type]
    Fault("slow server", of_sinks.slow_server, 2),  # type: ignore[arg-type]
    Fault("cut lines", of_sinks.cut_lines, 2),  # type: ignore[arg-type]
    Fault("lose a session", of_sinks.lose_session, 2),  # type: ignore[arg-type]
    *(replace(each, weight=1) for each in brokers.FAULTS),
)
NAMED: tuple[Fault[Scene], ...] = (
    Fault("lose answers", of_sinks.lose_answers, 2),  # type: ignore[arg-type]
    Fault("cut an insert", cut_insert, 3),
    Fault("a server lags with ends", lag_with_ends, 2),
    Fault("rebuild a server", of_sinks.rebuild_server, 1),  # type: ignore[arg-type]
    Fault("delay mutations", delay_mutations, 2),
    Fault("rotate the state", rotate, 2),
    Fault("set a clock", set_clock, 1),
    Fault("change a checkpoint", change_checkpoint, 4),
    *log_faults.FAULTS,
)
"""Dealt only where a course names them."""
