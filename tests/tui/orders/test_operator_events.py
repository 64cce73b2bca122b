"""Events of operators are best effort: without Redis nothing fails."""

from replicator.config.topology import KafkaCluster, Region
from tests.addresses import refusing
from tui.orders.operator_events import note_event


def test_an_action_counts_although_its_event_cannot_be_noted():
    region = Region(
        name="east",
        regional=KafkaCluster(bootstrap=("h:1",)),
        aggregate=KafkaCluster(bootstrap=("h:2",)),
        redis=f"redis://{refusing()}",
    )
    note_event(region, "decision", "ann@ops", "primary region east of orders", "recorded")
