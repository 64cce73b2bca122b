"""Log lines and texts for a terminal: one line each, with nothing invisible in it."""

import logging
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.runtime.logs import SPARED_SECONDS, Lines, Sparing, log_to_stderr
from replicator.runtime.plain_text import one_line, several_lines

# -- Log lines: one per event, whatever is in it, and never twice.


@pytest.fixture
def untouched_root():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:], root.level = handlers, level


def test_an_event_is_one_line_even_when_its_text_has_several():
    record = logging.LogRecord("replicator.x", logging.INFO, "", 1, "event=a %s", ("b\nc",), None)
    line = Lines().format(record)
    assert line.endswith(f"level=INFO pid={record.process} from=replicator.x event=a b\\nc")
    assert line[:4].isdigit() and line[23] == "Z"


@given(st.text(st.characters()))
def test_whatever_is_in_an_event_it_is_one_line_without_control_characters(text):
    record = logging.LogRecord("replicator.x", logging.INFO, "", 1, "event=a %s", (text,), None)
    line = Lines().format(record)
    assert line.isprintable()
    assert len(line.splitlines()) == 1


def test_a_traceback_is_on_the_line_of_its_event():
    try:
        raise ValueError("\n2026-11-23T00:00:00.000Z level=INFO event=forged \x1b[2J")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("replicator.x", logging.ERROR, "", 1, "event=failed", (), error)
    line = Lines().format(record)
    assert line.isprintable()
    assert re.search(r"event=failed\\nTraceback .*\\nValueError: \\n2026.* \\x1b\[2J$", line)


def test_asking_for_logs_again_never_doubles_the_lines(untouched_root):
    untouched_root.handlers.clear()
    log_to_stderr()
    log_to_stderr()
    assert len(untouched_root.handlers) == 1


def said(sparing: Sparing, name: str, text: str, at: float, *of: object) -> str | None:
    """Returns the level and message of the line logged at that time; None if it is left out."""
    record = logging.LogRecord(name, logging.ERROR, "", 1, text, of, None)
    record.created = at
    return f"{record.levelname} {record.getMessage()}" if sparing.filter(record) else None


def test_what_a_library_repeats_is_one_warning_in_a_while_with_the_number_left_out():
    sparing, away = Sparing(), "Unable connect to node with id %s: %s"
    assert said(sparing, "aiokafka", away, 0.0, 1, "x") == (
        "WARNING Unable connect to node with id 1: x"
    )
    for number in range(1, 100):
        assert said(sparing, "aiokafka", away, number / 10, 1, "x") is None
    assert said(sparing, "aiokafka", "another", 10.0) == "WARNING another"
    assert said(sparing, "aiokafka", away, SPARED_SECONDS, 2, "y") == (
        "WARNING Unable connect to node with id 2: y (99 more like it were left out)"
    )


def test_our_own_lines_are_never_left_out_and_an_error_of_another_library_stays_one():
    sparing = Sparing()
    for _ in range(3):
        assert said(sparing, "replicator.x", "event=a", 0.0) == "ERROR event=a"
    assert said(sparing, "asyncio", "surprise", 0.0) == "ERROR surprise"


def test_the_lines_on_stderr_are_spared(untouched_root, capsys):
    untouched_root.handlers.clear()
    log_to_stderr()
    for _ in range(3):
        logging.getLogger("aiokafka").error("away")
    assert capsys.readouterr().err.count("away") == 1


# -- Text from Kafka on a terminal: it is one line, and nothing in it is invisible.


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
