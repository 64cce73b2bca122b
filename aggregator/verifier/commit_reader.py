"""Reader of one cluster's commits: reads `__consumer_offsets` on and on, and has it judged."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing

from confluent_kafka import Message

from aggregator.verifier.cluster_judge import ClusterJudge, Judgement
from aggregator.verifier.finding_log import FindingLog
from aggregator.verifier.group_commit import GroupCommit, GroupCommits
from aggregator.verifier.history_file import HistoryFile
from replicator.config.names import COMMITS_GROUP, OWN_PREFIX
from replicator.config.topology import KafkaCluster
from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.tail.consumer_offsets import TOPIC
from replicator.kafka.tail.topic_tailer import LogUnreadable, TopicTailer
from replicator.runtime.backoff import Backoff
from replicator.runtime.report_once import Troubles

logger = logging.getLogger(__name__)

RETRY_SECONDS = (0.2, 5.0)
KEEP_SECONDS = 5.0
STALE_SECONDS = 1.0
EXPECTED = (AdminError, LogUnreadable)


def group_commits(
    judge: ClusterJudge, cluster: KafkaCluster, admin: Admin | None = None
) -> TopicTailer[GroupCommit]:
    """Returns a tailer of the commits that a judge looks at.

    Args:
        admin: describes the topic; None: a client of its own.
    """
    commits = GroupCommits(frozenset(judge.owners), OWN_PREFIX)

    def read(message: Message) -> GroupCommit | None:
        _, at_ms = message.timestamp()
        return commits.read(message.key(), message.value(), at_ms)

    return TopicTailer(judge.cluster, cluster, TOPIC, COMMITS_GROUP, read, admin=admin)


def judged_to_end(
    judge: ClusterJudge, tailer: TopicTailer[GroupCommit], timeout_seconds: float
) -> Iterator[Judgement]:
    """Yields the judgements on all that stands in the log by now, read from its beginning.

    Args:
        timeout_seconds: longest time without a record while the end is not reached.

    Raises:
        AdminError, LogUnreadable: the end is not reached.
    """
    began_ms = time.time_ns() // 1_000_000
    with closing(tailer.follow({})) as polls:
        judge.begin({number: portion.begin for number, portion in next(polls).items()})
        awaited = set(judge.positions)
        last = time.monotonic()
        for portions in polls:
            for number, portion in portions.items():
                yield from judge.take(number, portion)
                if (portion.caught_up_ms or 0) >= began_ms:
                    awaited.discard(number)
                if portion.begin != portion.end:
                    last = time.monotonic()
            if not awaited:
                yield from judge.end()
                return
            if time.monotonic() - last > timeout_seconds:
                break
    raise LogUnreadable(f"{tailer.name}: nothing came for {timeout_seconds:g} s before its end")


class CommitReader:
    """Judges one cluster's commits until it is stopped. Blocking: give run() a thread of its own.

    Args:
        stale_seconds: time without a renewed entry after which a held partition is reported.
        file: keeps positions and histories.
        finding_log: takes each judgement that has findings.
        stopping: set by stop(), and waited for before a retry.
    """

    def __init__(
        self,
        judge: ClusterJudge,
        tailer: TopicTailer[GroupCommit],
        *,
        stale_seconds: float,
        file: HistoryFile,
        finding_log: FindingLog,
        stopping: threading.Event | None = None,
    ) -> None:
        self.name = tailer.name
        self.judge = judge
        self.is_reading = False
        """True once the log was read, until an error keeps the reader from going on."""
        self._tailer = tailer
        self._stale_ms = int(stale_seconds * 1000)
        self._file = file
        self._finding_log = finding_log
        self._stopping = stopping or threading.Event()
        self._troubles = Troubles()
        self._keeping = Troubles()
        self._backoff = Backoff(*RETRY_SECONDS)
        self._kept_at = self._looked_at = time.monotonic()

    def stop(self) -> None:
        """Makes run() return, within some seconds when a server does not answer."""
        self._stopping.set()

    def restore(self) -> None:
        """Takes over what an earlier verifier knew. Raises FolderShared, OSError."""
        self.judge.restore(*self._file.read())

    def run(self) -> None:
        """Reads and judges until stop() is called, whatever is unreachable meanwhile."""
        while not self._stopping.is_set():
            try:
                self._follow()
            except Exception as trouble:
                self._note(trouble)
                self._stopping.wait(self._backoff.seconds)
                self._backoff.grow()
        self._keep()

    def _follow(self) -> None:
        """Reads from the last entries of the histories on, until reading has to begin anew."""
        with closing(self._tailer.follow(self.judge.begins())) as polls:
            self.judge.begin({number: portion.begin for number, portion in next(polls).items()})
            for portions in polls:
                if self._stopping.is_set():
                    return
                for number, portion in portions.items():
                    for judgement in self.judge.take(number, portion):
                        self._finding_log.take(judgement)
                if any(portion.is_news for portion in portions.values()):
                    self._note(None)
                self._tend(time.monotonic())

    def _tend(self, now: float) -> None:
        if now - self._looked_at >= STALE_SECONDS:
            self._looked_at = now
            now_ms = time.time_ns() // 1_000_000
            for judgement in self.judge.stale(now_ms, self._stale_ms):
                self._finding_log.take(judgement)
        if now - self._kept_at >= KEEP_SECONDS:
            self._kept_at = now
            self._keep()

    def _keep(self) -> None:
        """Writes the file. Without it the next verifier reads more, and knows less."""
        try:
            self._file.write(self.judge.positions, self.judge.stored())
        except OSError as error:
            if self._keeping.begins(error, time.monotonic()):
                logger.warning("event=history-not-kept %s: %s", self._file.path, error)
        else:
            self._keeping.end()

    def _note(self, trouble: Exception | None) -> None:
        """Logs a trouble when it begins or becomes another, and its end."""
        self.is_reading = trouble is None
        if trouble is None:
            self._backoff.reset()
            if self._troubles.end():
                logger.warning("event=judged-again %s", self.name)
        elif self._troubles.begins(trouble, time.monotonic()):
            # An unexpected error is retried like any other: nothing else would judge.
            surprise = None if isinstance(trouble, EXPECTED) else trouble
            logger.warning("event=not-judged %s: %s", self.name, trouble, exc_info=surprise)
