"""Attempts: a part that fails is left out, and told until it can be made again."""

from tui.facts.part import THIS_CONSOLE
from tui.facts.watch.assembly import Attempts


def failing() -> str:
    raise KeyError("x")


def test_what_can_be_made_is_made() -> None:
    attempts = Attempts()
    assert attempts.made("groups", lambda: "all", "none", now=1.0) == "all"
    assert attempts.failed == ()


def test_what_fails_is_replaced_and_told_since_it_began() -> None:
    attempts = Attempts()
    assert attempts.made("groups", failing, "none", now=1.0) == "none"
    assert attempts.made("groups", failing, "none", now=2.0) == "none"
    (part,) = attempts.failed
    assert (part.server, part.about, part.asked_at) == (THIS_CONSOLE, "groups", 2.0)
    assert part.problem == "this console: groups cannot be shown: KeyError: 'x'"
    assert part.problem_since == 1.0
    attempts.made("groups", lambda: "all", "none", now=3.0)
    assert attempts.failed == ()
