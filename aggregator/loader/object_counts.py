"""Object counts: what a loader counts of a feed into objects, requests to the store included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aggregator.intents.table_range import Manifest
from aggregator.loader.counters import (
    OBJECT_BYTES,
    OBJECT_ENDINGS,
    OBJECT_LOOKS,
    OBJECT_RECORDS,
    OBJECT_SECONDS,
    OBJECTS,
    OBJECTS_NOT_WRITTEN,
    OF_OBJECTS,
    RECORDS_LEFT_OUT,
    STORE_REQUESTS,
    UPLOADS_LOST,
    verdict_label,
)
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.refused_records import RefusedRecords
from aggregator.objects.rotation import Ending
from aggregator.s3.object_store import StoreAddress, client_of
from aggregator.s3.object_verdict import Verdict
from aggregator.tables.decoded import DeadRecord
from balancer.topic_partition import TopicPartition

UNANSWERED = "none"
"""Status of a request that was not answered."""


@dataclass(eq=False)
class ObjectCounts:
    """Counts of one loader."""

    loader_counts: LoaderCounts
    refused: RefusedRecords

    def __post_init__(self) -> None:
        self.loader_counts.show([UPLOADS_LOST])
        for each in Verdict:
            self.loader_counts.show([OBJECT_LOOKS], verdict_label(each))

    def show_topic(self, topic: str) -> None:
        """Shows the counters of a topic from here on."""
        self.loader_counts.show(OF_OBJECTS, topic)
        for ending in Ending:
            self.loader_counts.show([OBJECT_ENDINGS], topic, ending.value)

    def sealed(
        self,
        place: TopicPartition,
        ending: Ending | None,
        manifest: Manifest,
        dead: Sequence[DeadRecord],
    ) -> None:
        """Counts an object that is sealed, and the records that are not in it.

        Args:
            ending: limit that ended it.
            dead: records that became dead letters.
        """
        topic = place.topic
        self.loader_counts.add(OBJECT_ENDINGS, topic, "" if ending is None else ending.value)
        if left_out := manifest.left_out - len(dead):
            self.loader_counts.add(RECORDS_LEFT_OUT, topic, amount=left_out)
        if manifest.is_empty:
            self.loader_counts.add(OBJECTS_NOT_WRITTEN, topic)
        # The names of encoded partitions are as many as records make them: metrics have none.
        self.refused.note(place, "", dead, has_table=True)

    def looked(self, found: Verdict) -> None:
        """Counts an answer to what is under the name of a sealed object."""
        self.loader_counts.add(OBJECT_LOOKS, verdict_label(found))

    def completed(self, place: TopicPartition, manifest: Manifest, now_ms: int) -> None:
        """Counts an object that is told; one that was not written was counted when it was sealed.

        Args:
            now_ms: Unix time.
        """
        if manifest.is_empty:
            return
        seconds = max(0, now_ms - manifest.sealed_at_ms) / 1000
        self.loader_counts.add(OBJECTS, place.topic)
        self.loader_counts.add(OBJECT_BYTES, place.topic, amount=manifest.size_bytes)
        self.loader_counts.add(
            OBJECT_RECORDS, place.topic, amount=manifest.records - manifest.left_out
        )
        self.loader_counts.add(OBJECT_SECONDS, place.topic, amount=seconds)

    def upload_lost(self) -> None:
        """Counts an upload that is gone before its object was complete."""
        self.loader_counts.add(UPLOADS_LOST)

    def client(self, address: StoreAddress) -> Any:
        """Returns boto3's client of a store, whose requests are counted."""
        made = client_of(address)

        def answered(http_response: Any, model: Any, **_: Any) -> None:
            self.loader_counts.add(STORE_REQUESTS, model.name, str(http_response.status_code))

        def failed(event_name: str, **_: Any) -> None:
            self.loader_counts.add(STORE_REQUESTS, event_name.rpartition(".")[2], UNANSWERED)

        made.meta.events.register("after-call.s3", answered)
        made.meta.events.register("after-call-error.s3", failed)
        return made
