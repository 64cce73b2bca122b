"""How daemons and carriers log: one line per event to stderr, key=value, times in UTC."""

from __future__ import annotations

import logging
import time
from collections import Counter
from math import inf

from typing_extensions import override

from replicator.daemon.plain_text import one_line

FORMAT = "%(asctime)s.%(msecs)03dZ level=%(levelname)s pid=%(process)d from=%(name)s %(message)s"
OURS = ("balancer", "replicator", "tui")
RETRYING = "aiokafka"
"""Tries again by itself: no failure of a connection or a request is an error yet."""
SPARED_SECONDS = 60.0
MESSAGES_MAX = 1000
"""That are remembered. Libraries have a fixed number of them, unless they format their own."""


class Lines(logging.Formatter):
    """Formats an event as a line, its traceback included, whatever Kafka's names and texts hold."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(FORMAT, "%Y-%m-%dT%H:%M:%S")

    @override
    def format(self, record: logging.LogRecord) -> str:
        return one_line(super().format(record))


class Sparing(logging.Filter):
    """Spares the log what libraries repeat: of each message of theirs one line in a while.

    A broker that is away makes aiokafka log an error ten times a second. Our own events name such
    trouble once, so the libraries' lines are warnings, and count those that were left out.
    """

    def __init__(self, seconds: float = SPARED_SECONDS) -> None:
        super().__init__()
        self._seconds = seconds
        self._shown_at: dict[tuple[str, str], float] = {}
        self._left_out: Counter[tuple[str, str]] = Counter()

    @override
    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.partition(".")[0] in OURS:
            return True
        message = record.name, str(record.msg)
        if record.created - self._shown_at.get(message, -inf) < self._seconds:
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


def log_to_stderr(level: int = logging.INFO) -> None:
    """Our own lines from `level` on, and of everybody else's warnings what Sparing lets pass.

    Calling it again changes nothing but the level: Spark's Python workers live through many tasks.
    """
    root = logging.getLogger()
    if not any(isinstance(handler.formatter, Lines) for handler in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(Lines())
        handler.addFilter(Sparing())
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(level)
