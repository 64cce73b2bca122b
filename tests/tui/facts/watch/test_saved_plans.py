"""Saved plans, loaded for an appliance whose routes may have changed since."""

from dataclasses import replace

import pytest

from replicator.config.topology import load
from replicator.groups.failover.fresh_plans import NoWay
from tests.replicator.groups.planning.empty_plan import EMPTY
from tests.tui.commands.test_replicate import CONFIG
from tui.facts.watch.plan_questions import load_plan, plan_files


def test_a_plan_between_regions_that_routes_no_longer_connect_is_refused(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace('["west>east"]', '["west>east", "west>west"]'))
    both = load(file)
    plan_files(both).save(EMPTY)
    plan_files(both).save(replace(EMPTY, id="p2", target="west"))
    assert load_plan(both, "p1") == EMPTY
    with pytest.raises(NoWay, match="the same region"):
        load_plan(both, "p2")
    file.write_text(CONFIG)
    with pytest.raises(NoWay, match="no route leads into west"):
        load_plan(load(file), "p1")
