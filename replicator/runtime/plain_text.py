"""Plain text: text from Kafka as people may see it, with escapes for all that is not printable.

Group names, client ids, `who` and `why` of orders, and brokers' messages are bytes that others
chose. A newline in one forges a log line, ESC repaints a terminal, and a bidi override reverses the
text after it.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    """Returns the text with an escape, such as \\n or \\x1b, for each unprintable character."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def several_lines(text: str) -> str:
    """Returns the same for a text of our own making, whose newlines are intended."""
    return "\n".join(map(one_line, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
