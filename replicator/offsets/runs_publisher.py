"""The carrier's way of telling runs to the runs topic: all of it on disk before flush() returns."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from replicator.offsets.runs_topic import RunsKey, RunsTopicMissing, encode, runs_topic
from replicator.offsets.stretch import Stretch

# A message's key and value.
Message = tuple[bytes, bytes]


class RunsNotWritten(Exception):
    """The target did not take the runs. They are kept; flush() again sends them again."""


class RunsPublisher:
    """Runs of one route, from one carrier.

    Flush before committing a ledger entry that passes them: a takeover begins at the entry, so
    runs before it that are not on disk by then are never told by anybody.
    """

    def __init__(
        self,
        bootstrap: Sequence[str],
        route_key: str,
        options: Mapping[str, Any],
        *,
        request_timeout_ms: int = 15_000,
    ) -> None:
        """`options` are aiokafka's for security; bootstrap servers are "host:port"."""
        self.topic = runs_topic(route_key).name
        self._options = {
            **options,
            "bootstrap_servers": list(bootstrap),
            "request_timeout_ms": request_timeout_ms,
        }
        self._producer: Any = None
        self._unwritten: list[Message] = []
        self._flushing = asyncio.Lock()

    async def start(self) -> None:
        """Connects; raises RunsTopicMissing rather than let a broker make the topic up."""
        producer = AIOKafkaProducer(
            **self._options,
            # Not idempotent: a run told twice does no harm, and an idempotent producer of
            # aiokafka waits for a lost broker without end instead of saying so.
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

    async def publish(self, told: Iterable[tuple[RunsKey, Stretch]]) -> None:
        """Takes note of stretches; the next flush that begins, whoever calls it, writes them."""
        self._unwritten += [encode(key, stretch) for key, stretch in told]

    async def flush(self) -> None:
        """Returns once all that was published before is written by every in-sync replica.

        Raises RunsNotWritten; what is not written is sent again by the next flush.
        """
        # One at a time: a flush must not return while another one still writes what it needs.
        async with self._flushing:
            messages = list(self._unwritten)
            written = await self._send(messages)
            if written:
                # Unlike gather, wait leaves the futures alone when this call is cancelled.
                await asyncio.wait(written)
            failures = [sent.exception() for sent in written]
            failed = [it for it, failure in zip(messages, failures, strict=True) if failure]
            # Only now: had this been cancelled, all would be sent again.
            self._unwritten[: len(messages)] = failed
        if failed:
            reason = next(filter(None, failures))
            raise RunsNotWritten(
                f"{self.topic} did not take {len(failed)} of {len(messages)} messages: {reason!r}"
            ) from reason

    async def stop(self) -> None:
        """Closes the connections; waits for what is on its way."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()

    async def _send(self, messages: Sequence[Message]) -> list[asyncio.Future[Any]]:
        """A future for each; once the producer takes no more, the rest have failed already."""
        sent: list[asyncio.Future[Any]] = []
        refusal: KafkaError | None = None
        for key, value in messages:
            if refusal is None:
                try:
                    future = await self._producer.send(self.topic, value=value, key=key)
                    # A flush that is cancelled asks none of them what became of it.
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
    """Its failure counts as seen: asyncio would log it as never retrieved."""
    if not sent.cancelled():
        sent.exception()
