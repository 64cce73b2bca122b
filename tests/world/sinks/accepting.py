"""Acceptance of losses by an operator, as the command does it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from aggregator.driver.adoption_memory import AdoptionMemory
from aggregator.intents.intent import Intent
from aggregator.loader import loss_acceptance
from aggregator.loader.known_records import KnownRecords, NothingKnown
from aggregator.loader.loss_acceptance import Change, unchanged
from balancer.topic_partition import TopicPartition
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Answered, Cluster
from replicator.kafka.client.loss import LossKind
from tests.world.sinks.loaded_feed import FEED

ADVICE = re.compile(r"--restart-at (\d+)")


@dataclass(frozen=True, slots=True)
class Accepting:
    """Command of an operator.

    Args:
        changed: returns a parked intent as the command takes it.
        make_memory: makes the memory that it reads and writes.
        asks_store: the store is asked for records of other logs.
    """

    changed: Change = unchanged
    make_memory: Callable[[Cluster, str], AdoptionMemory] = AdoptionMemory
    asks_store: bool = True

    async def accept(
        self, client: Cluster, known: KnownRecords, place: TopicPartition, intent: Intent | None
    ) -> str:
        """Lets a partition go on, where its reason says; returns what became of it.

        Args:
            intent: as it is parked; None for an intent that is gone.
        """
        loss = intent.parked if intent else None
        advice = ADVICE.search(str(loss)) if loss and loss.kind is LossKind.INTENT_GONE else None
        try:
            memory = self.make_memory(client, FEED)
            await memory.read_if_there()
            result = await loss_acceptance.accept(
                client,
                FEED,
                [place],
                restart_at=int(advice[1]) if advice else None,
                changed=self.changed,
                known=known if self.asks_store else NothingKnown(),
                memory=memory,
            )
        except (Answered, Unreachable) as error:
            return f"accepting fails: {error}"
        finally:
            known.close()
        goes_on = result.continued.get(place)
        return f"goes on at {goes_on.offset}" if goes_on else result.left.get(place, "stays")
