"""Messages of the runs topic: their content, their refusal, and their time."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.mirror.offset_map.offset_map import OffsetMap
from replicator.mirror.offset_map.packed_map import BrokenPiece, UnknownVersion
from replicator.mirror.offset_map.run_segment import Run, RunSegment
from replicator.mirror.offset_map.runs_publisher import RunsPublisher
from replicator.mirror.offset_map.runs_topic import (
    CONFIGS,
    RunsKey,
    batched,
    decode,
    decode_key,
    encode,
)
from tests.replicator.mirror.offset_map.told_logs import learned
from tests.world.virtual_loop import EPOCH, VirtualLoop, run

# -- Messages of the runs topic: their content, and their refusal.

KEY = RunsKey("flights", 3, "c291cmNl", "dGFyZ2V0")
STRETCH = RunSegment(0, 20, (Run(5, 50, 10), Run(15, 70, 5)))


def test_a_message_carries_a_segment_and_its_key():
    key, piece = decode(*encode(KEY, STRETCH))
    assert key == KEY
    joined = OffsetMap()
    joined.join([piece])
    assert joined == learned([STRETCH])


def test_a_message_key_can_be_read_by_people():
    assert encode(KEY, STRETCH)[0] == b'[1,"flights",3,"c291cmNl","dGFyZ2V0",0]'


def test_a_key_of_a_newer_format_is_refused_by_its_version():
    with pytest.raises(UnknownVersion, match="format 2"):
        decode_key(b'[2,"flights"]')


@pytest.mark.parametrize("key", [None, b"", b"flights", b"7", b"[1]", b'[1,"t","x","a","b",0]'])
def test_a_key_that_is_not_ours_is_refused(key):
    with pytest.raises(BrokenPiece):
        decode_key(key)


def test_a_message_without_value_is_refused():
    with pytest.raises(BrokenPiece):
        decode(encode(KEY, STRETCH)[0], None)


def test_the_topic_keeps_runs_for_ever():
    assert CONFIGS["retention.ms"] == CONFIGS["retention.bytes"] == "-1"
    assert CONFIGS["cleanup.policy"] == "delete"


def test_portions_hold_every_piece_once():
    pieces = [decode(*encode(KEY, RunSegment(at, at + 1, ()))) for at in range(7)]
    portions = list(batched(iter(pieces), pieces_per_join=3))
    assert [sum(map(len, portion.values())) for portion in portions] == [3, 3, 1]
    assert [piece for portion in portions for piece in portion[KEY]] == [it[1] for it in pieces]


# -- Messages of the runs topic have the time of the process, which a simulation decides.


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
