"""Messages of the runs topic have the time of the process, which a simulation decides."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.mirror.offset_map.runs_topic import RunsKey
from tests.world.virtual_loop import EPOCH, VirtualLoop, run


class Producer:
    """Producer whose messages are written at once."""

    def __init__(self, sent: list[int], topic: str) -> None:
        self._sent = sent

        async def fetch_all_metadata() -> Any:
            return SimpleNamespace(topics=lambda **_: {topic})

        self.client = SimpleNamespace(fetch_all_metadata=fetch_all_metadata)

    async def start(self) -> None: ...
    async def stop(self) -> None: ...

    async def send(self, _: str, *, timestamp_ms: int, **__: bytes) -> asyncio.Future[None]:
        self._sent.append(timestamp_ms)
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        written.set_result(None)
        return written


def test_messages_have_the_time_at_which_they_are_sent() -> None:
    sent: list[int] = []

    async def main(loop: VirtualLoop) -> None:
        publisher = RunsPublisher(
            ["host:9092"],
            "west.east",
            {},
            make_producer=lambda **_: Producer(sent, "sluice.runs.west.east"),
        )
        await publisher.start()
        await asyncio.sleep(30.0)
        key = RunsKey("orders", 0, "0" * 32, "1" * 32)
        await publisher.publish([(key, RunSegment(0, 1, (Run(0, 0, 1),)))])
        await publisher.flush()

    run(main)
    assert sent == [int(1000 * EPOCH) + 30_000]
