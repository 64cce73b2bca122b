"""Object partition: a partition whose records become objects."""

from __future__ import annotations

from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.held_partition import HeldPartition
from aggregator.objects.object_progress import ObjectProgress

ObjectPartition = HeldPartition[ObjectProgress[RecordSlice]]
