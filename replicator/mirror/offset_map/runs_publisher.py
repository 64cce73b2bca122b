"""Publisher of a carrier's runs to the runs topic; all are on disk before flush() returns."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from replicator.config.names import runs_topic_name
from replicator.mirror.offset_map.run_segment import RunSegment
from replicator.mirror.offset_map.runs_topic import RunsKey, RunsTopicMissing, encode

# A message's key and value.
Message = tuple[bytes, bytes]


class RunsNotWritten(Exception):
    """The target did not take the runs. They are kept; call flush() again to send them again."""


class RunsPublisher:
    """Publisher of the runs of one route, from one carrier.

    Flush before committing a ledger entry that passes the runs. A takeover begins at the entry, so
    runs before it that are not on disk by then are never published by anybody.
    """

    def __init__(
        self,
        bootstrap: Sequence[str],
        route_key: str,
        options: Mapping[str, Any],
        *,
        request_timeout_ms: int = 15_000,
        make_producer: Callable[..., AIOKafkaProducer] = AIOKafkaProducer,
    ) -> None:
        """Takes bootstrap servers as "host:port", and aiokafka's options for security."""
        self._make_producer = make_producer
        self.topic = runs_topic_name(route_key)
        self._options = {
            **options,
            "bootstrap_servers": list(bootstrap),
            "request_timeout_ms": request_timeout_ms,
        }
        self._producer: Any = None
        self._unwritten: list[Message] = []
        self._flushing = asyncio.Lock()

    async def start(self) -> None:
        """Connects; raises RunsTopicMissing instead of letting a broker create the topic."""
        producer = self._make_producer(
            **self._options,
            # Not idempotent: a run published twice does no harm, and aiokafka's idempotent producer
            # waits for a lost broker without end instead of raising an error.
            acks="all",
            compression_type="lz4",
            linger_ms=5,
            max_batch_size=256 * 1024,
        )
        try:
            await producer.start()
            known = await producer.client.fetch_all_metadata()
            if self.topic not in known.topics(exclude_internal_topics=False):
                raise RunsTopicMissing(
                    f"there is no topic {self.topic}; `sluice replicate` creates it"
                )
        except BaseException:
            await producer.stop()
            raise
        self._producer = producer

    async def publish(self, segments: Iterable[tuple[RunsKey, RunSegment]]) -> None:
        """Queues run segments; the next flush that begins, from any caller, writes them."""
        self._unwritten += [encode(key, segment) for key, segment in segments]

    async def flush(self) -> None:
        """Returns once every in-sync replica has written all that was published before.

        Raises RunsNotWritten; the next flush sends again what is not written.
        """
        # One flush at a time: a flush must not return while another one still writes its messages.
        async with self._flushing:
            messages = list(self._unwritten)
            written = await self._send(messages)
            if written:
                # Unlike gather, wait does not cancel the futures when this call is cancelled.
                await asyncio.wait(written)
            failures = [sent.exception() for sent in written]
            failed = [it for it, failure in zip(messages, failures, strict=True) if failure]
            # Removed only now: a flush that is cancelled before leaves all of them to be sent
            # again.
            self._unwritten[: len(messages)] = failed
        if failed:
            reason = next(filter(None, failures))
            raise RunsNotWritten(
                f"{self.topic} did not take {len(failed)} of {len(messages)} messages: {reason!r}"
            ) from reason

    async def stop(self) -> None:
        """Waits for the sends that are under way, and closes the connections."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def _send(self, messages: Sequence[Message]) -> list[asyncio.Future[Any]]:
        """Returns a future for each message; once the producer refuses one, the rest fail too."""
        sent: list[asyncio.Future[Any]] = []
        refusal: KafkaError | None = None
        for key, value in messages:
            if refusal is None:
                try:
                    # aiokafka's own clock cannot be replaced: a seed would differ in these times.
                    future = await self._producer.send(
                        self.topic, value=value, key=key, timestamp_ms=int(1000 * time.time())
                    )
                    # A flush that is cancelled retrieves none of their results.
                    future.add_done_callback(_consume)
                    sent.append(future)
                    continue
                except KafkaError as error:
                    refusal = error
            refused = asyncio.get_running_loop().create_future()
            refused.set_exception(refusal)
            sent.append(refused)
        return sent


def _consume(sent: asyncio.Future[Any]) -> None:
    """Retrieves a failure: asyncio would log it as never retrieved."""
    if not sent.cancelled():
        sent.exception()
