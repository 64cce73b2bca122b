"""Positions of a route: no end is compared with an entry that was read after it."""

from __future__ import annotations

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Route
from replicator.mirror.ledger.ledger_reader import Entries
from tests.replicator.mirror.ledger.held import held
from tui.facts.watch.question import Answer, Answers, Key
from tui.facts.watch.route_positions import Positions, RoutePositions
from tui.facts.watch.route_questions import (
    FocusedTopic,
    ends_key,
    focused_ends_key,
    focused_ledger_key,
    ledger_key,
)

ROUTE = Route("west", "east")
PLACE, OTHER = TopicPartition("orders", 0), TopicPartition("clicks", 0)
LEDGER, ENDS = ledger_key(ROUTE), ends_key(ClusterName.regional("west"))
SHOWN_LEDGER, SHOWN_ENDS = focused_ledger_key(ROUTE), focused_ends_key(ROUTE)
REFUSED = "west regional: refused"


def entries(offset: int, place: TopicPartition = PLACE) -> Entries:
    return Entries({place: held(source_offset=offset, target_offset=offset)})


def offset(found: Positions, place: TopicPartition = PLACE) -> int:
    assert found.entries is not None
    return found.entries.read[place].source_offset


def told(**answers: Answer) -> Answers:
    names: dict[str, Key] = {
        "ledger": LEDGER, "ends": ENDS, "shown_ledger": SHOWN_LEDGER, "shown_ends": SHOWN_ENDS
    }  # fmt: skip
    return Answers({names[name]: answer for name, answer in answers.items()})


def test_before_any_answer_nothing_is_known() -> None:
    assert RoutePositions(ROUTE).read(Answers({})) == Positions(None, None, False)


def test_until_newer_ends_come_the_entries_before_them_count() -> None:
    one, ends = RoutePositions(ROUTE), Answer({PLACE: 100}, 12.0)
    one.read(told(ledger=Answer(entries(70), 10.0), ends=ends))
    found = one.read(told(ledger=Answer(entries(99), 20.0), ends=ends))
    assert (offset(found), found.are_ends_older) == (70, False)
    later = Answer({PLACE: 130}, 22.0)
    found = one.read(told(ledger=Answer(entries(99), 20.0), ends=later))
    assert (offset(found), found.ends, found.are_ends_older) == (99, {PLACE: 130}, False)


@pytest.mark.parametrize("ends_arrive_first", [True, False])
def test_entries_that_always_come_a_moment_after_the_ends_are_one_answer_old(
    ends_arrive_first: bool,
) -> None:
    one, read = RoutePositions(ROUTE), []
    ledger, ends = Answer(entries(0), 0.0), Answer({PLACE: 0}, 1.0)
    one.read(told(ledger=ledger, ends=ends))
    for at in range(10, 60, 10):
        next_ledger, next_ends = Answer(entries(at), at + 0.1), Answer({PLACE: at}, at + 0.0)
        half = (ledger, next_ends) if ends_arrive_first else (next_ledger, ends)
        one.read(told(ledger=half[0], ends=half[1]))
        ledger, ends = next_ledger, next_ends
        read.append(offset(one.read(told(ledger=ledger, ends=ends))))
    assert read == [0, 10, 20, 30, 40]


def test_first_entries_that_are_newer_than_the_ends_count_and_say_so() -> None:
    ledger, ends = Answer(entries(99), 20.0), Answer({PLACE: 100}, 12.0)
    found = RoutePositions(ROUTE).read(told(ledger=ledger, ends=ends))
    assert (offset(found), found.are_ends_older) == (99, True)


def test_when_the_ends_fail_the_last_entries_count_and_say_so() -> None:
    one = RoutePositions(ROUTE)
    one.read(told(ledger=Answer(entries(70), 10.0), ends=Answer({PLACE: 100}, 12.0)))
    failed = Answer({PLACE: 100}, 12.0, REFUSED, 22.0)
    found = one.read(told(ledger=Answer(entries(70), 10.0), ends=failed))
    assert (offset(found), found.are_ends_older) == (70, False)
    found = one.read(told(ledger=Answer(entries(99), 20.0), ends=failed))
    assert (offset(found), found.are_ends_older) == (99, True)


def test_the_topic_on_screen_is_as_it_was_read_last() -> None:
    whole = {"ledger": Answer(entries(70), 10.0), "ends": Answer({PLACE: 100, OTHER: 5}, 12.0)}
    shown_ends = Answer(FocusedTopic("orders", ends={PLACE: 120}), 16.0)
    one = RoutePositions(ROUTE)
    shown = Answer(FocusedTopic("orders", entries=entries(95)), 15.0)
    found = one.read(told(**whole, shown_ledger=shown, shown_ends=shown_ends))
    assert (offset(found), found.ends) == (95, {PLACE: 120, OTHER: 5})
    newer = Answer(FocusedTopic("orders", entries=entries(119)), 17.0)
    found = one.read(told(**whole, shown_ledger=newer, shown_ends=shown_ends))
    assert (offset(found), found.ends) == (95, {PLACE: 120, OTHER: 5})


def test_entries_on_screen_without_ends_as_new_do_not_count() -> None:
    whole = {"ledger": Answer(entries(70), 10.0), "ends": Answer({PLACE: 100}, 12.0)}
    shown = Answer(FocusedTopic("orders", entries=entries(95)), 15.0)
    assert offset(RoutePositions(ROUTE).read(told(**whole, shown_ledger=shown))) == 70
    other = Answer(FocusedTopic("clicks", ends={OTHER: 5}), 16.0)
    found = RoutePositions(ROUTE).read(told(**whole, shown_ledger=shown, shown_ends=other))
    assert offset(found) == 70


def test_an_entry_that_can_be_read_again_is_no_longer_unreadable() -> None:
    whole = Entries({}, {PLACE: "version 9"})
    found = RoutePositions(ROUTE).read(
        told(
            ledger=Answer(whole, 10.0),
            ends=Answer({PLACE: 100}, 12.0),
            shown_ledger=Answer(FocusedTopic("orders", entries=entries(95)), 15.0),
            shown_ends=Answer(FocusedTopic("orders", ends={PLACE: 120}), 16.0),
        )
    )
    assert found.entries is not None
    assert (offset(found), found.entries.unreadable) == (95, {})


def test_a_topic_on_screen_lacks_the_entries_that_it_lacked_when_it_was_read_last() -> None:
    def read(shown: Entries) -> Positions:
        return RoutePositions(ROUTE).read(
            told(
                ledger=Answer(Entries({}, {}, {"orders": 0, "clicks": 2}), 10.0),
                ends=Answer({PLACE: 100}, 12.0),
                shown_ledger=Answer(FocusedTopic("orders", entries=shown), 15.0),
                shown_ends=Answer(FocusedTopic("orders", ends={PLACE: 120}), 16.0),
            )
        )

    for shown, lacking in ((entries(95), {"clicks": 2}), (Entries({}, {}, {"orders": 1}), None)):
        found = read(shown).entries
        assert found is not None
        assert found.adopted == (lacking or {"orders": 1, "clicks": 2})
