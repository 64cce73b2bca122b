"""A block has one name, whoever inserts it."""

from __future__ import annotations

from dataclasses import replace

from aggregator.store.block_name import BlockName

NAME = BlockName("flights", "west regional", "air-traffic", 3, "departures", 10, 20)


def test_the_name_tells_source_table_and_offsets():
    assert str(NAME) == "sluice-flights-west.regional-air-traffic-3-departures-10-20"


def test_blocks_of_two_logs_have_two_names():
    """Servers with tokens drop a block whose name they have seen."""
    names = {str(replace(NAME, incarnation=each)) for each in (None, 0, 5, 6)}
    assert names == {
        str(NAME),
        "sluice-flights-west.regional-air-traffic-3+5-departures-10-20",
        "sluice-flights-west.regional-air-traffic-3+6-departures-10-20",
    }


def test_a_part_of_the_block_has_a_name_of_its_own_that_begins_with_the_blocks():
    assert NAME.rest("ab") == f"{NAME}-rest-ab"
    assert NAME.rest("ab") != NAME.rest("cd")
