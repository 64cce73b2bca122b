"""Former path of `replicator.groups.resume`; it stays for one release."""

from replicator.groups.resume import ResumingConsumer, RunsUntold

__all__ = ["ResumingConsumer", "RunsUntold"]
