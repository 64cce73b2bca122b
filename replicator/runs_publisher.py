"""The carrier's way of telling runs to the runs topic: all of it on disk before flush() returns."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from replicator.runs_topic import RunsKey, RunsTopicMissing, encode, runs_topic
from replicator.stretch import Stretch


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
        self._unwritten: list[tuple[bytes, bytes, asyncio.Future[Any]]] = []

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
        await producer.start()
        try:
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
        """Hands stretches to the producer; they are on their way, not yet written."""
        await self._send_all(encode(key, stretch) for key, stretch in told)

    async def flush(self) -> None:
        """Returns once all that was published is written by every in-sync replica.

        Raises RunsNotWritten; what is not written is sent again by the next flush.
        """
        waiting, self._unwritten = self._unwritten, []
        self._unwritten += [kept for kept in waiting if not _failed(kept[2])]
        await self._send_all((key, value) for key, value, sent in waiting if _failed(sent))
        results = await asyncio.gather(
            *(written for _, _, written in self._unwritten), return_exceptions=True
        )
        failures = [result for result in results if isinstance(result, BaseException)]
        self._unwritten = [kept for kept in self._unwritten if _failed(kept[2])]
        if failures:
            raise RunsNotWritten(
                f"{self.topic} did not take {len(failures)} of {len(results)} messages: "
                f"{failures[0]!r}"
            ) from failures[0]

    async def stop(self) -> None:
        """Closes the connections; waits for what is on its way."""
        producer, self._producer = self._producer, None
        if producer is not None:
            await producer.stop()
        for _, _, written in self._unwritten:
            # Whoever stops without a flush has chosen not to know.
            _failed(written)

    async def _send_all(self, messages: Iterable[tuple[bytes, bytes]]) -> None:
        """Queues messages; once the producer takes no more, the rest count as not written."""
        refusal: KafkaError | None = None
        for key, value in messages:
            if refusal is None:
                try:
                    written = await self._producer.send(self.topic, value=value, key=key)
                except KafkaError as error:
                    refusal = error
            if refusal is not None:
                written = asyncio.get_running_loop().create_future()
                written.set_exception(refusal)
            self._unwritten.append((key, value, written))


def _failed(written: "asyncio.Future[Any]") -> bool:
    return written.done() and (written.cancelled() or written.exception() is not None)
