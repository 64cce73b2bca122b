"""Progress check of a topic that a single route feeds, while records may still arrive."""

from __future__ import annotations

import numpy as np

from deploy.lab.compare import RecordsDiffer
from deploy.lab.dump import BOTH, EMPTY, compare_dumps, dump
from deploy.lab.kafka import KafkaCluster


def has_arrived(source: KafkaCluster, target: KafkaCluster, topic: str) -> bool:
    """Returns True once the target holds all records of the source.

    Until then the target must hold the first records of each source partition, and nothing else.

    Raises:
        RecordsDiffer: a record is lost, duplicated, reordered, changed or foreign.
    """
    arrived = {isolation: dump(target, topic, isolation) for isolation in BOTH}
    sent = dump(source, topic)
    for found in arrived.values():
        for partition, records in found.items():
            expected = sent.get(partition, EMPTY).prints[: len(records.prints)]
            if not np.array_equal(records.as_mirror, expected):
                raise RecordsDiffer(str(compare_dumps({"source": sent}, found, topic)))
    return all(
        len(found[partition].prints) == len(records.prints)
        for found in arrived.values()
        for partition, records in sent.items()
    )
