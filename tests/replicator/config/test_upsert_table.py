"""Upsert tables: settings that cannot work are refused by name, all at once, and topics find their
table."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from aggregator.tables.column_type import (
    ADDRESSES,
    DECIMAL_PRECISIONS,
    ENUMS,
    NUMBERS,
    TIMES,
    WIDE_INTEGERS,
    column_type,
)
from aggregator.tables.table_schema import OWN_COLUMNS as COORDINATES
from aggregator.upsert.table_names import (
    UPSERT_COLUMNS,
    rows_table,
    ticks_table,
    updates_table,
)
from replicator.config.cluster_name import ClusterName
from replicator.config.feed_settings import AggregatorSettings, ClickHouseFeed
from replicator.config.upsert_table import (
    LOADABLE,
    OF_SEVERAL,
    OWN_COLUMNS,
    OWN_TABLE_SUFFIXES,
    UpsertTable,
)
from tests.replicator.config.test_feed_contradictions import archive, feed, loaded, mistakes
from tests.replicator.config.test_topology import SOUND

KEEPING = """
semantic = "upsert"
columns = { id = "UInt64", at = "DateTime", gone = "UInt8", note = "Nullable(String)" }
primary_key = ["id"]
"""


def table(name: str = "status", more: str = "", keeping: str = KEEPING, of: str = "flights") -> str:
    """Returns a table of a feed; keys of `more` replace those of `keeping`."""
    keys = {line.partition(" =")[0] for line in more.splitlines()}
    kept = [line for line in keeping.splitlines() if line.partition(" =")[0] not in keys]
    return "\n".join((f"\n[feeds.{of}.tables.{name}]", *kept, more, ""))


ANY = SOUND + feed(topics='".*"')


def clickhouse_feed(directory: Path, text: str, name: str = "flights") -> ClickHouseFeed:
    found = loaded(directory, text).feed(name)
    assert isinstance(found, ClickHouseFeed)
    return found


# -- topics


def test_topics_of_an_upsert_table_are_loaded_by_no_loader(tmp_path: Path) -> None:
    flights = clickhouse_feed(tmp_path, ANY + table(more='topics = ["status.*"]'))
    assert flights.takes("flights") and flights.shard_number("flights") == 0
    assert not flights.takes("status-2") and flights.shard_number("status-2") is None
    assert flights.upsert_table("status-2") is flights.tables["status"]
    assert flights.upsert_table("flights") is None
    assert flights.upsert_table("__status") is None
    assert flights.patterns == ((".*",), ("status.*",))


def test_without_patterns_a_table_has_the_topic_of_its_name(tmp_path: Path) -> None:
    flights = clickhouse_feed(tmp_path, ANY + table("a1"))
    assert flights.upsert_table("a1") is flights.tables["a1"]
    assert flights.upsert_table("a12") is None


def test_a_feed_without_upsert_tables_selects_what_it_did(tmp_path: Path) -> None:
    bare = clickhouse_feed(tmp_path, ANY)
    named = clickhouse_feed(tmp_path, ANY + table("flights", keeping='semantic = "append"'))
    for each in (bare, named):
        assert each.takes("flights")
        assert each.patterns == ((".*",), ())
        assert each.upsert_tables == ()


def test_the_first_table_that_takes_a_topic_has_it(tmp_path: Path) -> None:
    both = table("a", 'topics = ["s.*"]') + table("b", 'topics = ["s[0-9]+"]')
    flights = clickhouse_feed(tmp_path, ANY + both)
    assert flights.upsert_table("s1") is flights.tables["a"]
    assert flights.keeps(flights.tables["a"], "s1")
    assert not flights.keeps(flights.tables["b"], "s1")
    assert not flights.keeps(flights.tables["a"], "other")


def test_a_table_has_its_name_shard_and_home(tmp_path: Path) -> None:
    two = '"west regional", "east regional"'
    text = SOUND + feed(clusters=two, topics='"flights"') + SHARD_OF_REST
    flights = clickhouse_feed(tmp_path, text + table() + table("b", 'home = "east regional"'))
    status, other = flights.tables["status"], flights.tables["b"]
    assert status.name == "status"
    assert flights.shard_number_of(status) == 1
    assert flights.shard_of_table(status) is flights.shards[1]
    assert flights.home_of(status) == ClusterName("west regional")
    assert flights.home_of(other) == ClusterName("east regional")
    assert pickle.loads(pickle.dumps(flights)) == flights


SHARD_OF_REST = """
[[feeds.flights.shards]]
topics = [".*"]
replicas = ["clickhouse://other"]
"""


def test_rows_are_sorted_by_the_key_unless_other_columns_are_named() -> None:
    columns = {"id": "UInt64", "at": "LowCardinality(Nullable(DateTime64(3, 'UTC')))"}
    plain = UpsertTable(name="t", semantic="upsert", columns=columns, primary_key=("id",))
    assert plain.sorted_by == ("id",)
    assert plain.model_copy(update={"order_by": ("at", "id")}).sorted_by == ("at", "id")
    assert plain.base_type("at") == "DateTime64"
    assert not plain.newest_is_time
    assert plain.model_copy(update={"newest_column": "at"}).newest_is_time


def test_the_folder_of_states_is_beside_the_file(tmp_path: Path) -> None:
    assert loaded(tmp_path, SOUND).aggregator.upsert_dir == tmp_path / "upsert"
    text = SOUND + '[aggregator]\nupsert_dir = "/mnt/u"\n'
    assert loaded(tmp_path, text).aggregator.upsert_dir == Path("/mnt/u")
    assert AggregatorSettings.model_fields["upsert_dir"].default == Path("upsert")


# -- names that the store has for itself


def test_the_names_refused_are_those_of_sluices_own_columns_and_tables() -> None:
    assert {*COORDINATES, *UPSERT_COLUMNS} == OWN_COLUMNS
    assert {name("") for name in (rows_table, updates_table, ticks_table)} == set(
        OWN_TABLE_SUFFIXES
    )


def test_the_types_known_by_name_are_those_that_can_be_loaded() -> None:
    bases = {*NUMBERS, *TIMES, *ENUMS, *WIDE_INTEGERS, *ADDRESSES, *DECIMAL_PRECISIONS}
    assert bases | {"Decimal", "String", "FixedString", "UUID"} == LOADABLE - OF_SEVERAL
    assert column_type("Map(String, Tuple(a Array(UInt8)))")


# -- contradictions

COLUMNS = 'columns = { id = "UInt64", x = "%s" }'


@pytest.mark.parametrize(
    ("more", "key", "text"),
    [
        ("primary_key = []", "primary_key", "is missing"),
        ("columns = {}", "columns", "are missing"),
        (
            'primary_key = ["nota"]',
            "primary_key",
            "no column 'nota' in columns; did you mean",
        ),
        ('newest_column = "ad"', "newest_column", "no column 'ad'"),
        ('delete_column = "x"', "delete_column", "no column 'x'"),
        ('order_by = ["id", "x"]', "order_by", "no column 'x'"),
        ('primary_key = ["note"]', "primary_key", "note is Nullable"),
        (COLUMNS % "Float32" + '\nprimary_key = ["x"]', "primary_key", "x is Float32: equal"),
        (COLUMNS % "LowCardinality(Nullable(String))" + '\nprimary_key = ["x"]', "primary_key", ""),
        (COLUMNS % "Array(String)" + '\nprimary_key = ["x"]', "primary_key", "x is Array; a key"),
        (COLUMNS % "UInt46", "columns.x", "UInt46 cannot be loaded; did you mean 'UInt64'?"),
        (COLUMNS % "Nullable(JSON)", "columns.x", "columns of type Nullable(JSON) cannot"),
        (COLUMNS % "Nested(a Int8)", "columns.x", "make it Array(Tuple(...))"),
        (COLUMNS % "Nullable(DateTime)" + '\nnewest_column = "x"', "newest_column", "Nullable"),
        (COLUMNS % "String" + '\nnewest_column = "x"', "newest_column", "x is String; it must be"),
        (COLUMNS % "Int128" + '\nnewest_column = "x"', "newest_column", "up to 64 bits"),
        (COLUMNS % "Float64" + '\nnewest_column = "x"', "newest_column", "x is Float64"),
        ('newest_column = "id"', "newest_column", "part of the primary key"),
        (COLUMNS % "DateTime" + '\ndelete_column = "x"', "delete_column", "x is DateTime"),
        ('delete_column = "id"', "delete_column", "id is part of the primary key"),
        (
            'newest_column = "gone"\ndelete_column = "gone"',
            "delete_column",
            "gone is newest_column",
        ),
        (
            'delete_column = "gone"\nempty_value_deletes = true',
            "delete_column",
            "set one of the two",
        ),
        ('order_by = ["note"]', "order_by", "note is Nullable"),
        ('primary_key = ["id", "id"]', "primary_key", "listed twice: id"),
        ('columns = { id = "UInt64", _key = "String" }', "columns._key", "of Sluice's own"),
        ('columns = { id = "UInt64", "a b" = "String" }', "columns.a b", "letters, digits and _"),
        ("retention_hours = 337.0", "retention_hours", "should be 336 or less"),
        ("retention_hours = 1.0\nhistory_seconds = 3601.0", "history_seconds", "retention_hours"),
        ("history_seconds = 29.0", "history_seconds", "must be settle_seconds (30) or more"),
        ("settle_seconds = 1.0\ntick_seconds = 2.0", "tick_seconds", "settle_seconds (1)"),
        ("tick_records_max = 1000001", "tick_records_max", "should be 1e+06 or less"),
        ('topics = ["sluice.balance"]', "topics", "means topics of Kafka or Sluice"),
        ('topics = ["("]', "topics[0]", "not an RE2 pattern"),
        ('home = "east regional"', "home", "it reads west regional"),
        ('name = "x"', "name", "unknown key; the table's name counts"),
        ("settle_second = 2.0", "settle_second", "did you mean 'settle_seconds'?"),
    ],
)
def test_a_table_that_cannot_work_is_refused(
    tmp_path: Path, more: str, key: str, text: str
) -> None:
    found = mistakes(tmp_path, ANY + table(more=more))
    assert text in found[f"feeds.flights.tables.status.{key}"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ('"a.b"', "letters, digits and _"),
        ("1a", "begins with no digit"),
        ("a__rows", "ends with __rows"),
        ("a__updates", "ends with __updates"),
        ("a__ticks", "ends with __ticks"),
        ("a" * 121, "at most 120 characters"),
    ],
)
def test_a_name_that_cannot_be_a_table_is_refused(tmp_path: Path, name: str, text: str) -> None:
    found = mistakes(tmp_path, ANY + table(name))
    assert text in found[f"feeds.flights.tables.{name.strip(chr(34))}"]


def test_all_that_is_wrong_is_named_at_once(tmp_path: Path) -> None:
    more = (
        'primary_key = ["note", "x"]\nnewest_column = "note"\ndelete_column = "at"\n'
        'history_seconds = 2.0\nhome = "north regional"\ntopics = ["__x"]'
    )
    text = ANY + table(more=more) + table("a__rows", 'order_by = ["y"]')
    assert sorted(mistakes(tmp_path, text)) == [
        "feeds.flights.tables.a__rows",
        "feeds.flights.tables.a__rows.order_by",
        *(
            f"feeds.flights.tables.status.{key}"
            for key in (
                "delete_column",
                "history_seconds",
                "home",
                "newest_column",
                "primary_key",
                "topics",
            )
        ),
    ]


def test_an_append_table_has_no_other_settings(tmp_path: Path) -> None:
    """Without it, a forgotten `semantic` would append to a table that was to have one row a key."""
    found = mistakes(tmp_path, ANY + table(keeping='primary_key = ["id"]'))
    assert 'set "upsert", or remove it' in found["feeds.flights.tables.status.primary_key"]


# -- between a table and its feed


@pytest.mark.parametrize(
    ("more", "in_table", "key"),
    [
        ('table_from = "header"', "", "semantic"),
        ('dead_letters = "stop"', "", "semantic"),
        ('start = "latest"', "", "semantic"),
        (
            'format = "row_batches"',
            'primary_key = ["id", "at"]\nempty_value_deletes = true',
            "empty_value_deletes",
        ),
        (
            'format = "row_batches"',
            'newest_column = "gone"\nempty_value_deletes = true',
            "empty_value_deletes",
        ),
    ],
)
def test_a_table_that_its_feed_cannot_keep_is_refused(
    tmp_path: Path, more: str, in_table: str, key: str
) -> None:
    text = SOUND + feed(topics='".*"', more=more) + table(more=in_table)
    assert f"feeds.flights.tables.status.{key}" in mistakes(tmp_path, text)


def test_an_empty_value_may_delete_by_a_key_of_one_column_in_any_format(tmp_path: Path) -> None:
    text = SOUND + feed(topics='".*"', more='format = "row_batches"')
    assert loaded(tmp_path, text + table(more="empty_value_deletes = true"))


def test_several_replicas_need_a_quorum(tmp_path: Path) -> None:
    replicas = feed(topics='".*"', replica='h", "clickhouse://i')
    found = mistakes(tmp_path, SOUND + replicas + table())
    assert "need quorum = 2" in found["feeds.flights.tables.status.semantic"]
    # The last table of the feed's text is its shard.
    assert loaded(tmp_path, SOUND + replicas + "quorum = 2\n" + table())


def test_an_upsert_table_is_in_one_shard(tmp_path: Path) -> None:
    sharded = SOUND + feed(topics='"a", "air\\\\..*"') + SHARD_OF_REST
    for topics in ('"air\\\\.status.*"', '"a"', '"b"', '"b", "c.*"'):
        assert loaded(tmp_path, sharded + table(more=f"topics = [{topics}]"))
    for topics in ('"a", "b"', '"a.*"', '"(x|air\\\\.y)"'):
        found = mistakes(tmp_path, sharded + table(more=f"topics = [{topics}]"))
        assert "shards[0] and shards[1]" in found["feeds.flights.tables.status.topics"]


def test_a_topic_that_no_shard_has_is_no_topic_of_a_table(tmp_path: Path) -> None:
    found = mistakes(tmp_path, SOUND + feed() + table())
    assert "no shard has the topic 'status'" in found["feeds.flights.tables.status.topics"]


@pytest.mark.parametrize(("one", "other"), [("s1", "s1"), ("s.*", "s1"), ("s1", "s.*")])
def test_topics_of_two_tables_that_meet_for_certain_are_refused(
    tmp_path: Path, one: str, other: str
) -> None:
    both = table("a", f'topics = ["{one}"]') + table("b", f'topics = ["{other}"]')
    assert (
        "a topic is of one table" in mistakes(tmp_path, ANY + both)["feeds.flights.tables.b.topics"]
    )


def test_objects_have_no_upsert_tables(tmp_path: Path) -> None:
    found = mistakes(tmp_path, SOUND + archive() + table(of="archive"))
    assert 'no meaning with kind = "s3"' in found["feeds.archive.tables"]


# -- between feeds


def test_two_feeds_may_append_a_topic_and_keep_its_newest_rows(tmp_path: Path) -> None:
    text = SOUND + feed(topics='"status"') + feed("now", topics='".*"')
    assert loaded(tmp_path, text + table("current", 'topics = ["status"]', of="now"))


def test_two_feeds_do_not_keep_one_table(tmp_path: Path) -> None:
    text = ANY + table(more='topics = ["a"]') + feed("z", topics='"b"')
    found = mistakes(tmp_path, text + table(more='topics = ["b"]', of="z"))
    assert "feeds.flights keeps a table of this name" in found["feeds.z.tables.status"]
    elsewhere = ANY + table(more='topics = ["a"]') + feed("z", topics='"b"', replica="other")
    assert loaded(tmp_path, elsewhere + table(more='topics = ["b"]', of="z"))


def test_a_feed_does_not_append_to_the_upsert_table_of_another(tmp_path: Path) -> None:
    text = ANY + table(more='topics = ["a"]') + feed("z", '"east regional"', topics='"status"')
    found = mistakes(tmp_path, text)
    assert "feeds.z.shards[0] loads the topic 'status'" in found["feeds.flights.tables.status"]


def test_records_that_name_their_table_do_not_go_beside_an_upsert_table(tmp_path: Path) -> None:
    headers = 'table_from = "header"'
    found = mistakes(tmp_path, ANY + table() + feed("z", '"east regional"', more=headers))
    assert "could name status__rows" in found["feeds.flights.tables.status"]
