"""Former path of `replicator.groups.resume`; it stays for version 0.1."""

from replicator.groups.resume import ResumingConsumer, RunsUntold

__all__ = ["ResumingConsumer", "RunsUntold"]
