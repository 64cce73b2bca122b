"""Event: something that happened to a daemon or that an operator did, as a value."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import asdict, dataclass
from typing import Self

from pydantic import TypeAdapter

TEXT_MAX = 2000
KIND = re.compile(r"event=(?P<kind>[a-z0-9-]+)\s*(?P<text>.*)", re.DOTALL)
OTHER = "log"
"""Kind of log lines of libraries, which name none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Event of one process.

    Args:
        at_ms: Unix time in milliseconds.
        level: of the log, in lower case: info, warning, error.
        who: the daemon, carrier or operator.
        result: of what an operator did, such as an exit code's name; "" for events of logs.
    """

    at_ms: int
    kind: str
    level: str
    who: str
    text: str
    result: str = ""

    @classmethod
    def of(cls, record: logging.LogRecord, who: str) -> Self:
        """Returns the event of a log line."""
        message = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            message = f"{message} {type(error).__name__}: {error}"
        match = KIND.fullmatch(message)
        return cls(
            at_ms=int(record.created * 1000),
            kind=match["kind"] if match else OTHER,
            level=record.levelname.lower(),
            who=who,
            text=(match["text"] if match else message)[:TEXT_MAX],
        )

    def to_json(self) -> str:
        """Returns the event as compact JSON."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> Event:
        """Parses it; fields of later versions are left out. Raises ValueError."""
        return PARSER.validate_json(text)


PARSER = TypeAdapter(Event)
