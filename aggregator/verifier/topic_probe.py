"""Probe of topics: whether one was deleted, and so took its committed entries along."""

from __future__ import annotations

import time
from uuid import UUID

from replicator.kafka.admin.admin import Admin
from replicator.kafka.admin.admin_error import AdminError

TRIES = 3
PAUSE_SECONDS = 0.5


class TopicProbe:
    """Asks one cluster. Blocking."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def is_gone(self, topic: str, topic_id: UUID | None) -> bool:
        """Returns True if no topic of this id is there any more.

        Asks several times: a broker may still show a topic whose offsets another one has deleted.
        """
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_SECONDS)
            try:
                found = self._admin.topics([topic])
            except AdminError:
                continue
            if not found or (topic_id and found[0].topic_id != topic_id):
                return True
        return False


def is_compacted(admin: Admin, topic: str) -> bool:
    """Returns True also if it is not known: then what the topic does not have proves nothing."""
    try:
        found = admin.topics([topic])
    except AdminError:
        return True
    return not found or "compact" in found[0].configs.policies
