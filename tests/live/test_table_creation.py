"""Creation of the store's tables of upsert tables, on real replicas."""

from __future__ import annotations

import pytest

from aggregator.upsert.table_creation import create_tables
from deploy.lab.credentials import USERNAME
from replicator.config.upsert_table import UpsertTable
from tests.live.replicas import number_of
from tests.live.stored import store_of
from tests.replicator.config.test_topology import SOUND
from tui.commands.exit_codes import ExitCode
from tui.program import run

pytestmark = pytest.mark.stores

ACCOUNTS = UpsertTable(
    name="accounts",
    semantic="upsert",
    columns={"id": "UInt64", "balance": "Decimal64(2)", "at": "DateTime"},
    primary_key=("id",),
    newest_column="at",
)

CONFIG = """
[feeds.bank]
region = "west"
clusters = ["west regional"]

[[feeds.bank.shards]]
topics = ["accounts"]
database = "{database}"
replicas = ["{address}"]
password_file = "{password}"

[feeds.bank.tables.accounts]
semantic = "upsert"
columns = {{ id = "UInt64", balance = "Decimal64(2)", at = "DateTime" }}
primary_key = ["id"]
newest_column = "at"
"""


@pytest.fixture
def store(replicated_database, tmp_path):
    addresses = replicated_database.replicas.addresses()
    store = store_of(addresses, replicated_database.name, tmp_path, quorum=2)
    yield store
    store.close()


def made(creation) -> list[str]:
    return [table for _, table in creation.made]


def test_tables_and_view_are_made_on_each_replica_and_made_again_where_they_are_missing(
    store, replicated_database
):
    creation = create_tables(store, ACCOUNTS)
    assert creation.is_whole
    assert len(creation.made) == 3 * 4
    again = create_tables(store, ACCOUNTS)
    assert again.is_whole and not again.made and len(again.present) == 3 * 4
    replicated_database.order(1, "DROP TABLE accounts")
    assert made(create_tables(store, ACCOUNTS)) == ["accounts"]
    assert replicated_database.on_each("SELECT count() FROM accounts", "accounts__rows") == [0] * 3
    names = [replicated_database.replica_name(at, "accounts__rows") for at in range(3)]
    replicated_database.order(1, "DROP TABLE accounts__rows")
    # Its view names the replica.
    assert made(create_tables(store, ACCOUNTS)) == ["accounts__rows", "accounts"]
    assert replicated_database.replica_name(1, "accounts__rows") not in names
    assert [number_of(each) for each in names] == [0, 1, 2]


def test_a_replica_that_zookeeper_has_and_no_server_is_named(store, replicated_database):
    creation = create_tables(store, ACCOUNTS)
    assert creation.is_whole and not creation.abandoned
    lost, path = "lost__updates", "/sluice/tables/1/{}/accounts__updates"
    path = path.format(replicated_database.name)
    like = "SELECT create_table_query FROM system.tables WHERE name = 'accounts__updates' "
    statement = replicated_database.ask(0, f"{like} AND database = currentDatabase()")
    own = replicated_database.replica_name(0, "accounts__updates")
    made_before = statement.replace(own, "0-before").replace(".accounts__updates ", f".{lost} ")
    replicated_database.order(0, made_before)
    assert not create_tables(store, ACCOUNTS).abandoned, "it is held by a server"
    replicated_database.order(0, f"DETACH TABLE {lost}")
    [found] = create_tables(store, ACCOUNTS, is_dry=True).abandoned
    assert found.table == "accounts__updates" and f"{path}/replicas/0-before" in found.text
    replicated_database.order(0, made_before.replace("CREATE", "ATTACH", 1))
    replicated_database.order(0, f"DROP TABLE {lost}")


def test_all_differences_of_all_tables_are_named_and_nothing_is_made(store, replicated_database):
    replicated_database.create_table("accounts__rows", "id UInt32, colour String", order_by="id")
    replicated_database.create_table("accounts", "id UInt32", order_by="id")
    creation = create_tables(store, ACCOUNTS)
    assert not creation.made
    for text in ("has id as UInt32", "has a column colour", "lacks the column _until"):
        assert sum(text in each.text for each in creation.mistakes) == 3
    assert {each.table for each in creation.mistakes} == {"accounts", "accounts__rows"}


def test_a_server_without_zookeeper_keeps_a_table_by_itself(
    shared_clickhouse, clickhouse_database, tmp_path, capsys
):
    store = store_of([shared_clickhouse.address(user=USERNAME)], clickhouse_database, tmp_path)
    assert create_tables(store, ACCOUNTS).is_whole
    store.close()
    path = tmp_path / "appliance.toml"
    path.write_text(
        SOUND
        + CONFIG.format(
            address=shared_clickhouse.address(),
            database=clickhouse_database,
            password=tmp_path / "clickhouse-password",
        )
    )
    assert run(["upsert", "create", "--config", str(path)]) == ExitCode.DONE
    assert "accounts__rows, accounts__updates, accounts__ticks" in capsys.readouterr().out
    with shared_clickhouse.client(clickhouse_database) as client:
        [(engine,)] = client.execute(
            "SELECT engine FROM system.tables WHERE name = 'accounts__updates' "
            "AND database = currentDatabase()"
        )
    assert engine == "ReplacingMergeTree"
