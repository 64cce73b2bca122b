"""Throughput file: the rates of a source's partitions, read again after each change of the file."""

from __future__ import annotations

import logging
from collections.abc import Set
from pathlib import Path

from balancer.demand.throughput_file import BadThroughput, Throughput, read
from replicator.runtime.report_once import ReportOnce

log = logging.getLogger(__name__)


class ThroughputWatch:
    """Rates of one source in the throughput file.

    Args:
        path: None if there is no file.
        cluster: name of the source in the file.
    """

    def __init__(self, path: Path | None, cluster: str) -> None:
        self._path, self._cluster = path, cluster
        self._throughput = Throughput()
        self._version: object = None
        self._reports = ReportOnce()

    def throughput(self, topics: Set[str]) -> Throughput:
        """Returns the current content, or the last valid one while the file is missing or wrong.
        Blocks.

        Args:
            topics: existing topics; they tell a topic named like a partition ("a-0") from a
                partition.
        """
        if self._path is None:
            return self._throughput
        try:
            self._refresh(self._path, topics)
        except OSError as error:
            self._version = None
            self._report(error.strerror or type(error).__name__)
        except UnicodeDecodeError as error:
            self._report(f"not UTF-8 text: byte {error.start}")
        except BadThroughput as error:
            self._report(str(error))
        return self._throughput

    def _refresh(self, path: Path, topics: Set[str]) -> None:
        # Taken before the text is read, so that a write in between is noticed at the next call.
        state = path.stat()
        version = (state.st_ino, state.st_size, state.st_mtime_ns, frozenset(topics))
        if version == self._version:
            return
        text = path.read_text(encoding="utf-8")
        self._version = version
        self._throughput = read(text, self._cluster, topics)
        self._report("")

    def _report(self, trouble: str) -> None:
        """Logs a problem when it begins, changes or ends."""
        if not trouble:
            if self._reports.settle(self._path):
                log.info("event=throughput-read file=%s cluster=%s", self._path, self._cluster)
        elif self._reports.is_news(self._path, trouble):
            log.warning(
                "event=throughput-unread file=%s cluster=%s: %s; the last valid content stays",
                self._path,
                self._cluster,
                trouble,
            )
