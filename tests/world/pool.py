"""Histories played by several processes, seed after seed."""

from __future__ import annotations

import logging
import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from itertools import islice
from typing import Self

from tests.world.checks.wrong import Wrong
from tests.world.families import FAMILIES, HistoryRequest

SEEDS_PER_PROCESS = 25
"""Seeds after which a process is replaced: caches of libraries grow."""


@dataclass(frozen=True, slots=True)
class Played:
    """Result of a history.

    Args:
        records: that were sent; 0 if the history was wrong.
        steps: turns of the loop.
        seconds: virtual time.
        wrong: text of what was wrong; None if nothing was.
    """

    asked: HistoryRequest
    records: int = 0
    steps: int = 0
    seconds: float = 0.0
    wrong: str | None = None


def play_one(asked: HistoryRequest) -> Played:
    """Plays a history."""
    logging.disable(logging.CRITICAL)
    try:
        found = FAMILIES[asked.family].play(asked)
    except Wrong as wrong:
        return Played(asked, steps=wrong.steps, seconds=wrong.seconds, wrong=str(wrong))
    return Played(asked, found.records, found.steps, found.seconds)


class Pool:
    """Pool of processes in which a seed plays the same history each time.

    A mutation may change a whole process for good: each has a pool of its own.

    Args:
        jobs: number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        # New processes inherit this: sets of text have another order in each process otherwise.
        os.environ["PYTHONHASHSEED"] = "0"
        self._executor = ProcessPoolExecutor(
            jobs,
            mp_context=multiprocessing.get_context("spawn"),
            max_tasks_per_child=SEEDS_PER_PROCESS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown(cancel_futures=True)

    def play(self, histories: Iterable[HistoryRequest]) -> Iterator[Played]:
        """Yields results as they come; takes a history only when a process is free."""
        waiting = iter(histories)
        under_way: set[Future[Played]] = set()
        while True:
            for asked in islice(waiting, self.jobs - len(under_way)):
                under_way.add(self._executor.submit(play_one, asked))
            if not under_way:
                return
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
