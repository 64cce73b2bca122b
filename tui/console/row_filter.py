"""Filter of rows: a regular expression that an operator types, or words that all have to be there.

RE2 takes time in proportion to the text, whatever the expression: none can hold the console up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import re2


class BadFilter(Exception):
    """The filter is no regular expression. Show the message."""


Matcher = Callable[[str], bool]


def matcher_of(text: str) -> Matcher | None:
    """Returns whether a row is kept, by its text; None for a filter that keeps all.

    Args:
        text: regular expression of RE2, upper or lower case; a leading `!` inverts it.

    Raises:
        BadFilter: RE2 does not take the expression.
    """
    is_inverted = text.startswith("!")
    expression = text[1:] if is_inverted else text
    if not expression:
        return None
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    try:
        pattern = re2.compile(encodable(expression), options)
    except re2.error as error:
        raise BadFilter(f"no regular expression: {_reason(error)}") from None
    return lambda row: (pattern.search(encodable(row)) is None) == is_inverted


def words_matcher(words: Sequence[str]) -> Matcher | None:
    """Returns whether a text has all words, in any order; None without words."""
    wanted = [word.casefold() for word in words]
    if not wanted:
        return None
    return lambda row: all(word in row.casefold() for word in wanted)


def encodable(text: str) -> str:
    """Returns the text with "?" for halves of characters, which RE2 does not take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def escaped(text: str) -> str:
    """Returns the expression that finds a text as it is."""
    found: str = re2.escape(encodable(text))
    return found


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
