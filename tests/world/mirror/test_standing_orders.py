"""Orders that stand in the topic, as the world reads them."""

from balancer.topic_partition import TopicPartition
from replicator.orders.order_records import Pause, Stream, encode, key_of
from tests.replicator.batches.source_batches import Record
from tests.world.mirror.standing_orders import STRANGER, StandingOrders

SAID = {"route": "west.east", "at_ms": 0, "who": "operator"}
ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 1)
FAST = Stream(**SAID, name="fast", topics=("or.*",), first_carrier=1000, is_paused=True)
SLOW = Stream(**SAID, name="slow", topics=(".*",), first_carrier=2000)


def standing(*records):
    """Returns the orders after these records; a key deletes."""
    rows = [(it, None) if isinstance(it, bytes) else (key_of(it), encode(it)) for it in records]
    return StandingOrders().after(Record(at, 0, *row) for at, row in enumerate(rows))


def test_the_stream_whose_name_sorts_first_has_the_topic():
    found = standing(SLOW, FAST)
    assert [found.stream_of(topic) for topic in ("orders", "clicks")] == ["fast", "slow"]
    assert found.first_carrier("slow") == 2000
    assert standing().stream_of("orders") == "default"


def test_a_partition_is_paused_by_itself_with_its_topic_or_with_its_stream():
    one = Pause(**SAID, topic="clicks", partition=1)
    assert standing(FAST).is_paused(ORDERS) and not standing(FAST).is_paused(CLICKS)
    assert standing(one).is_paused(CLICKS)
    assert not standing(one).is_paused(TopicPartition("clicks", 0))
    assert not standing(FAST, key_of(FAST)).is_paused(ORDERS)


def test_what_a_stranger_writes_counts_for_nothing():
    flawed = FAST.model_copy(update={"who": STRANGER, "is_paused": False})
    assert standing(FAST, flawed).is_paused(ORDERS)
