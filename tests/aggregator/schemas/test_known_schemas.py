"""Known schemas: which are at hand, and which have to be fetched first."""

from __future__ import annotations

import json

import pytest

from aggregator.schemas.known_schemas import ASK_AGAIN_SECONDS, KnownSchemas
from aggregator.schemas.schema_registry import SchemasAway
from tests.aggregator.files.schema_records import FIRST, LISTED, SECOND


class Registry:
    """Registry with some schemas."""

    def __init__(self, **texts):
        self.texts = {int(name.removeprefix("id")): text for name, text in texts.items()}
        self.asked = []

    def schema(self, schema_id):
        self.asked.append(schema_id)
        return self.texts.get(schema_id)


def test_schemas_of_files_are_known_from_the_start():
    known = KnownSchemas(
        {"7.avsc": json.dumps(FIRST).encode(), "t.avsc": b'"int"', "8.avsc": b'"int"'}
    )
    assert known.wanted({7, 9}) == frozenset()
    assert known.of_id(7).kind.name == "some.where.Row"
    assert (known.is_known(7), known.is_known(9)) == (True, False)
    assert known.of_topic("t").name == "t.avsc"
    # A file named by a number is of the schema with that id.
    assert known.of_topic("8") is None
    assert known.of_topic("other") is None


def test_a_single_file_is_the_schema_of_all_topics():
    known = KnownSchemas({"rows.avsc": b'"int"'}, "rows.avsc")
    assert known.of_topic("a") is known.of_topic("8") is not None


def test_schemas_of_a_registry_are_fetched_first_and_once():
    registry = Registry(id1=json.dumps(FIRST), id2=json.dumps(LISTED))
    known = KnownSchemas(registry=registry)
    assert known.wanted({1, 2}) == {1, 2}
    known.fetch({1, 2})
    assert known.wanted({1, 2}) == frozenset()
    assert registry.asked == [1, 2]
    assert known.type_of(1).names == ("number", "text")
    # A schema that is part of itself has no type, and is known.
    assert (known.is_known(2), known.type_of(2)) == (True, None)


def test_a_registry_is_asked_again_for_a_schema_that_it_did_not_know():
    now = [0.0]
    registry = Registry()
    known = KnownSchemas(registry=registry, clock=lambda: now[0])
    known.fetch({5})
    assert (known.wanted({5}), known.is_known(5)) == (frozenset(), False)
    now[0] += ASK_AGAIN_SECONDS
    assert known.wanted({5}) == {5}
    registry.texts[5] = json.dumps(SECOND)
    known.fetch({5})
    assert known.is_known(5)


def test_a_schema_that_a_registry_learns_late_is_waited_for():
    """A registry that follows another lags: its records were dead letters at once."""
    now = [0.0]
    registry = Registry(id1=json.dumps(FIRST))
    known = KnownSchemas(registry=registry, clock=lambda: now[0], unknown_seconds=30.0)
    for now[0] in (0.0, 5.0, 29.0):
        with pytest.raises(SchemasAway, match=r"does not know \[5\]: it is asked for 30 s"):
            known.fetch({1, 5})
        assert known.wanted({1, 5}) == {5}
    registry.texts[5] = json.dumps(SECOND)
    known.fetch({5})
    assert known.is_known(5) and not known.wanted({1, 5})
    assert registry.asked.count(1) == 1


def test_a_schema_that_nobody_knows_for_so_long_makes_dead_letters_and_is_waited_for_once():
    now = [0.0]
    registry = Registry()
    known = KnownSchemas(registry=registry, clock=lambda: now[0], unknown_seconds=30.0)
    with pytest.raises(SchemasAway):
        known.fetch({5})
    now[0] = 30.0
    known.fetch({5})
    assert (known.wanted({5}), known.is_known(5)) == (frozenset(), False)
    now[0] += ASK_AGAIN_SECONDS
    assert known.wanted({5}) == {5}
    known.fetch({5})
    assert known.wanted({5}) == frozenset()


def test_a_schema_with_a_name_of_a_record_column_is_asked_for_again():
    known = KnownSchemas(registry=Registry(id1=json.dumps(FIRST)), taken=["text", "key"])
    with pytest.raises(SchemasAway, match="schema 1 has a field text of its own: leave it out"):
        known.fetch({1})
    assert known.wanted({1}) == {1}


def test_what_will_never_be_an_avro_schema_makes_dead_letters():
    known = KnownSchemas(registry=Registry(id1="{"))
    known.fetch({1, 2})
    assert (known.wanted({1}), known.is_known(1)) == (frozenset(), False)
    assert known.why_unknown(1).startswith("no Avro schema")
    assert known.why_unknown(2) == "nobody knows the schema 2"
