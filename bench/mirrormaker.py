"""MirrorMaker 2 from Kafka's own jars, set up as bench/README.md says.

tasks.max is the number of cores; more is slower. Its bookkeeping topics (heartbeats, checkpoints,
offset syncs, topic configs) are off, so that they cost nothing. For failover it syncs groups'
offsets to the target, with its default precision.
"""

from __future__ import annotations

import os
from pathlib import Path

from bench.ground import delete_topics
from bench.mirror import Ends, Order
from deploy.lab.kafka import java_command
from deploy.lab.process import Process, free_port

HEAP_MIB = 1536
TARGET = "east"

LOG4J = """\
<Configuration status="ERROR">
  <Appenders><Console name="out"><PatternLayout pattern="%d %p %m (%c)%n"/></Console></Appenders>
  <Loggers><Root level="WARN"><AppenderRef ref="out"/></Root></Loggers>
</Configuration>
"""


class MirrorMaker:
    """A MirrorMaker 2 JVM. A fresh cluster alias makes it start from nothing each time."""

    def __init__(self, ground: Ends, order: Order, *, exactly_once: bool = False) -> None:
        alias = f"west{ground.next_number()}"
        self.target_topic = f"{alias}.{order.topic}"
        self._ground = ground
        self._directory = ground.directory / alias
        self._properties = properties(ground, order, alias, exactly_once=exactly_once)
        self._process: Process | None = None

    def start(self) -> None:
        self._directory.mkdir(exist_ok=True)
        (self._directory / "log4j2.xml").write_text(LOG4J)
        file = self._directory / "mm2.properties"
        file.write_text("".join(f"{key} = {value}\n" for key, value in self._properties.items()))
        self._process = Process("mirrormaker2", self._command(file), self._directory / "output.log")

    def _command(self, file: Path) -> list[str]:
        return [
            *java_command(self._directory, heap_mib=HEAP_MIB),
            "org.apache.kafka.connect.mirror.MirrorMaker",
            str(file),
        ]

    @property
    def process(self) -> Process:
        assert self._process is not None, "start() it first"
        return self._process

    def kill(self) -> None:
        self.process.kill()

    def stop(self) -> None:
        if self._process is not None:
            self._process.stop()
        delete_topics(self._ground.target, [self.target_topic])


def exactly_once(ground: Ends, order: Order) -> MirrorMaker:
    return MirrorMaker(ground, order, exactly_once=True)


def properties(
    ground: Ends, order: Order, alias: str, *, exactly_once: bool
) -> dict[str, str | int]:
    """Returns everything in mm2.properties."""
    chosen: dict[str, str | int] = {
        "clusters": f"{alias}, {TARGET}",
        f"{alias}.bootstrap.servers": ground.source.bootstrap,
        f"{TARGET}.bootstrap.servers": ground.target.bootstrap,
        f"{alias}->{TARGET}.enabled": "true",
        f"{alias}->{TARGET}.topics": order.topic,
        f"{TARGET}->{alias}.enabled": "false",
        "tasks.max": os.cpu_count() or 1,
        "replication.factor": 1,
        "emit.heartbeats.enabled": "false",
        "emit.checkpoints.enabled": "false",
        "emit.offset-syncs.enabled": "false",
        "sync.topic.configs.enabled": "false",
        "sync.topic.acls.enabled": "false",
        "heartbeats.topic.replication.factor": 1,
        "checkpoints.topic.replication.factor": 1,
        f"{TARGET}.offset.storage.replication.factor": 1,
        f"{TARGET}.config.storage.replication.factor": 1,
        f"{TARGET}.status.storage.replication.factor": 1,
        # Halves its start time: no search through all classes of all jars.
        f"{TARGET}.plugin.discovery": "service_load",
        f"{alias}.plugin.discovery": "service_load",
        # A restarted worker gets its tasks back at once, not after five minutes.
        f"{TARGET}.scheduled.rebalance.max.delay.ms": 0,
    }
    chosen |= {f"{TARGET}.producer.compression.type": "lz4"}
    if order.aim == "latency":
        chosen |= {
            f"{TARGET}.producer.linger.ms": 0,
            f"{alias}.consumer.fetch.min.bytes": 1,
        }
    else:
        chosen |= {
            f"{TARGET}.producer.batch.size": 262_144,
            f"{TARGET}.producer.linger.ms": 50,
            f"{alias}.consumer.fetch.min.bytes": 100_000,
        }
    if order.aim == "kills":
        # The default is 60 s; with a kill every 25 s it would never flush.
        chosen |= {f"{TARGET}.offset.flush.interval.ms": 5000}
    if order.aim == "failover":
        # How soon a group's position is synced. Its precision (offset.lag.max) keeps the default.
        chosen |= {
            "emit.checkpoints.enabled": "true",
            "emit.offset-syncs.enabled": "true",
            "offset-syncs.topic.replication.factor": 1,
            "sync.group.offsets.enabled": "true",
            "emit.checkpoints.interval.seconds": 2,
            "sync.group.offsets.interval.seconds": 2,
            "refresh.groups.interval.seconds": 2,
            # The last records before a pause are synced only when the connector flushes its own
            # offsets.
            f"{TARGET}.offset.flush.interval.ms": 5000,
        }
    if exactly_once:
        chosen |= {
            f"{TARGET}.exactly.once.source.support": "enabled",
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": f"http://127.0.0.1:{free_port()}",
        }
    return chosen
