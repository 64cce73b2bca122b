"""Object tags: set once an object is complete, beside everything else. An object stands without."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from aggregator.intents.table_range import Manifest
from aggregator.loader.counters import TAG_FAILURES
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from replicator.config.object_feed import TAGS
from replicator.runtime.backoff import Backoff
from replicator.runtime.run_in_thread import run_in_thread

log = logging.getLogger(__name__)

PAUSE_SECONDS = (0.1, 60.0)
WAITING_MAX = 10_000
"""Objects that wait for their tags; of more the oldest get none."""
PASSING = frozenset({Answer.BUSY, Answer.DENIED, Answer.CONFLICT, Answer.NO_BUCKET})
"""Answers after which the same request may be done later."""


@dataclass(eq=False)
class ObjectTags:
    """Tags of a loader's objects.

    Args:
        own: tags beside start, end and number of records; None: there are no tags.
    """

    store: ObjectStore
    log_fields: str
    own: Mapping[str, str] | None
    loader_counts: LoaderCounts
    _waiting: deque[tuple[str, dict[str, str]]] = field(init=False)
    _wake: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _is_failing: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._waiting = deque(maxlen=WAITING_MAX)

    def add(self, key: str, manifest: Manifest) -> None:
        """Notes an object that is complete."""
        if self.own is not None:
            in_it = manifest.records - manifest.left_out
            values = map(str, (manifest.begin, manifest.end - 1, in_it))
            self._waiting.append((key, {**self.own, **dict(zip(TAGS, values, strict=True))}))
            self._wake.set()

    async def run(self) -> None:
        """Sets tags until cancelled."""
        backoff = Backoff(*PAUSE_SECONDS)
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                if await self._is_done(first := self._waiting[0]):
                    self._drop(first)
                    backoff.reset()
                else:
                    await asyncio.sleep(backoff.jittered(0.5, 1.5))
                    backoff.grow()

    async def finish(self) -> None:
        """Tries the tags that are left once, as long as that works."""
        while self._waiting and await self._is_done(first := self._waiting[0]):
            self._drop(first)

    def _drop(self, done: tuple[str, dict[str, str]]) -> None:
        # Where too many wait, the oldest makes room for the newest: also while it is being set.
        if self._waiting and self._waiting[0] is done:
            self._waiting.popleft()

    async def _is_done(self, waiting: tuple[str, dict[str, str]]) -> bool:
        """Sets the tags of an object. Returns False if that is to be tried again."""
        key, tags = waiting
        if self.own is None:
            return True
        try:
            await run_in_thread(self.store.tag, key, tags)
        except StoreProblem as problem:
            self.loader_counts.add(TAG_FAILURES)
            if problem.answer is Answer.UNSUPPORTED:
                self.own = None
                log.warning("event=tags-off %s: %s", self.log_fields, problem)
                return True
            if problem.answer is Answer.DENIED:
                self.store.renew()
            if not self._is_failing:
                log.warning("event=tags-fail %s: %s", self.log_fields, problem)
            self._is_failing = True
            return problem.answer not in PASSING
        self._is_failing = False
        return True
