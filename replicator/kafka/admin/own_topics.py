"""Topics that Sluice makes for itself: created where they are missing, then awaited."""

from __future__ import annotations

import time
from collections.abc import Sequence

from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import UnknownTopic
from replicator.kafka.admin.topic_changes import Create

VISIBLE_SECONDS = 15.0


def make_topics(
    admin: Admin, creates: Sequence[Create], visible_seconds: float = VISIBLE_SECONDS
) -> None:
    """Makes the topics that are missing, and waits until all are visible. Blocking.

    A topic that is there stays as it is. Raises AdminError.

    Args:
        visible_seconds: longest wait for a created topic.
    """
    wanted = {create.topic for create in creates}
    missing = wanted - _visible(admin, wanted)
    for outcome in admin.apply([create for create in creates if create.topic in missing]):
        if outcome.error:
            raise outcome.error
    deadline = time.monotonic() + visible_seconds
    while absent := wanted - _visible(admin, wanted):
        if time.monotonic() > deadline:
            raise UnknownTopic(admin.name, f"created, and still not there: {sorted(absent)}")
        time.sleep(0.1)


def _visible(admin: Admin, names: set[str]) -> set[str]:
    return {topic.name for topic in admin.topics(names)}
