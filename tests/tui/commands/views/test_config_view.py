"""Output of a configuration check."""

from replicator.config.topology import load
from tests.replicator.config.test_feed_contradictions import feed
from tests.tui.commands.test_replicate import CONFIG
from tui.commands.views.config_view import as_text, as_values
from tui.facts.connections import Connection

SOUND = (Connection("west regional", "x", ""), Connection("west aggregate", "y", ""))
AWAY = (Connection("west regional", None, "no answer"), Connection("west aggregate", "y", ""))


def test_a_configuration_is_summed_up_below_its_connections(assert_snapshot, tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG)
    appliance = load(file)
    assert_snapshot(as_text(appliance), "config")
    assert_snapshot(as_text(appliance, SOUND), "config_connected")
    assert_snapshot(as_text(appliance, AWAY), "config_with_a_problem")
    assert "clusters" not in as_values("f", appliance)
    assert as_values("f", appliance, SOUND)["ok"] is True
    away = as_values("f", appliance, AWAY)
    assert away["ok"] is False
    assert away["clusters"][0] == {
        "cluster": "west regional",
        "cluster_id": None,
        "problem": "no answer",
    }


def test_feeds_are_named(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG + feed())
    appliance = load(file)
    assert as_text(appliance).splitlines()[-1] == "feeds: flights"
    assert as_values("f", appliance)["feeds"] == ["flights"]
