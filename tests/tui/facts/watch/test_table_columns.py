"""The columns of a table are those that all of its shards have."""

import pytest

from tests.aggregator.formats.slices import table
from tui.facts.watch.table_columns import NoTable, common

ONE, OTHER = table(a="UInt8"), table(a="UInt16")


def test_shards_without_the_table_do_not_count():
    assert common("t", {0: None, 1: ONE}) is ONE


def test_shards_with_the_same_columns_agree():
    assert common("t", {0: ONE, 1: table(a="UInt8")}) == ONE


def test_a_table_that_no_shard_has_is_named():
    with pytest.raises(NoTable, match="no table 't'"):
        common("t", {0: None, 1: None})


def test_shards_that_differ_are_named():
    with pytest.raises(NoTable, match=r"shards\[2\] than in shards\[0\]"):
        common("t", {0: ONE, 1: ONE, 2: OTHER})
