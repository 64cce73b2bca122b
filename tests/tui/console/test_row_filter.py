"""Filter of rows: expressions of operators, and words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.console.row_filter import BadFilter, escaped, matcher_of, words_matcher

ANY = st.text(st.characters(exclude_categories=()), min_size=1, max_size=30)


def test_an_exclamation_mark_inverts_a_filter():
    matches = matcher_of("!orders-[0-9]+")
    assert matches is not None
    assert not matches("ORDERS-17") and matches("trades")


@pytest.mark.parametrize("text", ["", "!"])
def test_an_empty_filter_keeps_all(text):
    assert matcher_of(text) is None
    assert words_matcher([]) is None


@pytest.mark.parametrize("text", ["orders[", r"(a)\1", "(?=a)", "\udc80["])
def test_a_filter_that_is_no_regular_expression_is_told(text):
    with pytest.raises(BadFilter, match="no regular expression: "):
        matcher_of(text)


def test_no_expression_holds_the_console_up():
    matches = matcher_of(r"^(\w+\s?)*\$")
    assert matches is not None
    began = time.perf_counter()
    assert not matches("orders " * 1000 + "!")
    assert time.perf_counter() - began < 1.0


def test_all_words_have_to_be_there_in_any_order():
    matches = words_matcher(["East", "orders"])
    assert matches is not None
    assert matches("topic Orders east>west") and not matches("topic orders west>west")


@given(ANY, ANY)
def test_an_escaped_text_finds_itself_whatever_is_in_it(text, around):
    matches = matcher_of(escaped(text))
    assert matches is not None and matches(around + text)
