"""Consumer settings of an application, and those that the helper handles itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replicator.config.topology import KafkaCluster

AUTO_COMMIT_INTERVAL_MS = 5000
"""Default of librdkafka."""


@dataclass(frozen=True, slots=True)
class ConsumerSettings:
    """Configuration of confluent_kafka's Consumer, taken apart.

    Args:
        options: for the inner Consumer, which never commits by itself.
        commit_seconds: how often the helper commits what was handed out; None: it does not.
        is_incremental: True if partitions are assigned and revoked one by one.
        on_commit: the application's own callback.
    """

    options: dict[str, Any]
    commit_seconds: float | None
    is_incremental: bool
    on_commit: Any = None


def consumer_settings(
    config: Mapping[str, Any], aggregate: KafkaCluster, *, is_tracking: bool
) -> ConsumerSettings:
    """Returns the settings. Address and security default to the aggregate's.

    Raises ValueError where group.id is missing, or auto commit is combined with tracked vectors.
    """
    options: dict[str, Any] = {
        "bootstrap.servers": aggregate.bootstrap_servers,
        **aggregate.security.librdkafka_options(),
        **config,
    }
    if not options.get("group.id"):
        raise ValueError("group.id is missing")
    commits_itself = _flag(options.pop("enable.auto.commit", not is_tracking))
    if commits_itself and is_tracking:
        raise ValueError(
            "enable.auto.commit must be off with vectors: commit after the vectors are stored"
        )
    interval_ms = int(options.pop("auto.commit.interval.ms", AUTO_COMMIT_INTERVAL_MS))
    options.pop("enable.auto.offset.store", None)
    on_commit = options.pop("on_commit", None)
    strategy = str(options.get("partition.assignment.strategy", ""))
    return ConsumerSettings(
        options | {"enable.auto.commit": False, "enable.auto.offset.store": False},
        interval_ms / 1000 if commits_itself else None,
        options.get("group.protocol") == "consumer" or "cooperative" in strategy,
        on_commit,
    )


def _flag(value: object) -> bool:
    return value if isinstance(value, bool) else str(value).lower() in ("true", "1", "t")
