"""Start of a rewind, in each form that an operator may type."""

import pytest

from replicator.audit.window import BadWindow
from tui.orders.topic_rewind import start_of


def test_a_start_is_an_offset_the_beginning_an_instant_or_how_long_ago():
    assert start_of("17") == 17
    assert start_of("earliest") == "earliest"
    assert start_of("2026-11-22T03:00:00Z") == "@1795316400000"
    assert start_of("10m").startswith("@")


def test_another_text_is_refused_with_what_may_be_written():
    with pytest.raises(BadWindow, match="instant"):
        start_of("yesterday")
