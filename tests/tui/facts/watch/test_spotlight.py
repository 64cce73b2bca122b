"""Spotlight: what is on screen, for questions in other threads."""

from tui.facts.watch.spotlight import Spotlight
from tui.pages.page import NO_FOCUS, Focus


def test_nothing_is_on_screen_at_first() -> None:
    spotlight = Spotlight()
    assert (spotlight.topic, spotlight.group, spotlight.topic_of("west>east")) == (None, None, None)
    assert not spotlight.turn(NO_FOCUS)


def test_a_topic_is_on_screen_of_one_route_alone() -> None:
    spotlight = Spotlight()
    assert spotlight.turn(Focus(topic=("west>east", "orders")))
    assert spotlight.topic_of("west>east") == "orders"
    assert spotlight.topic_of("west>west") is None


def test_turning_to_the_same_is_no_change() -> None:
    spotlight = Spotlight()
    focus = Focus(group=("billing", "west", "east"))
    assert spotlight.turn(focus)
    assert not spotlight.turn(focus)
    assert spotlight.group == ("billing", "west", "east")
