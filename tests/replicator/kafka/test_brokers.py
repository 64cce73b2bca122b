"""Claims about connections to brokers that need no broker: what each of them is made with."""

from replicator.config.security import Security
from replicator.config.topology import KafkaCluster
from replicator.kafka import brokers
from replicator.kafka.cluster import Cluster


class Silent:
    """A connection that is asked nothing."""

    async def send(self, request):
        raise AssertionError(f"asked: {request}")

    def connected(self):
        return True

    def close(self):
        pass


async def test_each_connection_is_made_with_the_password_its_file_holds_by_then(
    tmp_path, monkeypatch
):
    made_with = []

    async def connect(host, port, **options):
        made_with.append((options["sasl_plain_password"], options["client_id"]))
        return Silent()

    monkeypatch.setattr(brokers, "connect", connect)
    password = tmp_path / "password"
    password.write_text("old")
    security = Security(
        protocol="sasl_plaintext", mechanism="PLAIN", username="u", password_file=password
    )
    cluster = Cluster("east", KafkaCluster(bootstrap=("h:1",), security=security), client_id="me")
    cluster._brokers = {0: ("h", 1)}
    await cluster.connect(0)
    password.write_text("new")
    await cluster.connect(0)
    assert made_with == [("old", "me"), ("new", "me")]
