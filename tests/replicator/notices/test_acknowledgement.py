"""Acknowledgements as values: when they are over, and the way to Redis between versions."""

import pytest

from replicator.notices.acknowledgement import HOLDS_MS, Acknowledgement

SEEN = Acknowledgement(key="parked/west>east/orders/", who="ann@ops", why="looking", at_ms=1000)
SILENT = Acknowledgement(key="copies/east", who="bob@ops", why="move", at_ms=1000, until_ms=5000)


def test_an_acknowledgement_holds_for_a_week_at_most():
    assert not SEEN.is_over(1000 + HOLDS_MS - 1)
    assert SEEN.is_over(1000 + HOLDS_MS)


def test_a_silence_holds_until_its_end():
    assert not SILENT.is_over(4999)
    assert SILENT.is_over(5000)


@pytest.mark.parametrize("given", [SEEN, SILENT])
def test_it_is_read_as_it_was_written_and_later_fields_are_left_out(given):
    assert Acknowledgement.from_json(given.to_json()) == given
    assert Acknowledgement.from_json(given.to_json()[:-1] + ',"colour":"red"}') == given


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        Acknowledgement.from_json(text)
