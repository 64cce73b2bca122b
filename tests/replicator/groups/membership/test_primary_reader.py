"""Invalid records are left out, and logged once."""

from __future__ import annotations

import logging

from replicator.groups.membership.primary_reader import PrimaryReader
from replicator.groups.membership.primary_region import PrimaryRegion, encode

RECORD = PrimaryRegion("orders", "west", 1, 1000, "ann@ops", "lives here")


def test_each_kind_of_unreadable_record_is_logged_once_with_its_first_position(caplog):
    reader = PrimaryReader("west aggregate")
    later = encode(RECORD).replace('"sluice":1', '"sluice":2')
    with caplog.at_level(logging.WARNING):
        for offset, text in enumerate(["{}", "x", later, later, "[1]"]):
            assert reader.read(text, f"at {offset}") is None
        assert reader.read(encode(RECORD), "at 5") == RECORD
    said = [record.getMessage() for record in caplog.records]
    assert [line.split(": ")[1] for line in said] == ["at 0", "at 2"]
    assert all(line.startswith("event=decision-unreadable west aggregate") for line in said)
