"""A table proves that it has no row of a partition only on all replicas, and only if it can."""

from __future__ import annotations

import pytest

from aggregator.store.schema_reader import TableFacts
from aggregator.store.stored_offsets import ReplicaLook, TableSight, judged, tables_to_ask
from aggregator.tables.table_schema import Column, TableSchema
from balancer.topic_partition import TopicPartition

PLACE, OTHER = TopicPartition("hits", 0), TopicPartition("hits", 1)
SOUND = TableSight(ends={OTHER: 7})


def look(name="a", **tables):
    return ReplicaLook(name, tables=tables)


def verdict(*looks, is_by_topic=True):
    found = judged(PLACE, looks, is_by_topic=is_by_topic)
    return found.next_offset, found.doubt, found.is_passing


def test_a_table_with_rows_of_others_on_all_replicas_is_a_proof():
    assert verdict(look("a", hits=SOUND), look("b", hits=SOUND)) == (None, "", False)


def test_the_replica_with_most_rows_counts():
    ends = TableSight(ends={PLACE: 20}), TableSight(ends={PLACE: 30})
    assert verdict(look(hits=ends[0]), look("b", hits=ends[1]))[0] == 30


@pytest.mark.parametrize("flaw", ["has a TTL", "is empty", "lacks _cluster"])
def test_a_table_that_loses_rows_or_has_none_is_no_proof(flaw):
    next_offset, doubt, is_passing = verdict(look(hits=SOUND), look("b", hits=TableSight(flaw)))
    assert (next_offset, is_passing) == (None, False)
    assert doubt == f"table hits {flaw}"


def test_rows_count_on_a_table_that_is_no_proof():
    assert verdict(look(hits=TableSight("has a TTL", {PLACE: 20})))[0] == 20


def test_a_replica_that_does_not_answer_is_a_doubt_that_passes():
    next_offset, doubt, is_passing = verdict(look(hits=SOUND), ReplicaLook("b", "timed out"))
    assert (next_offset, is_passing) == (None, True)
    assert doubt == "b does not answer (timed out)"


def test_a_table_that_a_replica_lacks_is_no_proof():
    assert verdict(look(hits=SOUND), look("b"))[1] == "b has no table hits"
    assert verdict(look(), is_by_topic=False)[1] == "there is no table"


def test_rows_of_a_topic_may_be_in_any_table_where_a_header_names_it():
    tables = {"one": SOUND, "two": TableSight(ends={PLACE: 9})}
    assert verdict(look(**tables), is_by_topic=False)[0] == 9
    assert verdict(look(**tables), is_by_topic=True) == (None, "a has no table hits", False)
    assert verdict(look(one=SOUND, two=TableSight("is empty")), is_by_topic=False)[1]


def test_views_beside_a_table_are_not_asked_and_are_no_doubt():
    columns = (Column("_offset", "UInt64"),)
    facts = {
        name: TableFacts(TableSchema(name, columns), engine)
        for name, engine in (("hits", "MergeTree"), ("daily", "View"), ("sums", "MaterializedView"))
    }
    assert tables_to_ask(facts, None).keys() == {"hits"}
    assert tables_to_ask(facts, ["daily", "hits"]).keys() == {"hits"}
    assert not tables_to_ask(facts, ["daily"])


def test_each_log_of_a_partition_has_an_end_of_its_own():
    """The log of today may be shorter than a former one."""
    first = TableSight(ends={PLACE: 90}, by_log={PLACE: {0: 90, 5: 20}})
    second = TableSight(ends={PLACE: 30}, by_log={PLACE: {5: 30}})
    found = judged(PLACE, [look(one=first, two=second)], is_by_topic=False)
    assert (found.next_offset, found.ends) == (90, {0: 90, 5: 30})
    untold = TableSight(ends={PLACE: 95})
    found = judged(PLACE, [look(one=first, two=untold)], is_by_topic=False)
    assert found.ends == {0: 95, 5: 20}


def test_each_table_has_its_end_on_the_replica_that_has_most_of_it():
    ends = [{"one": TableSight(ends={PLACE: 9}), "two": TableSight(ends={PLACE: 3})}]
    ends.append({"one": TableSight(ends={PLACE: 7}), "two": TableSight(ends={PLACE: 5})})
    found = judged(PLACE, [look(**each) for each in ends], is_by_topic=False)
    assert (found.next_offset, found.tables) == (9, {"one": {0: 9}, "two": {0: 5}})
