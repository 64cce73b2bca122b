"""Former path of `replicator.groups.resume`; kept in version 0.1, and removed after it."""

from replicator.groups.resume import ResumingConsumer, RunsUntold

__all__ = ["ResumingConsumer", "RunsUntold"]
