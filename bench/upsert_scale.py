"""Cases `settle`, `bootstrap` and `scale` of upsert tables: what grows with the number of keys.

`scale` has the tables on a server, with three rows of each key, and the state of keys, which
bench.upsert_coordinator makes in a Spark of its own for each size. bench/upsert_growth.py fits
lines to its figures, and says what they are at 1e9 keys.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any
from uuid import UUID

from aggregator.upsert.bootstrap import BootstrapPlan, read_facts, slice_query, slices_of
from aggregator.upsert.tick import Lane
from aggregator.upsert.upsert_schema import ROWS_PARTITION
from bench import upsert_coordinator
from bench.ground import say
from bench.upsert_engines import Engine, OldConnection
from bench.upsert_growth import (
    ENDS,
    FEW_ENDS,
    FOLDING,
    MERGED,
    READING,
    ROWS,
    SETTLE,
    STATE,
    VERSIONS,
)
from bench.upsert_results import COORDINATOR_FILE, UpsertResult
from bench.upsert_store import ROWS_TABLE, UPDATES_TABLE, Settled, Store
from bench.upsert_systems import CLUSTER, DATABASE, SETTLED, TABLE, TOPIC, Load

SETTLED_ROWS, SETTLED_ROUNDS = 60_000, 3
"""Ends of one settling in production: those of 30 s at 2 000 rows/s."""


def settle(engine: Engine, keys: int) -> Iterator[UpsertResult]:
    """Yields the figures of one settling of all ends of a table, and of its bootstrap on 18.16."""
    store = filled(engine, keys)
    found = store.timed_settle()
    yield settle_result(store, "settle", "settle", found)
    if isinstance(store.connection, OldConnection):
        yield bootstrap_result(store, store.connection, "bootstrap", "bootstrap")


def scale(engine: Engine, keys: int) -> Iterator[UpsertResult]:
    """Yields the figures of tables of so many keys: sizes, settling and reading for a bootstrap."""
    say(f"scale: tables of {keys:,} keys")
    store = filled(engine, keys)
    store.wait_merged()
    yield settle_result(store, "scale", SETTLE, store.timed_settle())
    store.wait_merged()
    for name, table in ((ROWS, ROWS_TABLE), (ENDS, UPDATES_TABLE)):
        yield result(store, "scale", name, bytes_per_key=store.stored_bytes(table) / keys)
    assert isinstance(store.connection, OldConnection)
    yield bootstrap_result(store, store.connection, "scale", READING)
    few: list[Settled] = []
    for _ in range(SETTLED_ROUNDS):
        store.add(store.connection, SETTLED_ROWS)
        store.wait_merged()
        few.append(store.timed_settle())
    # Median of each, as one round may share the server with merges.
    seconds, cpu = (statistics.median(column) for column in list(zip(*few, strict=True))[1:3])
    peak = max(each.peak_rss_mb for each in few)
    yield settle_result(store, "scale", FEW_ENDS, Settled(SETTLED_ROWS, seconds, cpu, peak))


def filled(engine: Engine, keys: int) -> Store:
    """Returns the tables of Sluice with VERSIONS rows of each key, none of them settled."""
    store = Store(engine, Load(keys, VERSIONS * keys), is_ours_only=True)
    store.fill()
    return store


def settle_result(store: Store, case: str, query: str, found: Settled) -> UpsertResult:
    rows, size = store.stored()
    return result(
        store,
        case,
        query,
        rows_stored=rows,
        unsettled_events=found.ends,
        seconds={"median": found.seconds},
        records_per_second=found.ends / found.seconds,
        cpu_seconds_per_million=found.cpu_seconds / found.ends * 1e6,
        bytes_per_row=size,
        peak_rss_mb=found.peak_rss_mb,
    )


def bootstrap_result(
    store: Store, connection: OldConnection, case: str, query: str
) -> UpsertResult:
    rows, size = store.stored()
    tree = store.engine.tree()
    before, began = tree.cpu_seconds() + time.process_time(), time.monotonic()
    count = bootstrapped(connection, store.settled)
    seconds = time.monotonic() - began
    cpu = tree.cpu_seconds() + time.process_time() - before
    assert count == store.load.keys, f"{count} keys of {store.load.keys}"
    return result(
        store,
        case,
        query,
        rows_stored=rows,
        seconds={"median": seconds},
        records_per_second=count / seconds,
        cpu_seconds_per_million=cpu / count * 1e6,
        bytes_per_row=size,
    )


def result(store: Store, case: str, query: str, **figures: Any) -> UpsertResult:
    """Returns figures of the tables."""
    return UpsertResult(
        case=case,
        engine=store.engine.name,
        system=SETTLED,
        query=query,
        keys=store.load.keys,
        versions_per_key=float(VERSIONS),
        **figures,
    )


def bootstrapped(connection: OldConnection, tick: int) -> int:
    """Reads the rows of the state at a tick, by the product's query, and returns their number."""
    days = connection.ask(
        f"SELECT {ROWS_PARTITION} AS day, count() FROM {ROWS_TABLE} GROUP BY day ORDER BY day"
    )
    lane = Lane(CLUSTER, TOPIC, UUID(int=0), 0)
    slices = tuple(slices_of([(int(day), int(count)) for day, count in days], 1))
    plan = BootstrapPlan(TABLE.name, tick, 0, (lane,), (1,), slices)
    return sum(
        batch.num_rows
        for each in slices
        for batch in read_facts(connection.client, slice_query(DATABASE, plan, each, tick), plan)
    )


def state(keys: int) -> Iterator[UpsertResult]:
    """Yields the figures of the state of so many keys, of which bench.upsert_coordinator has a
    case."""
    [name] = [each.name for each in upsert_coordinator.SCALE if each.keys == keys]
    say(f"scale: {name}")
    asked = [sys.executable, "-m", "bench.upsert_coordinator", "--case", name]
    subprocess.run(asked, check=True)
    figures = json.loads(COORDINATOR_FILE.read_text())["results"]
    yield from state_results(next(each for each in figures if each["case"] == name))


def state_results(figures: Mapping[str, Any]) -> Iterator[UpsertResult]:
    """Yields results of a case of bench.upsert_coordinator."""
    keys = figures["keys"]

    def of_state(query: str, versions: float, **found: Any) -> UpsertResult:
        return UpsertResult(
            case="scale",
            system=SETTLED,
            query=query,
            keys=keys,
            versions_per_key=versions,
            peak_rss_mb=figures["peak_rss_mb"],
            **found,
        )

    yield of_state(STATE, 2.0, bytes_per_key=figures["bytes_per_key"])
    yield of_state(MERGED, 2.0, bytes_per_key=figures["merged_bytes_per_key"])
    yield of_state("state, bootstrapped", 1.0, bytes_per_key=figures["bootstrapped_bytes_per_key"])
    yield of_state("state, all files", 2.0, bytes_per_key=figures["checkpoint_bytes_per_key"])
    seconds = figures["bootstrap_seconds"]
    yield of_state(
        FOLDING,
        1.0,
        seconds={"median": seconds},
        records_per_second=keys / seconds,
        cpu_seconds_per_million=figures["bootstrap_cpu_seconds"] / keys * 1e6,
    )
