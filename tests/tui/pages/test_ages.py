"""Ages: of the oldest answer, STALE after three cadences."""

from dataclasses import replace

import pytest

from tests.tui.console import snapshots
from tui.facts.part import Part
from tui.pages.ages import age_text, data_age

NOW = snapshots.NOW


def test_the_age_is_that_of_the_oldest_answer():
    assert data_age(snapshots.healthy(), NOW).text == "data 1.2 s old"


def test_a_part_older_than_three_cadences_makes_the_data_stale():
    assert data_age(snapshots.stale(), NOW).text == "STALE, data 5:00 old"
    assert data_age(snapshots.stale(), NOW).tone == "bad"


def test_topic_lists_count_only_when_they_are_stale():
    found = snapshots.healthy()
    listed = Part(server="east regional", about="topics", asked_at=NOW - 58, cadence_seconds=30.0)
    partly = replace(found, parts=(*found.parts, listed))
    assert data_age(partly, NOW).text == "data 1.2 s old"
    assert data_age(partly, NOW + 40).text == "STALE, data 1:38 old"
    assert data_age(replace(found, parts=(listed,)), NOW).text == "data 58 s old"


def test_no_answer_is_not_taken_for_a_fresh_one():
    assert data_age(snapshots.empty(), NOW).text == "no answer yet"
    found = snapshots.healthy()
    partly = replace(found, parts=(*found.parts, *snapshots.empty().parts[:2]))
    assert data_age(partly, NOW).text == "data 1.2 s old, 2 not yet"


def test_a_question_that_is_refused_is_not_awaited():
    found = snapshots.healthy()
    refused = Part(server="east Redis", about="cards", problem="east Redis: NOPERM")
    partly = replace(found, parts=(*found.parts, refused))
    assert data_age(partly, NOW).text == "data 1.2 s old, 1 refused"
    both = replace(found, parts=(*partly.parts, replace(refused, problem=None)))
    assert data_age(both, NOW).text == "data 1.2 s old, 1 refused, 1 not yet"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-1, "0.0 s"), (1.24, "1.2 s"), (34.9, "34 s"), (302, "5:02"), (11_520, "3 h 12 min"),
     (187_300, "2 d 4 h"), (float("inf"), "?"), (float("nan"), "?")],
)  # fmt: skip
def test_ages_for_people(seconds, text):
    assert age_text(seconds) == text
