"""Answers of servers as facts. Real servers: tests/live/test_doctor.py."""

from __future__ import annotations

from collections.abc import Iterator

from tui.state.exactness import Diagnosis, Kind, Verdict
from tui.state.exactness_probe import answered, coordinates

DIAGNOSIS = Diagnosis(Verdict.POSSIBLE, Kind.CLOCK, "one", "15 s ahead", "synchronise the clocks")


def test_a_dead_letter_names_its_record_among_other_headers():
    headers = [
        ("topic", b"other"),
        ("sluice.topic", "töpic".encode()),
        ("sluice.partition", b"3"),
        ("sluice.offset", b"70"),
    ]
    assert coordinates(headers) == ("töpic", 3, 70)


def test_a_record_that_is_no_dead_letter_names_none():
    assert coordinates([]) is None
    assert coordinates([("sluice.topic", b"t"), ("sluice.partition", None)]) is None


def test_a_server_that_fails_is_named_once_and_what_it_told_before_counts():
    def told(text: str) -> Iterator[Diagnosis]:
        yield DIAGNOSIS
        raise OSError(text)

    assert answered("one", lambda: told("away")) == ([DIAGNOSIS], "one: away")
    assert answered("one", lambda: told("one is away")) == ([DIAGNOSIS], "one is away")
