"""Intake of fetched records: a frozen table stops reading in front of its next record."""

import pytest

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import TableRange
from aggregator.loader.fetch_intake import FrozenRecord, next_frozen
from replicator.kafka.client.custody import Custody
from tests.aggregator.formats.slices import slice_of

TABLES = {"a": slice_of([b"{}"] * 3, first=10), "b": slice_of([b"{}"] * 5, first=12)}


def intent(**tables: TableRange) -> Intent:
    return Intent(
        custody=Custody.HELD, offset=10, tables=tables, reference=0, transactional_id="loader"
    )


@pytest.mark.parametrize(
    ("before", "frozen", "found"),
    [
        (intent(), [], None),
        (intent(), ["a"], FrozenRecord(10, "a")),
        (intent(), ["b", "a"], FrozenRecord(10, "a")),
        (intent(), ["b"], FrozenRecord(12, "b")),
        (intent(b=TableRange(14, 14)), ["b"], FrozenRecord(14, "b")),
        (intent(b=TableRange(12, 15, 3)), ["b"], FrozenRecord(15, "b")),
        (intent(a=TableRange(10, 13, 3)), ["b"], FrozenRecord(13, "b")),
        (intent(a=TableRange(10, 13, 3)), ["a"], None),
    ],
)
def test_what_a_predecessor_had_read_is_no_reason_to_stop(before, frozen, found):
    assert next_frozen(before, TABLES, frozen) == found
