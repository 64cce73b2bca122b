"""Consumer for applications whose group may move to another region and read nothing twice."""

from replicator.groups.resume.message_fetcher import RunsUntold
from replicator.groups.resume.resuming_consumer import ResumingConsumer

__all__ = ["ResumingConsumer", "RunsUntold"]
