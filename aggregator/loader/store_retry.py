"""Store retry: asks an S3 store, or a registry, again and again until it has answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.schemas.schema_registry import SchemasAway
from balancer.topic_partition import TopicPartition
from replicator.runtime.backoff import Backoff
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.1, 10.0)

Result = TypeVar("Result")


class UploadLost(Exception):
    """An upload that is gone before its object was complete: its records have to be read again."""


@dataclass(eq=False)
class StoreRetry:
    """Retry of what a loader asks for. The log has one line for each trouble, and one at its end.

    Args:
        log_fields: of the loader.
        store: reads its credentials anew where it denies a request.
        pause_seconds: between two attempts, at first and at most.
    """

    log_fields: str
    store: ObjectStore
    pause_seconds: tuple[float, float] = PAUSE_SECONDS
    _reports: ReportOnce = field(init=False, default_factory=ReportOnce)

    async def until_done(
        self, place: TopicPartition, name: str, act: Callable[[], Awaitable[Result]]
    ) -> Result:
        """Does something until it succeeds; returns its result.

        Args:
            name: of the encoded partition for which it is done.

        Raises:
            UploadLost: it can never be done.
        """
        backoff, about = Backoff(*self.pause_seconds), (*place, name)
        while True:
            try:
                result = await act()
            except SchemasAway as away:
                if self._reports.is_news(about, str(away)):
                    log.warning("event=schemas-away %s %s-%d: %s", self.log_fields, *place, away)
            except StoreProblem as problem:
                if problem.answer is Answer.UPLOAD_GONE:
                    raise UploadLost(str(problem)) from problem
                if problem.answer is Answer.DENIED:
                    self.store.renew()
                if self._reports.is_news(about, problem.answer.value):
                    log.warning("event=store-waits %s %s-%d: %s", self.log_fields, *place, problem)
            else:
                if self._reports.settle(about):
                    log.info("event=store-works %s %s-%d", self.log_fields, *place)
                return result
            await asyncio.sleep(backoff.jittered(0.5, 1.5))
            backoff.grow()
