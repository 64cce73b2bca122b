"""Events of operators are best effort: without Redis nothing fails."""

import getpass
import socket

from replicator.config.topology import KafkaCluster, Region
from tests.addresses import refusing
from tui.orders.operator_events import note_event, operator


def test_an_action_counts_although_its_event_cannot_be_noted():
    region = Region(
        name="east",
        regional=KafkaCluster(bootstrap=("h:1",)),
        aggregate=KafkaCluster(bootstrap=("h:2",)),
        redis=f"redis://{refusing()}",
    )
    note_event(region, "decision", "ann@ops", "primary region east of orders", "recorded")


def test_it_names_user_and_host(monkeypatch):
    monkeypatch.setenv("LOGNAME", "ann")
    assert operator() == f"ann@{socket.gethostname()}"


def test_a_user_without_a_name_is_nobody(monkeypatch):
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert operator().startswith("nobody@")
