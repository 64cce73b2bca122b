"""Consumer for applications whose group may move to another region and read nothing twice."""

from replicator.groups.resume.resuming_consumer import ResumingConsumer, RunsUntold

__all__ = ["ResumingConsumer", "RunsUntold"]
