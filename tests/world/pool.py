"""Histories played by several processes, seed after seed."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkServerProcess
from typing import Self

from tests.world.checks.wrong import Wrong
from tests.world.families import FAMILIES, HistoryRequest

SERVERS = multiprocessing.get_context("forkserver")
SERVERS.set_forkserver_preload([__name__])


@dataclass(frozen=True, slots=True)
class Played:
    """Result of a history.

    Args:
        records: that were sent; 0 if the history was wrong.
        steps: turns of the loop.
        seconds: virtual time.
        cpu_seconds: that it took.
        wrong: text of what was wrong; None if nothing was.
        log: of a history that was wrong.
    """

    asked: HistoryRequest
    records: int = 0
    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    wrong: str | None = None
    log: Sequence[str] = ()


def play_one(asked: HistoryRequest) -> Played:
    """Plays a history."""
    logging.disable(logging.CRITICAL)
    # All modules: garbage collections of the history only lose time with them.
    gc.freeze()
    began = time.process_time()
    try:
        found = FAMILIES[asked.family].play(asked)
    except Wrong as wrong:
        cpu_seconds = time.process_time() - began
        return Played(asked, 0, wrong.steps, wrong.seconds, cpu_seconds, str(wrong), [*wrong.log])
    cpu_seconds = time.process_time() - began
    return Played(asked, found.records, found.steps, found.seconds, cpu_seconds)


class Pool:
    """Pool of processes in which a seed plays the same history each time.

    Each history has a process of its own, forked from one that has imported everything: imports
    take as long as a short history, and a mutation may change a whole process for good.

    Args:
        jobs: number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._under_way: dict[Connection, tuple[HistoryRequest, ForkServerProcess]] = {}

    def __enter__(self) -> Self:
        with _same_hashes():
            forkserver.ensure_running()
        return self

    def __exit__(self, *_: object) -> None:
        for results, (_, process) in self._under_way.items():
            process.kill()
            process.join()
            results.close()

    def play(self, histories: Iterable[HistoryRequest]) -> Iterator[Played]:
        """Yields results as they come; takes a history only when a process is free."""
        waiting = iter(histories)
        while True:
            for asked in islice(waiting, self.jobs - len(self._under_way)):
                self._begin(asked)
            if not self._under_way:
                return
            for results in wait([*self._under_way]):
                assert isinstance(results, Connection)
                yield self._end(results)

    def _begin(self, asked: HistoryRequest) -> None:
        results, sent = SERVERS.Pipe(duplex=False)
        process = SERVERS.Process(target=_send, args=(sent, asked))
        process.start()
        sent.close()
        self._under_way[results] = asked, process

    def _end(self, results: Connection) -> Played:
        asked, process = self._under_way.pop(results)
        try:
            played: Played = results.recv()
        except EOFError:
            process.join()
            text = f"{asked.family} {asked.seed}: its process ended with {process.exitcode}"
            raise RuntimeError(text) from None
        finally:
            results.close()
        process.join()
        return played


def _send(results: Connection, asked: HistoryRequest) -> None:
    results.send(play_one(asked))


@contextmanager
def _same_hashes() -> Iterator[None]:
    """Sets of text have another order in each process otherwise; children inherit it."""
    name = "PYTHONHASHSEED"
    before = os.environ.get(name)
    os.environ[name] = "0"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
