"""Finding log: what the verifier found goes to the log at once, to the console's board later."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from typing import Any, Protocol

from aggregator.verifier.cluster_judge import Judgement
from aggregator.verifier.finding import Weight
from replicator.kafka.protocol.commit_record import Commit
from replicator.runtime.report_once import Troubles
from replicator.runtime.store_errors import StoreUnreachable

logger = logging.getLogger(__name__)

BOARD_SECONDS = 1.0
WAITING_MAX = 200
"""Rows that wait for the board; while Redis is away older ones are dropped."""
METADATA_CHARACTERS_MAX = 1500


class Board(Protocol):
    """Board to which rows go."""

    @property
    def name(self) -> str: ...

    def add(self, rows: list[dict[str, Any]]) -> None:
        """Adds rows, the newest last. Raises StoreUnreachable."""


class FindingLog:
    """Takes the judgements of all clusters; run() hands them to the board, in a thread of its own.

    Entries that could not be judged are many at a start, and are logged as a number.
    """

    def __init__(self, board: Board, stopping: threading.Event | None = None) -> None:
        self.name = "alerts"
        self.dropped = 0
        """Rows that never came to the board."""
        self._board = board
        self._stopping = stopping or threading.Event()
        self._waiting: deque[dict[str, Any]] = deque()
        self._unknown: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._troubles = Troubles()

    def take(self, judgement: Judgement) -> None:
        """Logs a judgement with its entries side by side; called from several threads."""
        weights = {each.weight for each in judgement.findings}
        if weights == {Weight.UNKNOWN}:
            with self._lock:
                reason = judgement.findings[0].text
                self._unknown[judgement.subject.cluster, reason] += 1
            return
        is_anomaly = Weight.ANOMALY in weights
        logger.log(
            logging.ERROR if is_anomaly else logging.WARNING,
            "event=%s kind=%s %s: %s; before: %s; after: %s",
            "anomaly" if is_anomaly else "accepted",
            ",".join(dict.fromkeys(each.kind for each in judgement.findings)),
            judgement.subject,
            "; ".join(map(str, judgement.findings)),
            shown(judgement.before),
            shown(judgement.after),
        )
        with self._lock:
            if len(self._waiting) >= WAITING_MAX:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(row(judgement))

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> None:
        """Hands over until stop() is called."""
        while not self._stopping.wait(BOARD_SECONDS):
            self.hand_over()
        self.hand_over()

    def hand_over(self) -> None:
        """Hands over what waits; while the board is away it waits on."""
        with self._lock:
            rows, unknown = list(self._waiting), self._unknown
            self._waiting.clear()
            self._unknown = Counter()
        for (cluster, reason), count in unknown.items():
            logger.warning("event=entries-unknown %s entries=%d: %s", cluster, count, reason)
        if not rows:
            return
        try:
            self._board.add(rows)
        except StoreUnreachable as trouble:
            if self._troubles.begins(trouble, time.monotonic()):
                logger.warning("event=board-unreachable %s", trouble)
            with self._lock:
                kept = [*rows, *self._waiting][-WAITING_MAX:]
                self.dropped += len(rows) + len(self._waiting) - len(kept)
                self._waiting = deque(kept)
        else:
            self._troubles.end()


def row(judgement: Judgement) -> dict[str, Any]:
    """Returns a judgement as a row of the board, also for JSON output."""
    subject = judgement.subject
    return {
        "cluster": str(subject.cluster),
        "of": subject.owner,
        "topic": subject.topic,
        "partition": subject.partition,
        "at_ms": judgement.at_ms,
        "findings": [
            {
                "kind": each.kind.value,
                "weight": each.weight.value,
                "table": each.table,
                "begin": each.begin,
                "end": each.end,
                "text": each.text,
            }
            for each in judgement.findings
        ],
        "before": _entry(judgement.before),
        "after": _entry(judgement.after),
    }


def shown(commit: Commit | None) -> str:
    """Returns a commit in one line, with as much of its metadata as a log line takes."""
    if commit is None:
        return "none"
    metadata = commit.metadata[:METADATA_CHARACTERS_MAX]
    more = len(commit.metadata) - len(metadata)
    return f"offset={commit.offset} at_ms={commit.at_ms} {metadata}" + (
        f"... ({more} more characters)" if more else ""
    )


def _entry(commit: Commit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"offset": commit.offset, "at_ms": commit.at_ms, "metadata": commit.metadata}
