"""Part of a snapshot: one question to one server, how old its answer is, what is in the way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

STALE_CADENCES = 3
REACH, NOTICES, ORDERS, MEMBERS = "cluster id", "notices", "orders", "members"
REPORTS, ENDS = "reports", "log ends"
BALANCE, COPIES, AUDITS, ANOMALIES = "balance", "groups", "audits", "anomalies"
"""Subjects of questions from whose answers alerts follow."""
THIS_CONSOLE, THIS_MACHINE = "this console", "this machine"
"""Names in place of a server's where nothing but this process and its disk is asked."""
LACKS_RIGHT = "lacks the right"
RIGHT_WORDS = (LACKS_RIGHT, "AUTHORIZATION_FAILED", "grant the right")
"""Words in texts about a right that is missing: ours, Kafka's, and those of admin requests."""
REPORT_FRESH_SECONDS = 15.0
"""Age up to which a report of a carrier or a loader counts; both report about once a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Age of one part of a snapshot. Times are Unix seconds.

    Args:
        server: name for people, such as "west regional".
        about: subject of the question, such as "topics" or "ledger".
        asked_at: when the question was asked whose answer is in the snapshot; None: never answered.
        cadence_seconds: time between two questions.
        problem: why the last question has no answer; None when it has one, or was never asked.
        problem_since: when the problem began.
    """

    server: str
    about: str
    asked_at: float | None = None
    cadence_seconds: float = 0.0
    problem: str | None = None
    problem_since: float | None = None

    @property
    def lacks_right(self) -> bool:
        """True when the server answers, but not to this user."""
        return self.problem is not None and tells_missing_right(self.problem)

    def is_stale(self, now: float) -> bool:
        """Returns True when the answer is older than three cadences, or there is none."""
        if self.asked_at is None:
            return True
        return now - self.asked_at > STALE_CADENCES * max(self.cadence_seconds, 1.0)


def tells_missing_right(problem: str) -> bool:
    """Returns True for the text of a problem that a server refused for want of a right."""
    return any(words in problem for words in RIGHT_WORDS)


def each_once(problems: Iterable[str | None]) -> tuple[str, ...]:
    """Returns problems without repetitions; None is none.

    Texts that differ only in what goes on meanwhile, or what to do, after "; " are one problem.
    """
    found: dict[str, str] = {}
    for text in problems:
        if text:
            found.setdefault(text.partition("; ")[0], text)
    return tuple(found.values())
