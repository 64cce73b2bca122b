"""Claims about text from Kafka on a terminal: it is one line, and nothing in it is invisible."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.runtime.plain_text import one_line, several_lines


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("billing", "billing"),
        ("Zahlungen für Köln, 支払い", "Zahlungen für Köln, 支払い"),
        ("a\nb\r\tc", "a\\nb\\r\\tc"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("a\u2028b\x85c", "a\\u2028b\\x85c"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("\udc80", "\\udc80"),
    ],
)
def test_what_moves_a_cursor_or_hides_is_shown_as_an_escape(text, seen):
    assert one_line(text) == seen


@given(st.text(st.characters()))
def test_whatever_is_in_a_text_it_is_one_printable_line_of_utf_8(text):
    seen = one_line(text)
    assert seen.isprintable()
    assert len(seen.splitlines()) <= 1
    assert seen.encode().decode() == seen
    assert one_line(seen) == seen


@given(st.lists(st.text(st.characters()), min_size=1))
def test_lines_of_our_own_stay_lines(lines):
    plain = [one_line(line) for line in lines]
    assert several_lines("\n".join(plain)) == "\n".join(plain)
