"""Connection probe: a cluster that does not answer is named, not raised."""

from replicator.config.topology import load
from tests.tui.commands.test_replicate import CONFIG
from tui.facts.watch.connection_probe import connections_of


def test_every_cluster_is_asked_and_those_without_an_answer_have_a_problem(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    found = connections_of(load(file), timeout_seconds=0.2)
    assert [each.cluster for each in found] == [
        *("east regional", "east aggregate", "west regional", "west aggregate")
    ]
    assert all(each.cluster_id is None and each.problem for each in found)
