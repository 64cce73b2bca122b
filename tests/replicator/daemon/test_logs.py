"""Claims about log lines: one per event, whatever is in it, and never twice."""

import logging

import pytest

from replicator.daemon.logs import Lines, log_to_stderr


@pytest.fixture
def untouched_root():
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:], root.level = handlers, level


def test_an_event_is_one_line_even_when_its_text_has_several():
    record = logging.LogRecord("replicator.x", logging.INFO, "", 1, "event=a %s", ("b\nc",), None)
    line = Lines().format(record)
    assert line.endswith(f"level=INFO pid={record.process} from=replicator.x event=a b c")
    assert line[:4].isdigit() and line[23] == "Z"


def test_asking_for_logs_again_never_doubles_the_lines(untouched_root):
    untouched_root.handlers.clear()
    log_to_stderr()
    log_to_stderr()
    assert len(untouched_root.handlers) == 1
