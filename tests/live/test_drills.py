"""Failover drills under load: regions that are lost and brought back, and groups that move.

Real processes: brokers, Redis, both daemons, producers, applications, and the operator's commands.
Both regions produce all the time, and every acknowledged record is accounted for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from deploy.lab.application import Application
from deploy.lab.daemons import Daemons
from deploy.lab.wait import until
from tests.live.drill_site import PATIENCE_SECONDS, Site, lab_of

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]

DRILLS = ("lost-empty", "lost-kept", "active", "passive", "planned", "parts", "daemons")
TOPICS = [f"{drill}-{run}" for drill in DRILLS for run in (1, 2)]
"""Two topics for each drill, because a drill that fails is run once more."""


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with lab_of(tmp_path_factory.mktemp("drills"), TOPICS) as lab:
        with Daemons(lab) as daemons:
            site = Site(lab, daemons)
            yield site
        site.assert_same_everywhere(*TOPICS)


@pytest.fixture
def site(whole_site: Site) -> Iterator[Site]:
    whole_site.make_whole()
    try:
        yield whole_site
    finally:
        whole_site.end()


@pytest.mark.parametrize("redis_is_empty", [True, False], ids=["empty redis", "kept redis"])
def test_a_region_killed_under_load_costs_nothing_where_the_vector_is_stored(
    site: Site, redis_is_empty: bool
) -> None:
    """Compares an application that stores its vector with a plain one.

    The plain one may repeat what the plans announce, and what it handled after the last copied
    commit. The region's producers write to the other region meanwhile. Then the region and its
    groups come back.
    """
    west, east = site.west, site.east
    site.begin(f"lost-{'empty' if redis_is_empty else 'kept'}")
    stored = site.application("stored")
    plain = site.application("plain")
    both = (stored, plain)
    names = [application.group for application in both]
    site.run(both, west)
    for name in names:  # no plan can move a group that east does not know
        site.until_known("west", "east", name)

    site.lose(west)
    for application in both:
        application.kill()
    out = site.operator.move("west", "east", names)
    site.loads["west"].move("east")
    site.run(both, east)

    site.bring_back(west, redis_is_empty=redis_is_empty)
    for application in both:
        application.stop()
    back = site.operator.move("east", "west", names, verb="switchover")
    site.loads["west"].move("west")
    site.run(both, west)

    acknowledged = site.settle()
    found = site.audit(stored, acknowledged)
    found.assert_exactly_once()
    found = site.audit(plain, acknowledged)
    found.assert_complete()
    bound = read_again(out, plain) + read_again(back, plain) + beyond_the_copies(out, plain)
    assert found.twice <= bound, found
    site.assert_same_everywhere(site.topic)


def test_groups_that_consume_in_every_region_come_to_the_same_state(site: Site) -> None:
    """Active/active, with one offsets daemon dead for a while; no offsets are synced."""
    site.begin("active")
    both = {
        region: site.application("plain", name=region.name) for region in site.lab.regions.values()
    }
    for region, application in both.items():
        site.run([application], region)
    site.daemons.kill("east", "offsets")
    for application in both.values():
        site.goes_on(application)
    site.daemons.start("east", "offsets")
    acknowledged = site.settle()
    for application in both.values():
        found = site.audit(application, acknowledged)
        found.assert_exactly_once()
    states = [set(application.handled()) for application in both.values()]
    assert states[0] == states[1]
    site.assert_same_everywhere(site.topic)


def test_a_group_that_lives_in_one_region_simply_starts_in_the_other(site: Site) -> None:
    """Active/passive without a plan: the offsets are already there. With the consumer helper no
    record is repeated."""
    west, east = site.west, site.east
    site.begin("passive")
    helped = site.application("helper")
    plain = site.application("plain")
    both = (helped, plain)
    names = [application.group for application in both]
    site.run(both, west)
    site.operator.ask(*("groups", "set-primary", *names, "--to", "west", "--reason", "drill"))
    for application in both:
        application.stop()
    synced = site.until_in_step("west", "east", names)
    site.run(both, east)
    # The group's primary region is still west, so a daemon must report it.
    assert until(lambda: site.is_told_out_of_place(plain.group), PATIENCE_SECONDS)
    site.operator.ask(*("groups", "set-primary", *names, "--to", "east", "--reason", "drill"))

    acknowledged = site.settle()
    found = site.audit(helped, acknowledged)
    found.assert_exactly_once()
    found = site.audit(plain, acknowledged)
    found.assert_complete()
    assert found.twice <= read_again(synced, plain), found


def test_a_planned_switchover_and_the_way_back_repeat_nothing_with_the_helper(site: Site) -> None:
    """With the consumer helper every record is handled exactly once. Without it as many records
    repeat as the plans announce."""
    west, east = site.west, site.east
    site.begin("planned")
    helped = site.application("helper")
    plain = site.application("plain")
    both = (helped, plain)
    names = [application.group for application in both]
    site.run(both, west)
    plans = []
    for source, target in ((west, east), (east, west)):
        for application in both:
            application.stop()
        plan = site.operator.move(source.name, target.name, names, verb="switchover")
        plans.append(plan)
        site.run(both, target)
    acknowledged = site.settle()
    found = site.audit(helped, acknowledged)
    found.assert_exactly_once()
    found = site.audit(plain, acknowledged)
    found.assert_complete()
    assert found.twice <= sum(read_again(plan, plain) for plan in plans), found


def test_where_only_one_cluster_is_lost_everybody_waits_for_it_and_nothing_is_lost(
    site: Site,
) -> None:
    """Loses first an aggregate, then a regional cluster; no group and no producer moves."""
    west, east = site.west, site.east
    site.begin("parts")
    here = site.application("plain", name="west")
    there = site.application("plain", name="east")
    site.run([here], west)
    site.run([there], east)
    west.aggregate.kill()
    site.goes_on(there)
    west.start()
    west.wait_ready()
    site.goes_on(here)

    west.regional.kill()
    sent = len(site.loads["east"].acknowledged())
    site.goes_on(there, records=100)
    assert until(lambda: len(site.loads["east"].acknowledged()) > sent, PATIENCE_SECONDS)
    west.start()
    west.wait_ready()
    sent = len(site.loads["west"].acknowledged())
    assert until(lambda: len(site.loads["west"].acknowledged()) > sent + 100, PATIENCE_SECONDS)
    acknowledged = site.settle()
    for application in (here, there):
        found = site.audit(application, acknowledged)
        found.assert_complete()
    site.assert_same_everywhere(site.topic)


def test_a_plan_made_after_the_offsets_daemons_were_killed_is_as_good_as_any(site: Site) -> None:
    """Commits of the time without daemons are copied afterwards: handling is exactly once."""
    west, east = site.west, site.east
    site.begin("daemons")
    helped = site.application("helper")
    site.run([helped], west)
    site.until_known("west", "east", helped.group)
    for name in site.lab.regions:
        site.daemons.kill(name, "offsets")
    site.goes_on(helped)
    helped.stop()
    for name in site.lab.regions:
        site.daemons.start(name, "offsets")
    site.operator.move("west", "east", [helped.group], verb="switchover")
    site.run([helped], east)
    found = site.audit(helped, site.settle())
    found.assert_exactly_once()


def read_again(plan: Mapping[str, Any], application: Application) -> int:
    """Returns the maximum number of records that the plan's group reads again.

    The plan has no count for a partition without a commit: see beyond_the_copies.
    """
    counts = [move["read_again"] for move in moves_of(plan, application)]
    return sum(count["records"] for count in counts if count)


def moves_of(plan: Mapping[str, Any], application: Application) -> list[Any]:
    groups = {each["group"]: each["moves"] for each in plan["groups"]}
    return list(groups[application.group])


def beyond_the_copies(plan: Mapping[str, Any], application: Application) -> int:
    """Returns how many records were handled in the lost region after the plan's commits."""
    committed = {move["partition"]: move["committed"] for move in moves_of(plan, application)}
    return sum(
        effect.offset >= (committed.get(effect.record.partition) or 0)
        for effect in application.effects(plan["source"])
    )
