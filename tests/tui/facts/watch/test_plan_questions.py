"""Questions about saved plans."""

import os
from dataclasses import replace

import pytest

from replicator.config.topology import load
from replicator.groups.failover.fresh_plans import NoWay
from replicator.groups.failover.plan_files import PlanFiles
from replicator.runtime.store_errors import StoreUnreachable
from tests.replicator.groups.planning.empty_plan import EMPTY
from tests.tui.commands.test_replicate import CONFIG
from tests.tui.facts.test_plan_summary import PLAN
from tests.tui.facts.watch.told import appliance
from tui.facts.plan_summary import plan_summary
from tui.facts.watch.plan_questions import (
    PLANS_KEY,
    PlanWatch,
    load_plan,
    plan_fields,
    plan_files,
    plan_questions,
)
from tui.facts.watch.question import Answer, Answers

# --- Saved plans of this machine, read again only once they have changed.


@pytest.fixture
def folder(tmp_path):
    tmp_path.chmod(0o700)
    return tmp_path


def watch(folder, **limits):
    """Returns a watch, and the ids of the plans that it has loaded."""
    loaded = []

    def load(name):
        loaded.append(name)
        return PlanFiles(folder).load(name)

    return PlanWatch(folder, load, **limits), loaded


def test_a_file_is_read_again_only_once_it_has_changed(folder):
    plans, loaded = watch(folder)
    path = PlanFiles(folder).save(replace(PLAN, id="p1"))
    assert [each.plan_id for each in plans.read()] == ["p1"]
    plans.read()
    assert loaded == ["p1"]
    PlanFiles(folder).save(replace(PLAN, id="p1", reason="another"))
    os.utime(path, ns=(1, 1))
    assert [each.reason for each in plans.read()] == ["another"]
    path.unlink()
    assert plans.read() == ()


def test_plans_are_listed_oldest_first_and_only_the_newest_keep_their_positions(folder):
    for name in ("20260101-000000-aaaa", "20260102-000000-aaaa", "20260103-000000-aaaa"):
        PlanFiles(folder).save(replace(PLAN, id=name))
    plans, loaded = watch(folder, plans_max=2, positions_max=3)
    for _ in range(2):
        found = plans.read()
        assert [(each.plan_id[:8], len(each.positions)) for each in found] == [
            ("20260102", 0),
            ("20260103", 2),
        ]
    assert len(loaded) == 2


def test_a_file_that_is_no_plan_is_shown_as_broken(folder):
    (folder / "p9.json").write_text("{}")
    (found,) = watch(folder)[0].read()
    assert found.plan_id == "p9" and "not the text of a plan" in found.broken


def test_without_the_folder_there_are_no_plans_and_none_is_made(tmp_path):
    assert PlanWatch(tmp_path / "plans").read() == ()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_read_is_a_problem(folder):
    (folder / "p1.json").write_text("{}")

    def load(_):
        raise PermissionError("not yours")

    with pytest.raises(StoreUnreachable, match="saved plans: not yours"):
        PlanWatch(folder, load).read()


def test_plans_are_asked_for_every_two_seconds():
    (question,) = plan_questions(appliance())
    assert (question.key, question.cadence_seconds) == (PLANS_KEY, 2.0)
    assert question.ask() == ()
    summary = plan_summary(PLAN, 10)
    assert plan_fields(Answers({PLANS_KEY: Answer((summary,), 1.0)}), 2.0) == {"plans": (summary,)}
    assert plan_fields(Answers({}), 2.0) == {"plans": None}


# --- Saved plans, loaded for an appliance whose routes may have changed since.


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
