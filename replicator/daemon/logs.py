"""How daemons and carriers log: one line per event to stderr, key=value, times in UTC."""

from __future__ import annotations

import logging
import time

from typing_extensions import override

FORMAT = "%(asctime)s.%(msecs)03dZ level=%(levelname)s pid=%(process)d from=%(name)s %(message)s"
OURS = ("balancer", "replicator", "tui")


class Lines(logging.Formatter):
    """A traceback follows its line; everything else is one line."""

    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__(FORMAT, "%Y-%m-%dT%H:%M:%S")

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = record.message.replace("\n", " ")
        return super().formatMessage(record)


def log_to_stderr(level: int = logging.INFO) -> None:
    """Our own lines from `level` on, everybody else's warnings. Calling it again changes nothing
    but the level: Spark's Python workers live through many tasks.
    """
    root = logging.getLogger()
    if not any(isinstance(handler.formatter, Lines) for handler in root.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(Lines())
        root.addHandler(handler)
    root.setLevel(logging.WARNING)
    for name in OURS:
        logging.getLogger(name).setLevel(level)
