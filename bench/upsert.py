"""Cost of reading and keeping upsert tables, beside append tables and ClickHouse's own ways.

    .venv/bin/python -m bench.upsert                    # all cases
    .venv/bin/python -m bench.upsert --case read --quick

read        8 queries by each system in turn, while 2 000 rows a second come in to all of them,
            merges on. The ends are settled every 30 s. Answers are compared before.
settle      the mutation that brings all ends of the base into the rows.
bootstrap   the rows of the state, read from the settled table.
scale       the state's bytes per key, settling and bootstrap by the number of keys; --large adds
            a state of 5 million.
ingest, freshness   see bench/upsert_ingest.py

Queries are timed from this process without their rewrite, which takes no part of the table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from math import isclose
from threading import Event, Lock, Thread
from uuid import UUID

import numpy as np

from aggregator.upsert.bootstrap import BootstrapPlan, read_facts, slice_query, slices_of
from aggregator.upsert.seen_rows import ReadMark
from aggregator.upsert.settling import open_condition, update_statement
from aggregator.upsert.table_names import rows_table, updates_table
from aggregator.upsert.tick import Lane
from aggregator.upsert.upsert_schema import ROWS_PARTITION
from bench.ground import DIRECTORY, say
from bench.machine import described, load_average
from bench.upsert_engines import NEW, OLD, Connection, Engine, OldConnection, Rows, engine_of
from bench.upsert_results import UpsertResult, keep
from bench.upsert_systems import (
    APPEND,
    BEST,
    CLUSTER,
    CURRENT,
    DATABASE,
    FRESH,
    SETTLED,
    SYSTEMS,
    TABLE,
    TICK_ROWS,
    TOPIC,
    Load,
    Query,
    queries,
    statements,
    text_of,
)

STORE_CASES = ("read", "settle", "bootstrap", "scale")
INGEST_CASES = ("ingest", "freshness")
BLOCK_ROWS = 200_000
SETTLE_SECONDS, MUTATION_SECONDS_MAX = 30.0, 300.0
UNSETTLED_TICKS = 15
"""Ticks behind the settle point when reading begins: half of what comes in between two points."""
COORDINATOR_KEYS = {"fold_1e5": 100_000, "fold_1e6": 1_000_000}
LARGE_KEYS = {"fold_5e6": 5_000_000}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size of a run.

    Args:
        keys: of cases `read` and `settle`.
        rounds: of case `read`; the first of them is not counted.
        scale_keys: of case `scale`.
    """

    keys: int
    rounds: int
    scale_keys: tuple[int, ...]


FULL = Sizes(500_000, 5, (100_000, 300_000, 1_000_000))
QUICK = Sizes(20_000, 2, (10_000, 30_000))


class Store:
    """Tables of all systems on an engine.

    Args:
        is_ours_only: only the tables of Sluice are filled.
    """

    def __init__(self, engine: Engine, load: Load, *, is_ours_only: bool = False) -> None:
        self.engine, self.load = engine, load
        self.connection = engine.connect()
        self.systems = [each for each in SYSTEMS if each != BEST or engine.has_best]
        self.rows = 0
        self.settled = 0
        self._is_ours_only = is_ours_only
        self._lock = Lock()
        for statement in statements(engine.traits, has_best=engine.has_best):
            self.connection.ask(statement)

    def fill(self) -> None:
        """Adds the base."""
        # A key has one row in a block at most, as its row and that which ends it collapse in order.
        block = min(BLOCK_ROWS, self.load.keys)
        for first in range(0, self.load.rows, block):
            self.add(self.connection, min(block, self.load.rows - first))
        if not self._is_ours_only:
            self.connection.ask(self.load.winners())

    def add(self, connection: Connection, count: int) -> None:
        """Adds the next rows to all tables."""
        for statement in self.load.inserts(self.rows, count, has_best=self.engine.has_best):
            if not self._is_ours_only or f"INTO {TABLE.name}__" in statement:
                connection.ask(statement)
        with self._lock:
            self.rows += count

    def mark(self) -> ReadMark:
        """Returns the newest mark."""
        with self._lock:
            tick = self.rows // TICK_ROWS
            return ReadMark(tick, self.settled, tick)

    def settle(self, connection: Connection) -> int:
        """Settles to the newest tick, and returns the ends."""
        tick, after = self.mark().tick, self.settled
        [(ends,)] = connection.ask(
            f"SELECT uniqExact(row_id) FROM {updates_table(TABLE.name)} "
            f"WHERE tick > {after} AND tick <= {tick}"
        )
        connection.ask(update_statement(DATABASE, TABLE.name, after, tick, int(ends)))
        until = time.monotonic() + MUTATION_SECONDS_MAX
        waiting = "SELECT count() FROM system.mutations WHERE is_done = 0"
        while connection.ask(waiting) != [(0,)]:
            if time.monotonic() > until:
                raise TimeoutError("the mutation is not done")
            time.sleep(0.05)
        condition = open_condition(DATABASE, TABLE.name, after, tick)
        [(left,)] = connection.ask(
            f"SELECT count() FROM {rows_table(TABLE.name)} WHERE {condition}"
        )
        assert left == 0, f"{left} rows were left open"
        with self._lock:
            self.settled = tick
        return int(ends)

    def timed_settle(self) -> tuple[int, float, float]:
        """Returns ends, seconds and CPU seconds of settling all that is open."""
        tree = self.engine.tree()
        cpu, began = tree.cpu_seconds(), time.monotonic()
        ends = self.settle(self.connection)
        return ends, time.monotonic() - began, tree.cpu_seconds() - cpu

    def stored(self) -> tuple[int, float]:
        """Returns rows and bytes per row of the table of rows, with its ends."""
        [(rows,)] = self.connection.ask(f"SELECT count() FROM {rows_table(TABLE.name)}")
        [(size,)] = self.connection.ask(
            "SELECT sum(bytes_on_disk) FROM system.parts WHERE active "
            f"AND table IN ('{rows_table(TABLE.name)}', '{updates_table(TABLE.name)}')"
        )
        return int(rows), int(size) / int(rows)


class Stream(Thread):
    """Rows that come in while queries are timed: a tick a second, settled now and then."""

    def __init__(self, store: Store) -> None:
        super().__init__(daemon=True)
        self._store = store
        self._is_over = Event()
        self.error: Exception | None = None
        self.late_seconds = 0.0

    def run(self) -> None:
        connection, settling = self._store.engine.connect(), self._store.engine.connect()
        settler: Thread | None = None
        due = began = time.monotonic()
        try:
            while not self._is_over.wait(max(0.0, due - time.monotonic())):
                self.late_seconds = max(self.late_seconds, time.monotonic() - due)
                self._store.add(connection, TICK_ROWS)
                due += 1.0
                if time.monotonic() - began > SETTLE_SECONDS and not (
                    settler and settler.is_alive()
                ):
                    settler = Thread(target=self._store.settle, args=[settling], daemon=True)
                    settler.start()
                    began = time.monotonic()
        except Exception as error:
            self.error = error
        if settler:
            settler.join()

    def stop(self) -> None:
        self._is_over.set()
        self.join()


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
        for table in [*tables(engine)]:
            engine.connect().ask(f"DROP TABLE {table}")
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
    if stream.error:
        say(f"the rows stopped coming in: {stream.error}")
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


def tables(engine: Engine) -> list[str]:
    """Returns the tables that the engine has."""
    query = f"SELECT name FROM system.tables WHERE database = '{DATABASE}'"
    return [name for (name,) in engine.connect().ask(query)]


def settle(engine: Engine, sizes: Sizes, keys: int, case: str = "settle") -> Iterator[UpsertResult]:
    """Yields the figures of one settling of all ends of a table, and of its bootstrap on 18.16."""
    for table in tables(engine):
        engine.connect().ask(f"DROP TABLE {table}")
    store = Store(engine, Load(keys, 3 * keys), is_ours_only=True)
    store.fill()
    ends, seconds, cpu = store.timed_settle()
    rows, size = store.stored()
    common = {
        "case": case, "engine": engine.name, "system": SETTLED, "versions_per_key": 3.0,
        "rows_stored": rows, "bytes_per_row": size,
    }  # fmt: skip
    yield UpsertResult(
        **{**common, "query": "settle"},  # type: ignore[arg-type]
        unsettled_events=ends,
        seconds={"median": seconds},
        records_per_second=ends / seconds,
        cpu_seconds_per_million=cpu / ends * 1e6,
    )
    if not isinstance(store.connection, OldConnection):
        return
    tree = engine.tree()
    before, began = tree.cpu_seconds() + own_cpu(), time.monotonic()
    count = bootstrapped(store.connection, store.settled)
    seconds = time.monotonic() - began
    cpu = tree.cpu_seconds() + own_cpu() - before
    assert count == keys, f"{count} keys of {keys}"
    yield UpsertResult(
        **{**common, "case": "bootstrap" if case == "settle" else case, "query": "bootstrap"},  # type: ignore[arg-type]
        seconds={"median": seconds},
        records_per_second=count / seconds,
        cpu_seconds_per_million=cpu / count * 1e6,
    )


def own_cpu() -> float:
    """Returns the CPU seconds of this process."""
    return time.process_time()


def bootstrapped(connection: OldConnection, tick: int) -> int:
    """Reads the rows of the state at a tick, by the product's query, and returns their number."""
    days = connection.ask(
        f"SELECT {ROWS_PARTITION} AS day, count() FROM {rows_table(TABLE.name)} "
        "GROUP BY day ORDER BY day"
    )
    lane = Lane(CLUSTER, TOPIC, UUID(int=0), 0)
    slices = tuple(slices_of([(int(day), int(count)) for day, count in days], 1))
    plan = BootstrapPlan(TABLE.name, tick, 0, (lane,), (1,), slices)
    return sum(
        batch.num_rows
        for each in slices
        for batch in read_facts(connection.client, slice_query(DATABASE, plan, each, tick), plan)
    )


def state(is_quick: bool, is_large: bool) -> Iterator[UpsertResult]:
    """Yields the bytes per key of the state, by the cases of bench.upsert_coordinator."""
    file = DIRECTORY.parents[1] / "bench" / "results" / "upsert_coordinator.json"
    names = {**COORDINATOR_KEYS, **(LARGE_KEYS if is_large else {})}
    for name, keys in list(names.items())[: 1 if is_quick else None]:
        say(f"scale: {name}")
        asked = [sys.executable, "-m", "bench.upsert_coordinator", "--case", name]
        subprocess.run(asked, check=True)
        figures = {each["case"]: each for each in json.loads(file.read_text())["figures"]}[name]
        yield UpsertResult(
            case="scale",
            system=SETTLED,
            query=f"state of {keys} keys",
            versions_per_key=3.0,
            rows_stored=keys,
            records_per_second=figures["rows_per_second"],
            cpu_seconds_per_million=figures["cpu_seconds_per_million"],
            bytes_per_key=figures["bytes_per_key"],
            peak_rss_mb=figures["peak_rss_mb"],
        )


def rows_of(
    case: str, sizes: Sizes, engines: Sequence[str], *, is_quick: bool, is_large: bool
) -> Iterator[UpsertResult]:
    """Yields the figures of a case. What fails is told, and the others go on."""
    folder = DIRECTORY / "upsert"
    for name in engines if case != "scale" else (OLD,):
        shutil.rmtree(folder, ignore_errors=True)
        try:
            with engine_of(name, folder) as engine:
                if case == "read":
                    yield from read(engine, sizes)
                elif case == "settle":
                    yield from settle(engine, sizes, sizes.keys)
                else:
                    for keys in sizes.scale_keys:
                        say(f"scale: tables of {keys} keys")
                        yield from settle(engine, sizes, keys, "scale")
        except Exception as error:
            say(f"FAILED {case} on {name}: {error!r}"[:1000])
    if case == "scale":
        try:
            yield from state(is_quick, is_large)
        except Exception as error:
            say(f"FAILED {case}: {error!r}")
    shutil.rmtree(folder, ignore_errors=True)


def run(cases: Sequence[str], *, is_quick: bool, is_large: bool, engines: Sequence[str]) -> None:
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
            else rows_of(case, sizes, engines, is_quick=is_quick, is_large=is_large)
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
                    "keys": sizes.keys,
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
    asked.add_argument("--large", action="store_true")
    told = asked.parse_args()
    run(
        told.case or known,
        is_quick=told.quick,
        is_large=told.large,
        engines=told.engine or (OLD, NEW),
    )


if __name__ == "__main__":
    main()
