"""Topic as its cluster describes it, with its configs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from uuid import UUID

UNLIMITED = Decimal("Infinity")
RETENTION = ("retention.ms", "retention.bytes")


@dataclass(frozen=True, slots=True)
class Configs:
    """Configs of a topic: values in effect, and names of those that differ from Kafka's default.

    Args:
        values: those in effect, whoever set them.
        changed: set on the topic or on the cluster's brokers.
        on_topic: set on the topic itself.
        by_default: set by nobody, so that the value depends on the cluster's version of Kafka.
    """

    values: Mapping[str, str]
    changed: frozenset[str] = frozenset()
    on_topic: frozenset[str] = frozenset()
    by_default: frozenset[str] = frozenset()

    @property
    def policies(self) -> frozenset[str]:
        """Cleanup policies; none where records are kept for ever (an empty cleanup.policy)."""
        return policies(self.values.get("cleanup.policy", "delete"))

    def number(self, name: str) -> Decimal | None:
        """Returns a config as a number; None where it is unknown or no number."""
        return number(name, self.values.get(name))


@dataclass(frozen=True, slots=True)
class Topic:
    """Topic as its cluster describes it.

    Args:
        is_readable: the user may read its records.
    """

    name: str
    topic_id: UUID
    partitions: int
    configs: Configs
    is_internal: bool = False
    is_readable: bool = True


def policies(value: str) -> frozenset[str]:
    """Returns the policies of a cleanup.policy value: "compact", "delete", both, or none."""
    return frozenset(word.strip() for word in value.split(",") if word.strip())


def number(name: str, value: str | None) -> Decimal | None:
    """Returns a config's value as a number, with -1 as infinite for retention; None for none."""
    try:
        size = Decimal(value) if value is not None else None
    except InvalidOperation:
        return None
    return UNLIMITED if name in RETENTION and size == -1 else size
