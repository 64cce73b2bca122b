"""The lab's configuration is valid for Sluice, and only the lab's own processes are ended."""

import json
import os

from deploy.lab.lab import Lab, appliance_toml, running, take_down
from deploy.lab.process import started_ticks
from replicator.config.topology import load


def test_the_configuration_names_every_server_of_both_regions(tmp_path):
    lab = Lab(tmp_path)
    lab.configuration.write_text(appliance_toml(lab.regions))
    appliance = load(lab.configuration)
    assert set(appliance.regions) == {"west", "east"}
    assert {route.name for route in appliance.routes} == {
        *("west>west", "west>east", "east>west", "east>east"),
    }
    for name, region in lab.regions.items():
        assert ",".join(appliance.regions[name].regional.bootstrap) == region.regional.bootstrap
        assert ",".join(appliance.regions[name].aggregate.bootstrap) == region.aggregate.bootstrap


def test_a_process_that_took_over_a_pid_is_not_taken_down(tmp_path):
    mine = {"name": "reused", "pid": os.getpid(), "started_ticks": 1}
    (tmp_path / "state.json").write_text(json.dumps({"processes": [mine]}))
    assert running(tmp_path) == []
    assert take_down(tmp_path) == 0
    assert started_ticks(os.getpid()) is not None


def test_where_no_lab_is_there_is_nothing_to_take_down(tmp_path):
    assert take_down(tmp_path) == 0
