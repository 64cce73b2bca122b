"""Frames and answers of a connection; the bytes come from this file, not from a broker."""

import asyncio
import gc
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiokafka.errors import KafkaConnectionError
from aiokafka.protocol.admin import ApiVersionRequest
from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.connection import (
    FRAME_BYTES_MAX,
    Connection,
    Frames,
)

VERSIONS = struct.pack(">hi", 0, 1) + struct.pack(">hhh", 18, 0, 0)
"""An ApiVersions response without its correlation id: one API, in version 0."""


def fed(frames: Frames, data: bytes, cut: int) -> None:
    """Feeds `data` as a socket does: at most `cut` bytes at once, and never more than fits."""
    while data:
        into = frames.get_buffer(-1)
        size = min(len(into), cut, len(data))
        into[:size] = data[:size]
        frames.buffer_updated(size)
        data = data[size:]


@given(st.lists(st.binary(min_size=1, max_size=50)), st.integers(1, 70))
def test_frames_come_out_as_they_went_in_however_they_were_cut(sent, cut):
    received: list[bytes] = []
    frames = Frames(lambda frame: received.append(frame.tobytes()), lambda error: None)
    fed(frames, b"".join(struct.pack(">i", len(each)) + each for each in sent), cut)
    assert received == sent


def test_every_frame_has_memory_of_its_own():
    received: list[memoryview] = []
    frames = Frames(received.append, lambda error: None)
    fed(frames, 2 * (struct.pack(">i", 3) + b"abc"), 100)
    received[0][0:1] = b"x"
    assert [each.tobytes() for each in received] == [b"xbc", b"abc"]


@pytest.mark.parametrize(
    "first_bytes", [b"HTTP", b"\x15\x03\x03\x00", struct.pack(">i", 0), struct.pack(">i", -1)]
)
def test_a_length_that_is_not_kafkas_allocates_nothing_and_is_named(first_bytes):
    lost: list[Exception | None] = []
    frames = Frames(lambda frame: None, lost.append)
    fed(frames, first_bytes, 4)
    assert "not Kafka" in str(lost[0])
    assert frames.at_eof()
    assert len(frames.get_buffer(-1)) < FRAME_BYTES_MAX


Answer = Callable[[bytes], bytes]
"""Returns the broker's answer to one request, given its correlation id as four bytes."""


@asynccontextmanager
async def connected(*answers: Answer) -> AsyncIterator[Connection]:
    """Connects to a server that greets as a broker does, gives these answers and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in (right, *answers):
            (size,) = struct.unpack(">i", await reader.readexactly(4))
            request = await reader.readexactly(size)
            data = answer(request[4:8])
            writer.write(struct.pack(">i", len(data)) + data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    connection = Connection(host, port, request_timeout_ms=5000)
    try:
        await connection.connect()
        yield connection
    finally:
        connection.close()
        server.close()
        await server.wait_closed()


def right(number: bytes) -> bytes:
    return number + VERSIONS


def asked(connection: Connection) -> Awaitable[object]:
    return connection.send(ApiVersionRequest())


async def test_a_wrong_correlation_id_ends_the_connection():
    async with connected(lambda number: b"\0\0\0\x63" + VERSIONS) as connection:
        with pytest.raises(KafkaConnectionError, match="the answer is to 99"):
            await asked(connection)
        assert not connection.connected()


async def test_all_waiting_requests_fail_when_the_broker_disconnects():
    async with connected(right) as connection:
        answers = [asked(connection) for _ in range(3)]
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [isinstance(each, KafkaConnectionError) for each in found] == [False, True, True]
        assert not connection.connected()
        with pytest.raises(KafkaConnectionError, match="no connection"):
            await asked(connection)


async def test_the_answer_to_a_cancelled_request_is_not_taken_for_the_next_one():
    async with connected(right, right) as connection:
        given_up = asyncio.ensure_future(asked(connection))
        await asyncio.sleep(0)
        given_up.cancel()
        answer = await asked(connection)
        assert answer.api_versions == [(18, 0, 0)]


async def test_a_failed_request_that_nobody_awaits_logs_nothing():
    complaints: list[dict] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    async with connected() as connection:
        # A task that is cancelled before it begins leaves this behind.
        connection.send(ApiVersionRequest()).close()
        async with asyncio.timeout(5):
            while connection.connected():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []
