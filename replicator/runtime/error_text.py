"""Text of an error for a log line or a condition."""

from __future__ import annotations


def error_text(error: BaseException) -> str:
    """Returns the text of an error; its class name where it has none, such as a TimeoutError."""
    return str(error) or type(error).__name__
