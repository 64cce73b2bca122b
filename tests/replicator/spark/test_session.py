"""Claims about Spark's own log lines, which are made by a pattern of its logging library."""

import re

import pytest

from replicator.spark.session import LOG4J


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2028"]
)
def test_spark_shows_a_space_for_a_character_that_moves_a_cursor_or_hides(character):
    found = re.search(r"%replace\{%m\}\{(.*?)\}\{ \}", LOG4J)
    assert found
    assert re.sub(found[1], " ", f"a{character}b") == "a b"
