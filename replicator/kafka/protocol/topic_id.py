"""Topic id in the encoding of Kafka's messages."""

from __future__ import annotations

from io import BytesIO
from uuid import UUID

from aiokafka.protocol.abstract import AbstractType

from replicator.kafka.protocol.fields import Field

NO_TOPIC_ID = UUID(int=0)


class TopicId(AbstractType[UUID]):
    """A topic id as 16 bytes in Kafka's messages."""

    @classmethod
    def encode(cls, value: UUID) -> bytes:
        return value.bytes

    @classmethod
    def decode(cls, data: BytesIO) -> UUID:
        return UUID(bytes=data.read(16))


TOPIC_ID: Field = ("topic_id", TopicId)
