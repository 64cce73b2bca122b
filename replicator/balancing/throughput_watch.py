"""What a file says of a source's traffic, read again when it has changed."""

from __future__ import annotations

import logging
from collections.abc import Set
from pathlib import Path

from balancer.demand.throughput_file import BadThroughput, Throughput, read

log = logging.getLogger(__name__)


class ThroughputWatch:
    """One source's part of the file.

    Args:
        path: None: there is no file, and it says nothing.
        cluster: what the file calls the source.
    """

    def __init__(self, path: Path | None, cluster: str) -> None:
        self._path, self._cluster = path, cluster
        self._throughput = Throughput()
        self._read: object = None
        self._trouble = ""

    def throughput(self, topics: Set[str]) -> Throughput:
        """What it says by now; while it is missing or wrong, what it said before. Blocks.

        Args:
            topics: that there are: one named like a partition is told from one by them.
        """
        if self._path is None:
            return self._throughput
        try:
            self._look(self._path, topics)
        except OSError as error:
            self._read = None
            self._say(error.strerror or type(error).__name__)
        except UnicodeDecodeError as error:
            self._say(f"not UTF-8 text: byte {error.start}")
        except BadThroughput as error:
            self._say(str(error))
        return self._throughput

    def _look(self, path: Path, topics: Set[str]) -> None:
        # Before the text: what is written in between is then found to be newer.
        seen = path.stat()
        upon = (seen.st_ino, seen.st_size, seen.st_mtime_ns, frozenset(topics))
        if upon == self._read:
            return
        text = path.read_text(encoding="utf-8")
        self._read = upon
        self._throughput = read(text, self._cluster, topics)
        self._say("")

    def _say(self, trouble: str) -> None:
        """Once, when it begins, when it is another one, and when it is over."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if trouble:
            log.warning(
                "event=throughput-unread file=%s cluster=%s: %s; what it said before counts",
                self._path,
                self._cluster,
                trouble,
            )
        else:
            log.info("event=throughput-read file=%s cluster=%s", self._path, self._cluster)
