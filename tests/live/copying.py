"""A copier at work while a test looks at what it copies to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deploy.lab.wait import until
from replicator.copies.copier import Copier, Store
from replicator.copies.log_follower import LogFollower

PATIENCE_SECONDS = 60.0


@contextmanager
def copying(follower: LogFollower[Any], store: Store[Any]) -> Iterator[None]:
    copier = Copier(follower, store)
    thread = threading.Thread(target=copier.run)
    thread.start()
    try:
        yield
    finally:
        copier.stop()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def until_fresh(store: Any) -> None:
    """Until it was caught up with after now."""
    began = time.time_ns() // 1_000_000
    assert until(lambda: (at := store.age(began)) is not None and at <= 0, PATIENCE_SECONDS)


def events(caplog) -> list[str]:
    said = [record.getMessage() for record in caplog.records]
    return [line.split()[0].removeprefix("event=") for line in said if line.startswith("event=")]
