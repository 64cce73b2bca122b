"""Claims about the daemon that need no server: its exit codes and its files."""

import pytest

from replicator.config.topology import Appliance, KafkaCluster, Region, Route
from replicator.kafka.admin.admin_error import Refused
from replicator.kafka.client.brokers import Unreachable
from replicator.kafka.client.cluster import Fenced
from replicator.kafka.client.cluster_ids import SameCluster
from replicator.mirror.driver.daemon import Daemon, exit_code_of
from replicator.runtime.exit_codes import Exit, decisive
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.posting import ApplianceFile

REFUSED, FENCED = Refused("east aggregate", "no"), Fenced("east aggregate", [90])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (FENCED, Exit.FENCED),
        (ExceptionGroup("", [REFUSED, FENCED]), Exit.FENCED),
        (ExceptionGroup("", [REFUSED, ExceptionGroup("", [TermSuperseded("x")])]), Exit.FENCED),
        (ExceptionGroup("", [ExceptionGroup("", [Unreachable("x")])]), Exit.UNREACHABLE),
        (ExceptionGroup("", [REFUSED, KeyError("x")]), Exit.FAILED),
        (ExceptionGroup("", [SameCluster("x")]), Exit.MISCONFIGURED),
        (ExceptionGroup("", [SameCluster("x"), FENCED]), Exit.FENCED),
    ],
)
def test_a_newer_driver_decides_the_exit_code_whatever_else_failed(error, code):
    assert exit_code_of(decisive(error, (Fenced, TermSuperseded)), has_successor=True) is code


def test_a_fence_that_is_no_newer_drivers_is_a_failure_that_a_restart_mends():
    assert exit_code_of(FENCED, has_successor=False) is Exit.FAILED


def cluster(port):
    return KafkaCluster(bootstrap=(f"127.0.0.1:{port}",))


def test_the_daemon_leaves_its_appliance_for_the_streams_reader(tmp_path):
    east = Region(
        name="east", regional=cluster(1), aggregate=cluster(2), redis="redis://127.0.0.1:1"
    )
    appliance = Appliance(regions={"east": east}, routes=(Route("east", "east"),))
    Daemon(appliance, "east", tmp_path, conf={})
    assert ApplianceFile(tmp_path / "appliance.pickle").read() == appliance
