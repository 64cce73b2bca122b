"""Conditions that one daemon or carrier has found, kept up to date by the parts that look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from replicator.notices.condition import Condition, Subject

OF_A_KIND_MAX = 1000
"""Conditions of one kind that are kept: whoever reads thousands reads none."""


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class Conditions:
    """Conditions of one finder.

    Args:
        who: the finder, for people, such as "replicate east".
        now_ms: Unix time in milliseconds.
    """

    def __init__(self, who: str, now_ms: Callable[[], int] = _now_ms) -> None:
        self.who = who
        self._now_ms = now_ms
        # Replaced as a whole, so that another thread may read at any time.
        self._found: dict[str, tuple[Condition, ...]] = {}
        self._before: dict[tuple[str, Subject], int] = {}

    def replace(self, kind: str, found: Mapping[Subject, str]) -> None:
        """Replaces all conditions of a kind; those that held before keep their beginning.

        Args:
            found: text for people, by subject.
        """
        since_ms = {each.subject: each.since_ms for each in self._found.get(kind, ())}
        if kind not in self._found:
            since_ms |= {it: at_ms for (of, it), at_ms in self._before.items() if of == kind}
        now_ms = self._now_ms()
        conditions = tuple(
            Condition.of(kind, subject, text, self.who, since_ms.get(subject, now_ms))
            for subject, text in list(found.items())[:OF_A_KIND_MAX]
        )
        self._found = {**self._found, kind: conditions}

    def inherit(self, before: Iterable[Condition]) -> None:
        """Takes over the beginnings of conditions that a predecessor of the same name has found."""
        earlier = {(each.kind, each.subject): each.since_ms for each in before}
        self._before = earlier
        self._found = {
            kind: tuple(
                replace(
                    each,
                    since_ms=min(each.since_ms, earlier.get((kind, each.subject), each.since_ms)),
                )
                for each in some
            )
            for kind, some in self._found.items()
        }

    @property
    def current(self) -> tuple[Condition, ...]:
        """All conditions that hold."""
        return tuple(each for some in self._found.values() for each in some)
