"""Claims about the daemon that need no server: its files."""

from replicator.config.topology import Appliance, KafkaCluster, Region, Route
from replicator.mirror.driver.daemon import Daemon
from replicator.spark.driver_daemon import Run
from replicator.spark.posting import ApplianceFile


def cluster(port):
    return KafkaCluster(bootstrap=(f"127.0.0.1:{port}",))


def test_the_daemon_leaves_its_appliance_for_the_streams_reader(tmp_path):
    east = Region(
        name="east", regional=cluster(1), aggregate=cluster(2), redis="redis://127.0.0.1:1"
    )
    appliance = Appliance(regions={"east": east}, routes=(Route("east", "east"),))
    Daemon(Run(appliance, "east", tmp_path, jvm=None))
    assert ApplianceFile(tmp_path / "appliance.pickle").read() == appliance
