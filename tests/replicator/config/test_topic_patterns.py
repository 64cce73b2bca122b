"""Patterns of topics: what is said for certain holds for every topic."""

import re2
from hypothesis import given
from hypothesis import strategies as st

from replicator.config.topic_patterns import is_below, may_meet, topic_of

PIECES = st.sampled_from(["a", "b", "ab", r"\.", "a*", "b?", "a+", ".*", "[ab]", "a{0,2}", "(a|b)"])
PATTERNS = st.one_of(
    st.lists(PIECES, min_size=1, max_size=4).map("".join),
    st.sampled_from(["a|b", "a.*|b", r"a\.b", ".*", r"a\..*"]),
)
TOPICS = st.text(alphabet="ab.", min_size=1, max_size=5)


@given(PATTERNS, PATTERNS, TOPICS)
def test_a_pattern_below_another_has_no_topic_that_the_other_lacks(
    one: str, other: str, topic: str
) -> None:
    if is_below(one, other) and re2.fullmatch(one, topic):
        assert re2.fullmatch(other, topic)


@given(PATTERNS, PATTERNS, TOPICS)
def test_patterns_that_cannot_meet_have_no_topic_in_common(
    one: str, other: str, topic: str
) -> None:
    if re2.fullmatch(one, topic) and re2.fullmatch(other, topic):
        assert may_meet(one, other)


def test_patterns_below_each_other_and_apart() -> None:
    assert is_below(r"air\.status.*", r"air\..*")
    assert is_below("a+", ".*")
    assert not is_below("air.*", r"air\..*")
    assert not is_below("airport.*", "air..*")
    assert not may_meet("air.*", "sea.*")
    assert not may_meet("air", "airs")
    assert may_meet("air.*", "airs?")


def test_a_pattern_names_a_topic_also_with_escaped_dots() -> None:
    assert topic_of(r"a\.b") == topic_of("a.b") == "a.b"
    assert topic_of("a.*") is None
