"""Logs of daemons and carriers: one line per event to stderr, key=value, times in UTC."""

from __future__ import annotations

import logging
import time
from collections import Counter
from math import inf

from typing_extensions import override

from replicator.runtime.plain_text import one_line

FORMAT = "%(asctime)s.%(msecs)03dZ level=%(levelname)s pid=%(process)d from=%(name)s %(message)s"
OURS = ("aggregator", "balancer", "replicator", "tui")
RETRYING = "aiokafka"
"""Library that retries by itself: its failed connections and requests are no errors yet."""
SPARED_SECONDS = 60.0
MESSAGES_MAX = 1000
"""Limit of the messages remembered. Libraries have a fixed number, unless they format their own."""


class Lines(logging.Formatter):
    """Formats an event and its traceback as one line, whatever Kafka's names and texts contain."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(FORMAT, "%Y-%m-%dT%H:%M:%S")

    @override
    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))


class Sparing(logging.Filter):
    """Filter that lets each message of other libraries pass once a minute.

    A broker that does not answer makes aiokafka log an error ten times a second. Our own events
    report such trouble once. So aiokafka's errors become warnings, and a line tells how many like
    it were left out.
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown_at: dict[tuple[str, str], float] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] in OURS:
            return True
        message = record.name, str(record.msg)
        if record.created - self._shown_at.get(message, -inf) < SPARED_SECONDS:
            self._left_out[message] += 1
            return False
        if len(self._shown_at) >= MESSAGES_MAX:
            self._shown_at.clear()
            self._left_out.clear()
        self._shown_at[message] = record.created
        if record.name.startswith(RETRYING) and record.levelno > logging.WARNING:
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        if count := self._left_out.pop(message, 0):
            record.msg = f"{record.msg} ({count} more like it were left out)"
        return True


def log_to_stderr() -> None:
    """Logs our own events, and of other modules the warnings that Sparing lets pass.

    A further call changes nothing: Spark's Python workers live through many tasks.
    """
    root = logging.getLogger()
    if not any(isinstance(handler.formatter, Lines) for handler in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(Lines())
        handler.addFilter(Sparing())
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(logging.INFO)
