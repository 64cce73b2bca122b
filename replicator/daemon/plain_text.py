"""Text from Kafka as people may see it: whatever moves a cursor or hides is shown as an escape.

Group names, client ids, `who` and `why` of orders, and brokers' messages are bytes of somebody
else's choice. A newline in one forges a log line, ESC repaints a terminal, a bidi override
reverses what follows it.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    """The text, with an escape such as \\n or \\x1b for each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def several_lines(text: str) -> str:
    """The same of a text of our own making whose newlines are meant."""
    return "\n".join(map(one_line, text.split("\n")))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
