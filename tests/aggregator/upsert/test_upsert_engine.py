"""The statements of upsert tables on a new ClickHouse, in this process; 18.16 has live tests.

Random records are folded, stored, settled, and read as the view and a bootstrap read them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from tempfile import NamedTemporaryFile
from uuid import UUID

import numpy as np
import pytest

from aggregator.tables.native_block import NativeBlock
from aggregator.upsert.bootstrap import (
    PACKED,
    BootstrapPlan,
    LaneNumbers,
    Slice,
    facts_of,
    slice_query,
)
from aggregator.upsert.claims import TickRow, What, ticks_block
from aggregator.upsert.fold import KeyState, bootstrapped, fold
from aggregator.upsert.row_ends import ends_blocks, ends_table
from aggregator.upsert.settling import open_condition, update_statement
from aggregator.upsert.tick import OPEN, ROW_BITS, Lane
from aggregator.upsert.upsert_schema import (
    ROWS_PARTITION,
    ServerTraits,
    settled_view,
    store_tables,
)
from aggregator.upsert.version import Version
from replicator.config.upsert_table import UpsertTable
from tests.aggregator.tables.engine import engine, json_of

TABLE = UpsertTable(
    name="accounts",
    semantic="upsert",
    columns={"id": "UInt64", "value": "Int64"},
    primary_key=("id",),
)
BANK = "bank_of_upsert_tests"
LANE = Lane("west aggregate", "it's", UUID(int=1), 0)
TICKS, SETTLED = 5, 3


def execute(statement: str) -> None:
    engine().query(statement)


def insert(table: str, block: NativeBlock) -> None:
    with NamedTemporaryFile(suffix=".native") as file:
        file.write(block.bytes_of(revision=0))
        file.flush()
        names = ", ".join(block.names)
        execute(
            f"INSERT INTO {BANK}.{table} ({names}) SELECT {names} FROM file('{file.name}', Native)"
        )


@pytest.fixture(scope="module")
def stored() -> Iterator[tuple[list[tuple[int, Version]], dict[bytes, KeyState]]]:
    """Records by key, and the states of all keys, of a table that is settled half-way."""
    execute(f"CREATE DATABASE {BANK}")
    settings = frozenset(name for (name,) in json_of("SELECT name FROM system.merge_tree_settings"))
    traits = ServerTraits("", settings)
    for table in store_tables(TABLE):
        execute(table.create(BANK, traits))
    view = settled_view(BANK, TABLE, "")
    execute(f"CREATE VIEW {BANK}.accounts AS {view}")
    dice = random.Random(39)
    records: list[tuple[int, Version]] = []
    states: dict[bytes, KeyState] = {}
    settled_ends = 0
    for tick in range(1, TICKS + 1):
        rows = []
        for number in range(10):
            key, is_delete = dice.randrange(6), dice.random() < 0.2
            row_id = (tick << ROW_BITS) + number
            version = Version(dice.randrange(20), 0, len(records), 0, row_id, is_delete)
            records.append((key, version))
            until = tick if is_delete else OPEN
            rows.append(
                f"({key}, {row_id}, 'west aggregate', 'it\\'s', 0, {version.offset}, 0, {row_id}, "
                f"{until}, {int(is_delete)}, unhex('{key.to_bytes(16, 'big').hex()}'), "
                f"{version.order}, {dice.randrange(3) * 86_400})"
            )
        execute(f"INSERT INTO {BANK}.accounts__rows VALUES {', '.join(rows)}")
        facts = [(key.to_bytes(16, "big"), version) for key, version in records[-10:]]
        folded = fold(tick, facts, states)
        states |= folded.states
        settled_ends += len(folded.ends) if tick <= SETTLED else 0
        for _ in range(2):  # a block that comes twice changes nothing
            for block in ends_blocks(ends_table(folded.ends)):
                insert("accounts__updates", block)
    statement = update_statement(BANK, "accounts", 0, SETTLED, settled_ends, 1)
    execute(f"{statement} SETTINGS mutations_sync = 2")
    insert("accounts__ticks", ticks_block(TickRow(1, SETTLED, What.SETTLED, 0, servers=("",))))
    yield records, states
    execute(f"DROP DATABASE {BANK}")


def test_the_view_shows_the_newest_row_of_each_key_at_the_settle_point(stored):
    records, _ = stored
    newest: dict[int, Version] = {}
    for key, version in records:
        if version.row_id >> ROW_BITS <= SETTLED:
            newest[key] = max(version, newest.get(key, version))
    expected = sorted([key, each.row_id] for key, each in newest.items() if not each.is_delete)
    found = json_of(f"SELECT id, value FROM {BANK}.accounts ORDER BY id")
    assert [[int(each) for each in row] for row in found] == expected


def test_no_row_that_ended_is_open_at_the_settle_point(stored):
    condition = open_condition(BANK, "accounts", 0, SETTLED)
    assert json_of(f"SELECT count() FROM {BANK}.accounts__rows WHERE {condition}") == [[0]]
    condition = open_condition(BANK, "accounts", 0, TICKS)
    [[count]] = json_of(f"SELECT count() FROM {BANK}.accounts__rows WHERE {condition}")
    assert count


@pytest.mark.parametrize("settled", [0, SETTLED])
def test_a_bootstrap_finds_the_newest_row_of_each_key_whatever_is_settled(stored, settled):
    _, states = stored
    days = [day for (day,) in json_of(
        f"SELECT DISTINCT {ROWS_PARTITION} FROM {BANK}.accounts__rows"
    )]  # fmt: skip
    plan = BootstrapPlan("accounts", TICKS, 0, (LANE,), (1,))
    rows = []
    for day in days:
        for share in range(3):
            query = slice_query(BANK, plan, Slice(day, share, 3), settled)
            batch = facts_of(np.frombuffer(packed(query), PACKED), LaneNumbers.of([LANE], [1]))
            rows += [
                (each.pop("key"), Version(**{name: each[name] for name in Version._fields}))
                for each in batch.to_pylist()
            ]
    newest = {key: state[:1] for key, state in bootstrapped(rows).items()}
    assert newest == {key: state[:1] for key, state in states.items()}


def packed(query: str) -> bytes:
    """Returns the packed rows of a slice, one after the other."""
    columns = f"SELECT hex(packed) FROM ({query.replace(' FROM ', ' AS packed FROM ', 1)})"
    return b"".join(bytes.fromhex(text) for (text,) in json_of(columns))


def test_a_mutation_fails_where_ends_are_missing_and_not_where_they_were_dropped(stored):
    statement = update_statement(BANK, "accounts", 0, SETTLED, 10**6, 1)
    # A horizon of another generation says nothing about the ends of this one.
    insert("accounts__ticks", ticks_block(TickRow(2, 9, What.HORIZON, 0)))
    with pytest.raises(RuntimeError, match="throwIf|FUNCTION_THROW_IF"):
        execute(f"{statement} SETTINGS mutations_sync = 2")
    condition = f"database = '{BANK}' AND NOT is_done"
    execute(f"KILL MUTATION WHERE {condition}")
    insert("accounts__ticks", ticks_block(TickRow(1, 1, What.HORIZON, 0)))
    execute(f"{statement} SETTINGS mutations_sync = 2")
