"""Patterns of topics, compared with each other without a list of topics."""

from __future__ import annotations

import re

import re2

from replicator.config.settings import re2_options

TOPIC_NAME = re.compile(r"[a-zA-Z0-9._-]+")
_LITERAL = re.compile(r"(?:[a-zA-Z0-9_-]|\\[._-])")
_MAY_BE_LESS = ("*", "?", "{")
"""Signs behind a character that a name need not have."""
_ANYTHING = ".*"


def topic_of(pattern: str) -> str | None:
    """Returns the topic that a pattern names; None if it names none, or several."""
    topic = re.sub(r"\\([._-])", r"\1", pattern)
    return topic if TOPIC_NAME.fullmatch(topic) else None


def is_taken(pattern: str, by: str) -> bool:
    """Returns True if the other pattern matches each topic of the first one for certain."""
    if pattern == by:
        return True
    topic = topic_of(pattern)
    if topic is None:
        return False
    return bool(re2.fullmatch(by, topic, re2_options()))


def is_below(pattern: str, by: str) -> bool:
    """Returns True as `is_taken` does, and if the other pattern takes all names that begin like
    those of the first one: air\\.status.* is below air\\..*"""
    if is_taken(pattern, by):
        return True
    begin = _beginning(by)
    is_open = by == re.sub(r"([.])", r"\\\1", begin) + _ANYTHING
    return is_open and _beginning(pattern).startswith(begin)


def may_meet(one: str, other: str) -> bool:
    """Returns False if no topic matches both patterns for certain."""
    if topic_of(one) is not None:
        return is_taken(one, other)
    if topic_of(other) is not None:
        return is_taken(other, one)
    begins = _beginning(one), _beginning(other)
    return begins[0].startswith(begins[1]) or begins[1].startswith(begins[0])


def _beginning(pattern: str) -> str:
    """Returns the characters with which all topics of a pattern begin, as far as it shows them."""
    if "|" in pattern:
        return ""
    found, at = "", 0
    while literal := _LITERAL.match(pattern, at):
        at = literal.end()
        if pattern.startswith(_MAY_BE_LESS, at):
            break
        found += literal[0][-1]
    return found
