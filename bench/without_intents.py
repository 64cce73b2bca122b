"""Python workers of Spark in which loaders commit no intents: what do the intents cost?

Only for the bench: a killed loader of this kind loads records again or not at all.

python -m bench.without_intents     (by Spark, with spark.python.daemon.module)
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from pyspark import daemon

from aggregator.loader.held_partition import HeldPartition
from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.produced import Produced
from balancer.topic_partition import TopicPartition


async def _commit(
    self: IntentCommitter,
    wanted: Mapping[TopicPartition, HeldPartition],
    produced: Sequence[Produced],
) -> None:
    """Does all that a commit does, except for the transaction."""
    now = time.monotonic()
    for each in wanted.values():
        each.committed(self._intent(each), now)


if __name__ == "__main__":
    IntentCommitter._commit = _commit  # type: ignore[method-assign]
    daemon.manager()
