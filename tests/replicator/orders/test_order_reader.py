"""Records of the topic sluice.balance as they are read, flawed ones included."""

import logging
import re

import pytest

from replicator.orders.order_reader import OrderReader
from replicator.orders.order_records import Pin, Stream, encode, key_of

SAID = {"route": "west.east", "at_ms": 0, "who": "ann@ops"}
PIN = Pin(**SAID, topic="orders", partition=0, carrier=1)
NO_PATTERN = Stream(**SAID, name="money", topics=("a(",), first_carrier=1000)


def test_records_and_tombstones_are_read_by_their_keys():
    key = key_of(PIN)
    assert OrderReader().read(key, encode(PIN), "here") == (key, PIN)
    assert OrderReader().read(key, None, "here") == (key, None)
    assert OrderReader().read(None, encode(PIN), "here") is None


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        (key_of(NO_PATTERN), encode(NO_PATTERN), "event=order-flawed here: .* RE2 pattern"),
        (key_of(NO_PATTERN), encode(PIN), "event=order-flawed here: .*belongs to another"),
        (b"[]", b"nonsense", "event=order-unreadable here: "),
    ],
)
def test_a_flawed_record_is_named_once_and_left_out(key, value, named, caplog):
    caplog.set_level(logging.WARNING, "replicator")
    reader = OrderReader()
    assert reader.read(key, value, "here") is reader.read(key, value, "here") is None
    (record,) = caplog.records
    assert re.search(named, record.getMessage())
