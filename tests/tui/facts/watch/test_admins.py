"""Admin clients: one for each cluster of the appliance."""

from replicator.config.cluster_name import ClusterName
from tests.tui.facts.watch.told import appliance
from tui.facts.watch.admins import Admins


def test_all_questions_to_a_cluster_share_one_client() -> None:
    admins = Admins(appliance("west"), 3.0)
    name = ClusterName.regional("west")
    assert admins.of(name) is admins.of(ClusterName("west regional"))
    assert (admins.of(name).name, admins.of(name).timeout_seconds) == ("west regional", 3.0)
    assert admins.cluster(name).bootstrap == admins.appliance.region("west").regional.bootstrap
