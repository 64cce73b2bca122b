"""Cost of reading and keeping upsert tables, beside append tables and ClickHouse's own ways.

    .venv/bin/python -m bench.upsert                    # all cases
    .venv/bin/python -m bench.upsert --case read --quick

read        8 queries by each system in turn, while 2 000 rows a second come in to all of them,
            merges on. The ends are settled every 30 s. Answers are compared before.
settle      the mutation that brings all ends of the base into the rows.
bootstrap   the rows of the state, read from the settled table.
scale       bytes of state, rows and ends, settling and bootstrap, each by the number of keys.
ingest, freshness   see bench/upsert_ingest.py

Queries are timed from this process without their rewrite, which takes no part of the table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from math import isclose
from threading import Thread

import numpy as np

from aggregator.upsert.seen_rows import ReadMark
from bench.background import Background
from bench.ground import DIRECTORY, say
from bench.machine import described, load_average
from bench.upsert_engines import NEW, OLD, Engine, Rows, engine_of
from bench.upsert_results import UpsertResult, keep
from bench.upsert_scale import scale, settle, state
from bench.upsert_store import Store
from bench.upsert_systems import (
    APPEND,
    CURRENT,
    FRESH,
    SETTLED,
    TICK_ROWS,
    Load,
    Query,
    queries,
    text_of,
)

STORE_CASES = ("read", "settle", "bootstrap", "scale")
INGEST_CASES = ("ingest", "freshness")
SETTLE_SECONDS = 30.0
UNSETTLED_TICKS = 15
"""Ticks behind the settle point when reading begins: half of what comes in between two points."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of a run.

    Args:
        keys: of cases `read` and `settle`.
        rounds: of case `read`; the first of them is not counted.
        scale_keys: of case `scale`; bench.upsert_coordinator has a case of each.
    """

    keys: int
    rounds: int
    scale_keys: tuple[int, ...]


FULL = Sizes(500_000, 5, (100_000, 300_000, 1_000_000, 5_000_000))
QUICK = Sizes(20_000, 2, (10_000,))


class Stream(Background):
    """Rows that come in while queries are timed: a tick a second, settled now and then."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def work(self) -> None:
        connection, settling = self._store.engine.connect(), self._store.engine.connect()
        settler: Thread | None = None
        due = began = time.monotonic()
        try:
            while not self.over.wait(max(0.0, due - time.monotonic())):
                self._store.add(connection, TICK_ROWS)
                due += 1.0
                if time.monotonic() - began > SETTLE_SECONDS and not (
                    settler and settler.is_alive()
                ):
                    settler = Thread(target=self._store.settle, args=[settling], daemon=True)
                    settler.start()
                    began = time.monotonic()
        finally:
            if settler:
                settler.join()


def same(one: Rows, other: Rows) -> bool:
    """Returns True for equal answers; floats may differ in their last digits."""
    return len(one) == len(other) and all(
        isclose(left, right, rel_tol=1e-9) if isinstance(left, float) else left == right
        for a, b in zip(one, other, strict=True)
        for left, right in zip(a, b, strict=True)
    )


def check(store: Store, query: Query, systems: Sequence[str]) -> dict[str, str]:
    """Returns by system why it cannot be compared: an error, or another answer than most."""
    answers: dict[str, Rows] = {}
    wrong: dict[str, str] = {}
    for system in systems:
        try:
            answers[system] = store.connection.ask(text_of(query, system, store.mark()))
        except Exception as error:
            wrong[system] = str(error).partition("Stack trace")[0][:300]
    for system, answer in answers.items():
        if not same(answer, next(iter(answers.values()))):
            wrong[system] = f"another answer: {answer[:2]}, not {next(iter(answers.values()))[:2]}"
    return wrong


def read(engine: Engine, sizes: Sizes) -> Iterator[UpsertResult]:
    """Yields the figures of the queries of each system."""
    for versions in (3.0, 1.1):
        load = Load(sizes.keys, round(sizes.keys * versions))
        store = Store(engine, load)
        store.fill()
        store.settle(store.connection)
        wrong: dict[tuple[str, str], str] = {}
        asked = queries(load.keys)
        rivals = [each for each in store.systems if each != APPEND]
        for query in asked:
            found = check(store, query, rivals)
            wrong |= {(query.name, system): why for system, why in found.items()}
        for _ in range(UNSETTLED_TICKS):
            store.add(store.connection, TICK_ROWS)
        newest = [each for each in rivals if each not in (CURRENT, SETTLED)]
        for query in asked:
            found = check(store, query, newest)
            wrong |= {(query.name, system): why for system, why in found.items()}
        for (name, system), why in wrong.items():
            say(f"WRONG {engine.name} {versions} {name} {system}: {why}")
        yield from timed(store, asked, wrong, versions, sizes.rounds)


def timed(
    store: Store,
    asked: Sequence[Query],
    wrong: dict[tuple[str, str], str],
    versions: float,
    rounds: int,
) -> Iterator[UpsertResult]:
    """Yields the figures of all queries, whose rounds go through the systems in turn."""
    stored, size = store.stored()
    seconds: dict[tuple[str, str], list[float]] = {}
    stream = Stream(store)
    tree = store.engine.tree()
    stream.start()
    marks: list[ReadMark] = []
    try:
        for number in range(rounds + 1):
            for query in asked:
                for system in store.systems:
                    if (query.name, system) in wrong:
                        continue
                    mark = store.mark()
                    marks.append(mark)
                    text = text_of(query, system, mark)
                    began = time.perf_counter()
                    try:
                        store.connection.ask(text)
                    except Exception as error:
                        wrong[query.name, system] = str(error)[:300]
                        say(f"FAILED {query.name} {system}: {error}"[:400])
                        continue
                    took = time.perf_counter() - began
                    if number:
                        seconds.setdefault((query.name, system), []).append(took)
            tree.cpu_seconds()
            say(f"{store.engine.name}, {versions} versions: round {number} of {rounds}")
    finally:
        stream.stop()
    unsettled = round(statistics.median((it.tick - it.settled) * TICK_ROWS for it in marks))
    for (name, system), all_seconds in seconds.items():
        middle = statistics.median(all_seconds)
        base = seconds.get((name, APPEND))
        yield UpsertResult(
            case="read",
            engine=store.engine.name,
            system=system,
            query=name,
            versions_per_key=versions,
            rows_stored=stored,
            unsettled_events=unsettled if system == FRESH else 0 if system == SETTLED else None,
            seconds={"median": middle, "p95": float(np.quantile(all_seconds, 0.95))},
            ratio_to_append=middle / statistics.median(base) if base else None,
            records_per_second=float(TICK_ROWS),
            bytes_per_row=size if system in (SETTLED, FRESH) else None,
            peak_rss_mb=tree.peak_rss_mb,
        )


def rows_of(case: str, sizes: Sizes, engines: Sequence[str]) -> Iterator[UpsertResult]:
    """Yields the figures of a case. What fails is told, and the others go on."""
    folder = DIRECTORY.with_name(f"bench-upsert-{os.getpid()}")
    for name in engines if case != "scale" else (OLD,):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with engine_of(name, folder) as engine:
                if case == "read":
                    yield from read(engine, sizes)
                elif case == "settle":
                    yield from settle(engine, sizes.keys)
                else:
                    for keys in sizes.scale_keys:
                        yield from scale(engine, keys)
        except Exception as error:
            say(f"FAILED {case} on {name}: {error!r}"[:1000])
    for keys in sizes.scale_keys if case == "scale" else ():
        try:
            yield from state(keys)
        except Exception as error:
            say(f"FAILED {case}, state of {keys:,} keys: {error!r}")
    shutil.rmtree(folder, ignore_errors=True)


def run(cases: Sequence[str], *, is_quick: bool, engines: Sequence[str]) -> None:
    """Runs cases, and keeps the figures of each as soon as they are there."""
    sizes = QUICK if is_quick else FULL
    wanted = [each for each in cases if each in STORE_CASES and each != "bootstrap"]
    if "bootstrap" in cases and "settle" not in wanted:
        wanted.append("settle")
    for case in [*wanted, *(each for each in cases if each in INGEST_CASES)]:
        load, began = load_average(), time.monotonic()
        found: dict[str, list[UpsertResult]] = {}
        rows = (
            (
                UpsertResult(**each)
                for each in import_module("bench.upsert_ingest").run([case], is_quick=is_quick)
            )
            if case in INGEST_CASES
            else rows_of(case, sizes, engines)
        )
        try:
            for row in rows:
                say(json.dumps({k: v for k, v in row.to_json().items() if v is not None}))
                found.setdefault(row.case, []).append(row)
        except Exception as error:
            say(f"FAILED {case}: {error!r}")
        for name, results in found.items():
            keep(
                name,
                results,
                machine=described(),
                run={
                    "at": datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
                    "load_average": round(load, 2),
                    "rounds": sizes.rounds if name == "read" else 1,
                    "keys": None if name == "scale" else sizes.keys,
                    "is_quick": is_quick,
                },
            )
        say(f"{case}: {time.monotonic() - began:.0f} s")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    known = (*STORE_CASES, *INGEST_CASES)
    asked.add_argument("--case", action="append", choices=known)
    asked.add_argument("--engine", action="append", choices=(OLD, NEW))
    asked.add_argument("--quick", action="store_true")
    told = asked.parse_args()
    run(
        told.case or known,
        is_quick=told.quick,
        engines=told.engine or (OLD, NEW),
    )


if __name__ == "__main__":
    main()
