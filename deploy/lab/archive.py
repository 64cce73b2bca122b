"""Class data and first metadata of a broker that ran once, for the starts of all others."""

import shutil
import tempfile
from pathlib import Path

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import ARCHIVE, FIRST_METADATA, KafkaCluster


def make_archive() -> None:
    """Runs a broker with a little of every feature. Java writes the archive when the broker ends.

    The storage tool formats this broker; what it wrote is kept for all others.
    """
    for file in (ARCHIVE, FIRST_METADATA):
        file.unlink(missing_ok=True)
    being_made = ARCHIVE.with_suffix(".part")
    options = [f"-XX:ArchiveClassesAtExit={being_made}"]
    with (
        tempfile.TemporaryDirectory(prefix="sluice-archive-") as directory,
        KafkaCluster("archive", Path(directory), java_options=options) as cluster,
    ):
        _use(cluster)
        metadata = cluster.directory / "node-1" / "data" / FIRST_METADATA.name
        shutil.copyfile(metadata, FIRST_METADATA)
    being_made.rename(ARCHIVE)


def _use(cluster: KafkaCluster) -> None:
    """Uses a transaction and a consumer group, so that the archive has their classes too."""
    admin = cluster.admin()
    admin.create_topics([NewTopic("archive", num_partitions=1)])["archive"].result(30)
    options = {"transactional.id": "archive", "log_level": 3}
    producer = Producer({**cluster.librdkafka_options(), **options})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("archive", b"value")
    producer.commit_transaction(30)
    consumer = Consumer(
        {
            **cluster.librdkafka_options(),
            "group.id": "archive",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["archive"])
    message = consumer.poll(30)
    if message is None or message.error():
        raise RuntimeError("the broker that makes the archive did not give its record back")
    consumer.commit(asynchronous=False)
    consumer.close()
