"""Conditions that one daemon or carrier has found, kept up to date by the parts that look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from threading import Lock

from replicator.notices.condition import Condition, Kind, Subject

KINDS = frozenset(kind.value for kind in Kind)
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
        # Daemons find conditions in several threads, and the writer's thread reads them.
        self._lock = Lock()
        self._found: dict[Kind, tuple[Condition, ...]] = {}

    def replace(self, kind: Kind, found: Mapping[Subject, str]) -> None:
        """Replaces all conditions of a kind; those that held before keep their beginning.

        Args:
            found: text for people, by subject.
        """
        now_ms = self._now_ms()
        with self._lock:
            since_ms = {each.subject: each.since_ms for each in self._found.get(kind, ())}
            self._found[kind] = tuple(
                Condition.of(kind, subject, text, self.who, since_ms.get(subject, now_ms))
                for subject, text in list(found.items())[:OF_A_KIND_MAX]
            )

    def inherit(self, before: Iterable[Condition]) -> None:
        """Takes over what a predecessor of the same name has found.

        A kind that was not looked for since holds until it is. Others keep their beginnings.
        """
        earlier: dict[Kind, list[Condition]] = {}
        for each in before:
            # A later version's kinds are nobody's here.
            if each.kind in KINDS:
                earlier.setdefault(Kind(each.kind), []).append(each)
        with self._lock:
            for kind, some in earlier.items():
                since_ms = {each.subject: each.since_ms for each in some}
                self._found[kind] = tuple(
                    replace(each, since_ms=since_ms.get(each.subject, each.since_ms))
                    for each in self._found.get(kind, some)
                )

    @property
    def current(self) -> tuple[Condition, ...]:
        """All conditions that hold."""
        with self._lock:
            return tuple(each for some in self._found.values() for each in some)
