"""Column search: no hash is looked for twice within the pause, and each new one at once."""

from __future__ import annotations

from aggregator.loader.column_search import ColumnSearch

TABLE, OTHER = ("topic", "t"), ("topic", "u")


def begins(search, now, *hashes, table=TABLE):
    return search.begins(table, frozenset(hashes), now)


def test_a_hash_is_looked_for_again_only_after_the_pause():
    search = ColumnSearch(1.0)
    assert begins(search, 10.0, "a")
    assert not begins(search, 10.9, "a")
    assert begins(search, 11.0, "a")


def test_another_hash_or_table_is_looked_for_at_once():
    search = ColumnSearch(1.0)
    assert begins(search, 10.0, "a")
    assert begins(search, 10.1, "b")
    assert not begins(search, 10.2, "a", "b")
    assert begins(search, 10.2, "a", table=OTHER)
