"""An application that reads through `replicator.groups.resume` and keeps its messages."""

from __future__ import annotations

import time
from contextlib import ExitStack

from deploy.lab.wait import until
from replicator.groups.resume import ResumingConsumer
from tests.live.mirrored import Mirrored, Record, record

PATIENCE_SECONDS = 60.0
CLASSIC = {"session.timeout.ms": 6000}
PROTOCOLS = {
    "classic": CLASSIC,
    "cooperative": CLASSIC | {"partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
QUICK = {"auto.offset.reset": "earliest", "fetch.wait.max.ms": 20, "log_level": 0}


class Reader:
    """An application of one thread; `read` lists the records that it has received."""

    def __init__(self, mirrored: Mirrored, region: str, stack: ExitStack, **options) -> None:
        config = {"group.id": mirrored.group, "enable.auto.commit": False, **QUICK}
        config |= options.pop("config", CLASSIC)
        self.consumer = ResumingConsumer(
            config, region=region, appliance=mirrored.appliance, **options
        )
        stack.callback(self.consumer.close)
        self.consumer.subscribe([mirrored.topic])
        self.messages = []

    @property
    def read(self) -> list[Record]:
        return [record(message) for message in self.messages]

    def poll(self) -> None:
        message = self.consumer.poll(0.05)
        if message is not None:
            self.messages.append(message)

    def until(self, count: int) -> list[Record]:
        """Polls until `count` records were read in total; returns those read by this call."""
        before = len(self.messages)

        def has_read() -> bool:
            self.poll()
            return len(self.messages) >= count

        assert until(has_read, PATIENCE_SECONDS, 0), self.read
        return self.read[before:]

    def until_position(self, offset: int, partition: int = 0) -> None:
        """Polls until everything before an offset was delivered or skipped."""

        def is_there() -> bool:
            self.poll()
            return any(
                at.partition == partition and at.offset == offset for at in self.consumer.offsets()
            )

        assert until(is_there, PATIENCE_SECONDS, 0), self.consumer.offsets()

    def nothing_comes(self, seconds: float = 0.7) -> None:
        count, end = len(self.messages), time.monotonic() + seconds
        while time.monotonic() < end:
            self.poll()
        assert len(self.messages) == count, self.read[count:]


def west(*offsets: int) -> list[Record]:
    return [("west", offset) for offset in offsets]


def east(*offsets: int) -> list[Record]:
    return [("east", offset) for offset in offsets]
