"""Properties of nodes: listeners, roles, replication, and precedence of a test's overrides."""

from pathlib import Path

from deploy.lab.broker_properties import Node, node_properties
from deploy.lab.credentials import Credentials

ONE = Node(1, True, True, 11, 12, 13)
CONTROLLER = Node(100, False, True, controller_port=20)
BROKERS = tuple(Node(n, True, False, 20 + n, 30 + n) for n in (1, 2, 3))
OPEN = Credentials(directory=Path("unused"))


def properties(node, nodes, credentials=OPEN, **overrides):
    return node_properties(node, nodes, credentials, "data", overrides)


def test_a_single_node_is_broker_and_controller_with_one_copy_of_everything():
    found = properties(ONE, [ONE])
    assert found["process.roles"] == "broker,controller"
    assert found["controller.quorum.voters"] == "1@127.0.0.1:13"
    assert found["listeners"] == (
        "CLIENT://127.0.0.1:11,INTERNAL://127.0.0.1:12,CONTROLLER://127.0.0.1:13"
    )
    assert found["offsets.topic.replication.factor"] == "1"
    assert found["min.insync.replicas"] == "1"


def test_three_brokers_keep_three_copies_and_write_to_two():
    found = properties(BROKERS[0], [CONTROLLER, *BROKERS])
    assert found["process.roles"] == "broker"
    assert found["controller.quorum.voters"] == "100@127.0.0.1:20"
    assert found["listeners"] == "CLIENT://127.0.0.1:21,INTERNAL://127.0.0.1:31"
    assert found["transaction.state.log.replication.factor"] == "3"
    assert found["min.insync.replicas"] == "2"


def test_a_controller_apart_serves_no_clients():
    found = properties(CONTROLLER, [CONTROLLER, *BROKERS])
    assert found["process.roles"] == "controller"
    assert found["listeners"] == "CONTROLLER://127.0.0.1:20"
    assert "inter.broker.listener.name" not in found


def test_only_clients_need_credentials():
    secured = Credentials(directory=Path("here"), protocol="sasl_tls", mechanism="SCRAM-SHA-512")
    found = properties(ONE, [ONE], secured)
    assert "CLIENT:SASL_SSL" in found["listener.security.protocol.map"]
    assert "INTERNAL:PLAINTEXT" in found["listener.security.protocol.map"]
    assert found["listener.name.client.ssl.keystore.location"] == "here/broker.pem"


def test_what_a_test_asks_for_wins():
    found = properties(ONE, [ONE], **{"broker.session.timeout.ms": "9000"})
    assert found["broker.session.timeout.ms"] == "9000"
