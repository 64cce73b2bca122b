"""Connection to one broker that copies record batches once, from the socket into a frame.

aiokafka's own connection reads through a stream and joins byte strings. That made eight copies of
every byte on its way through a carrier, and most of a carrier's work. Versions, encoding and SASL
stay aiokafka's (decision 0008).
"""

from __future__ import annotations

import asyncio
import ssl
import struct
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import CorrelationIdError, KafkaConnectionError

from replicator.kafka.protocol.frame import Frame, InParts

_LENGTH = struct.Struct(">i")
FRAME_BYTES_MAX = 256 << 20
"""Far more than we ask for. A TLS alert or an HTTP answer, read as a length, is larger still."""


class Frames(asyncio.BufferedProtocol):
    """Cuts the byte stream of a broker into frames; each is read into the memory where it stays.

    Args:
        received: called with every frame.
        lost: called when nothing more will come.
    """

    def __init__(
        self, received: Callable[[memoryview], None], lost: Callable[[Exception | None], None]
    ):
        self._received = received
        self._lost = lost
        self._length = memoryview(bytearray(_LENGTH.size))
        self._into, self._filled = self._length, 0
        self._is_over = False

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._into[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        if self._filled < len(self._into):
            return
        whole, self._filled = self._into, 0
        if whole is self._length:
            (size,) = _LENGTH.unpack(whole)
            if 0 < size <= FRAME_BYTES_MAX:
                # Not zeroed first, as a bytearray would be.
                self._into = np.empty(size, dtype=np.uint8).data
            else:
                self._is_over = True
                self._lost(KafkaConnectionError(f"a frame of {size} bytes: this is not Kafka"))
        else:
            self._into = self._length
            self._received(whole)

    def at_eof(self) -> bool:
        return self._is_over

    def eof_received(self) -> None:
        self._is_over = True

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_over = True
        self._lost(exc)


class Connection(AIOKafkaConnection):
    """aiokafka's connection over Frames. Options are those of AIOKafkaConnection."""

    muted_until = 0.0
    """Monotonic time at which the broker reads from the connection again, after a throttled
    answer."""

    async def connect(self) -> None:
        """Connects, negotiates versions and authenticates.

        Raises OSError, TimeoutError, and aiokafka's errors when credentials are refused.
        """
        self._closed_fut = self._loop.create_future()
        context: ssl.SSLContext | None = None
        if self._security_protocol in ("SSL", "SASL_SSL"):
            context = self._ssl_context
        async with asyncio.timeout(self._request_timeout):
            self._writer, self._reader = await self._loop.create_connection(
                lambda: Frames(self._frame, self._lost), self._host, self._port, ssl=context
            )
        # No task has to read, since frames come through callbacks. close() cancels this future.
        self._read_task = self._loop.create_future()
        if self._max_idle_ms is not None:
            self._idle_handle = self._loop.call_soon(self._idle_check, weakref.ref(self))
        try:
            await self._do_version_lookup()
            if self._security_protocol.startswith("SASL"):
                await self._do_sasl_handshake()
        except BaseException:
            self.close()
            raise

    def send(self, request: Any, expect_response: bool = True) -> Coroutine[Any, Any, Any]:
        """Writes the request at the call; await the result for the answer.

        The order of calls is the order on the wire.
        """
        if self._writer is None:
            raise KafkaConnectionError(f"no connection to the broker at {self.host}:{self.port}")
        built = request.prepare(self._versions)
        number = self._next_correlation_id()
        header = built.build_request_header(number, self._client_id).encode()
        parts = built.parts() if isinstance(built, InParts) else (built.encode(),)
        size = len(header) + sum(map(len, parts))
        self._writer.writelines([_LENGTH.pack(size) + header, *parts])
        answer = self._loop.create_future()
        self._requests.append((number, built, answer))
        return self._answered(answer)

    async def _answered(self, answer: asyncio.Future[Any]) -> Any:
        async with asyncio.timeout(self._request_timeout):
            return await answer

    def _frame(self, data: memoryview) -> None:
        if self._reader is None:
            return  # closed meanwhile
        number, request, answer = self._requests[0]
        try:
            if answer.done():
                pass  # the caller gave up
            elif request is None:
                answer.set_result(data.tobytes())  # an answer during SASL
            else:
                frame = Frame(data)
                found = request.parse_response_header(frame).correlation_id
                if found != number:
                    raise CorrelationIdError(f"sent {number}, the answer is to {found}")
                answer.set_result(request.RESPONSE_TYPE.decode(frame))
        except Exception as error:
            self._end(CloseReason.OUT_OF_SYNC, str(error), error)
            return
        self._last_action = time.monotonic()
        self._requests.popleft()

    def _end(self, reason: CloseReason, why: str, cause: Exception | None) -> None:
        for _, _, answer in self._requests:
            if not answer.done():
                error = KafkaConnectionError(f"{self.host}:{self.port}: {why}")
                error.__cause__ = cause
                answer.set_exception(error)
                # Marks the exception as seen: asyncio would log it if the caller was cancelled
                # before it waited.
                answer.exception()
        self.close(reason=reason, exc=cause)

    def _lost(self, error: Exception | None) -> None:
        if self._reader is not None:
            why = str(error or "the broker ended the connection")
            self._end(CloseReason.CONNECTION_BROKEN, why, error)
        if not self._closed_fut.done():
            self._closed_fut.set_result(None)


async def connect(host: str, port: int, **options: Any) -> Connection:
    """Returns an open connection. Raises what Connection.connect raises."""
    connection = Connection(host, port, **options)
    await connection.connect()
    return connection
