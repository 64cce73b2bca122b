"""Traffic into the shared clusters, which no test kills.

An idempotent producer needs an id, for which a new one waits at least half a second. Without an id
a record could come twice, but only from a cluster whose brokers die.
"""

from __future__ import annotations

from collections.abc import Iterable

from confluent_kafka import KafkaError, Message, Producer

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import Shape, TrafficRecord, send


def send_at_once(
    cluster: KafkaCluster, topic: str, records: Iterable[TrafficRecord], shape: Shape
) -> int:
    """Produces all records in order, as send() of the lab does; returns how many.

    Raises RuntimeError if a record was refused.
    """
    if shape.transaction_records:
        return send(cluster, topic, records, shape)
    refused: list[str] = []

    def on_delivery(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            refused.append(str(error))

    producer = Producer(
        {
            **cluster.librdkafka_options(),
            "acks": "all",
            "max.in.flight.requests.per.connection": 1,
            "compression.type": shape.codec,
            "batch.num.messages": shape.batch_records,
            "batch.size": shape.batch_bytes,
            "linger.ms": shape.linger_ms,
            "log_level": 3,
            "on_delivery": on_delivery,
        }
    )
    sent = 0
    for each in records:
        producer.produce(
            topic,
            each.value,
            each.key,
            each.partition,
            timestamp=each.timestamp_ms or 0,
            headers=each.headers,
        )
        sent += 1
    if producer.flush(120) or refused:
        raise RuntimeError(f"{topic}: not all records were taken: {refused[:3]}")
    return sent
