"""Cards of daemons, and events of their log lines."""

import logging
import os
import socket
import sys

import pytest

from replicator.notices.daemon_card import DaemonCard
from replicator.notices.event import TEXT_MAX, Event
from replicator.notices.own_card import own_card

# -- Cards of daemons: who runs where.

CARD = DaemonCard(
    role="balance", region="east", version="0.2.0", host="bal-1", pid=47, since_ms=1000
)


def test_a_card_names_its_process_among_all_of_the_region():
    assert CARD.who == "balance east bal-1:47"


def test_cards_are_read_as_they_were_written_and_later_fields_left_out():
    assert DaemonCard.from_json(CARD.to_json()) == CARD
    assert DaemonCard.from_json(CARD.to_json()[:-1] + ',"colour":"red"}') == CARD


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_of_a_card_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        DaemonCard.from_json(text)


# -- Card of this very process.


def test_the_own_card_names_this_process():
    card = own_card("balance", "east", "balances west>east")
    assert (card.host, card.pid) == (socket.gethostname(), os.getpid())
    assert card.who == f"balance east {card.host}:{card.pid}"
    assert card.version


# -- Events of log lines: kind and text, as daemons log them.


def record(message, *arguments, level=logging.WARNING, error=None):
    return logging.LogRecord("replicator", level, __file__, 1, message, arguments, error)


def test_kind_and_text_are_those_of_the_line():
    line = record("event=source-silent %s: no answer", "west regional", level=logging.ERROR)
    event = Event.of(line, "replicate east")
    assert (event.kind, event.text) == ("source-silent", "west regional: no answer")
    assert (event.level, event.who) == ("error", "replicate east")
    assert event.at_ms == int(line.created * 1000)


def test_a_line_of_a_library_is_an_event_too():
    event = Event.of(record("disk full"), "balance east")
    assert (event.kind, event.text) == ("log", "disk full")


def test_an_error_is_named():
    try:
        raise ValueError("broken")
    except ValueError:
        event = Event.of(record("event=failed", error=sys.exc_info()), "balance east")
    assert (event.kind, event.text) == ("failed", "ValueError: broken")


def test_a_long_text_is_cut():
    assert len(Event.of(record("event=failed " + "x" * 9000), "balance east").text) == TEXT_MAX


def test_events_are_read_as_they_were_written_and_later_fields_left_out():
    event = Event.of(record("event=failed x"), "balance east")
    assert Event.from_json(event.to_json()) == event
    assert Event.from_json(event.to_json()[:-1] + ',"colour":"red"}') == event


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_of_an_event_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        Event.from_json(text)
