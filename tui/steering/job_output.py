"""Output of a job: steps that it reports as JSON lines on stderr, and other lines as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLine:
    """Line of a job's error output.

    Args:
        at_ms: Unix time in milliseconds of a reported step; None for any other line.
        stage: of a reported step, else "".
        left: what is still missing of the stage, where that can be counted.
        text: for people, as it is: not safe for a terminal.
    """

    text: str
    at_ms: int | None = None
    stage: str = ""
    left: int | None = None


@dataclass(frozen=True, slots=True)
class OutputRead:
    """Lines that were read, and the byte offset at which reading goes on."""

    lines: tuple[OutputLine, ...]
    offset: int


def read_lines(content: bytes, offset: int, *, is_whole: bool) -> OutputRead:
    """Returns the complete lines of what was read.

    Args:
        content: bytes of the file from `offset`.
        is_whole: the file grows no more, so a last line without a newline counts as well.
    """
    end = len(content) if is_whole else content.rfind(b"\n") + 1
    return OutputRead(output_lines(content[:end]), offset + end)


def output_lines(content: bytes) -> tuple[OutputLine, ...]:
    """Returns the lines of an error output; bytes that are not UTF-8 are replaced."""
    lines = content.decode(errors="replace").split("\n")
    return tuple(output_line(line) for line in lines if line.strip())


def output_line(line: str) -> OutputLine:
    """Returns a line; any other line than a reported step is text."""
    if not line.startswith("{"):
        return OutputLine(text=line)
    try:
        match json.loads(line):
            case {
                "at_ms": int(at_ms),
                "stage": str(stage),
                "left": int() | None as left,
                "text": text,
            }:
                return OutputLine(text=str(text), at_ms=at_ms, stage=stage, left=left)
    except (ValueError, RecursionError):
        pass
    return OutputLine(text=line)


def result_lines(text: str, count: int) -> list[str]:
    """Returns a result in lines for people: a line for each value, or row of a list.

    Args:
        text: JSON of a command; any other text is returned as it is.
        count: number of lines at most; the last one says how many are left out.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        lines = [line for line in text.split("\n") if line.strip()]
    else:
        lines = _lines_of(value)
    left = len(lines) - count
    return lines if left <= 0 else [*lines[: count - 1], f"... {left + 1} lines more"]


def _lines_of(value: object) -> list[str]:
    match value:
        case dict():
            return [line for key, inner in value.items() for line in _named(str(key), inner)]
        case list():
            return [_row(each) for each in value]
        case _:
            return [str(value)]


def _named(name: str, value: object) -> list[str]:
    match value:
        case list():
            return [f"{name}: {_row(each)}" for each in value] or [f"{name}: none"]
        case _:
            return [f"{name}: {_row(value)}"]


def _row(value: object) -> str:
    """Returns a value in one line; what is nested deeper is only counted."""
    match value:
        case None:
            return "?"
        case dict():
            return ", ".join(f"{key} {_row(inner)}" for key, inner in value.items())
        case list():
            return f"{len(value)} rows"
        case _:
            return str(value)


def last_lines(content: bytes, count: int) -> Sequence[str]:
    """Returns the texts of the last lines."""
    return [line.text for line in output_lines(content)[-count:]]
