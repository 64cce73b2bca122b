"""`sluice failover` as an operator runs it: real clusters, a real Redis, every exit code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster
from deploy.lab.process import free_port
from deploy.lab.redis import RedisServer
from replicator.config.topology import load
from replicator.groups.membership.groups import Groups
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.groups.membership.unmovable_store import UnmovableStore
from replicator.groups.planning.failover_plan import decode, encode
from replicator.groups.progress import vector_metadata
from replicator.kafka.protocol.offset_and_metadata import OffsetAndMetadata
from tests.live.both_ends import stable_ends
from tests.live.failover_command import (
    TIMEOUT,
    applied,
    levels,
    plan_arguments,
    planned,
    plans,
    verified,
)
from tests.live.group_heartbeats import ShareRequest, heartbeats
from tests.live.relocating import (
    EAST_RECORDS,
    PARTITIONS,
    WEST_RECORDS,
    Relocating,
    make_topic,
)
from tui.commands.exit_codes import ExitCode
from tui.commands.plan_commands import plan_writer

PATIENCE_SECONDS = 60.0


@pytest.fixture
def regions(
    regional: KafkaCluster, aggregate: KafkaCluster, redis: RedisServer, tmp_path: Path
) -> Relocating:
    made = Relocating(regional, aggregate, redis, tmp_path)
    for cluster in (regional, aggregate):
        make_topic(cluster, made.topic)
    made.mirror()
    return made


@pytest.fixture
def copied(regions: Relocating) -> Iterator[Relocating]:
    """A group that has committed offsets 10 and 20 in west, and up-to-date copies."""
    regions.commit(regions.west, {0: 10, 1: 20})
    with regions.copied():
        yield regions


# Normal use


@pytest.mark.core
def test_groups_of_a_lost_region_go_on_in_another_and_that_can_be_read_back(sluice, copied):
    # No server of west answers from here on.
    copied.configure(copied.west)
    plan = planned(sluice, copied, "--timeout", "3")
    assert plan["schema_version"] == 1
    assert plan["completeness"] == {"asked": 2, "mapped": 2, "exact": 2}
    assert plan["age_ms"] is not None
    (group,) = plan["groups"]
    moves = {move["partition"]: move for move in group["moves"]}
    assert {at: move["resume"] for at, move in moves.items()} == {0: 10, 1: 20}
    assert {move["basis"] for move in moves.values()} == {"exact"}
    assert {move["read_again"]["records"] for move in moves.values()} == {0}
    assert moves[0]["vector"] == {copied.west: 10, copied.east: 0}
    assert copied.committed(copied.east) == {}

    code, out, _ = applied(sluice, copied, plan["id"], "--timeout", "3")
    assert (code, out.splitlines()[0]) == (
        ExitCode.DONE,
        f"DONE: plan {plan['id']}: 1 of 1 groups go on in {copied.east}",
    )
    assert copied.committed(copied.east) == {0: 10, 1: 20}
    record = PrimaryStore(copied.redis.url).all()[copied.group]
    assert (record.region, record.why) == (copied.east, "west is lost")
    assert verified(sluice, copied, plan["id"])[0] == ExitCode.DONE
    # A second apply has nothing left to do.
    assert applied(sluice, copied, plan["id"])[0] == ExitCode.DONE

    code, out, _ = sluice("failover", "list", "--config", str(copied.config))
    assert code == ExitCode.DONE and plan["id"] in out and "VALID" in out


def test_the_text_of_a_plan_begins_with_the_verdict_and_names_the_next_command(sluice, copied):
    code, out, _ = sluice(*plan_arguments(copied))
    lines = out.splitlines()
    assert (code, lines[0]) == (ExitCode.DONE, "CAN BE APPLIED")
    assert "  mapped  2 of 2 positions, exactly 2" in lines
    plan_id = lines[1].split()[1].rstrip(":")
    assert lines[-1] == (
        f"  sluice failover apply {plan_id} --config {copied.config} "
        f"--confirm {copied.west}:{copied.east}"
    )


def test_all_groups_are_planned_but_those_that_were_left_out(sluice, copied):
    copied.commit(copied.west, {0: 3}, group=f"audit-{copied.mark}")
    copied.until_copied()
    # The shared cluster also has groups of other tests, on topics that are not mirrored here.
    arguments = plan_arguments(copied, "-o", "json", "--except", f"audit-{copied.mark}")
    at = arguments.index("--group")
    arguments[at : at + 2] = ["--all-groups"]
    _, out, _ = sluice(*arguments)
    names = {group["group"] for group in json.loads(out)["groups"]}
    assert copied.group in names and f"audit-{copied.mark}" not in names
    assert not any(name.startswith("sluice.") for name in names)


def test_yaml_and_json_say_the_same(sluice, copied):
    import yaml

    plan = planned(sluice, copied)
    path = str(copied.config.parent / "state" / "plans" / f"{plan['id']}.json")
    assert json.loads(Path(path).read_text()) == plan
    code, out, _ = applied(sluice, copied, path, "-o", "yaml")
    value = yaml.safe_load(out)
    assert (code, value["done"], value["not_done"]) == (0, [copied.group], [])
    _, out, _ = sluice("failover", "list", "--config", str(copied.config), "-o", "json")
    assert [each["plan_id"] for each in json.loads(out)["plans"]] == [plan["id"]]


def test_an_older_vector_at_the_planned_offset_is_in_the_plan_and_replaced(sluice, copied):
    """The offset sync leaves a passive group in this state."""
    groups = Groups("east", copied.settings(copied.east))
    partition = TopicPartition(copied.topic, 0)
    older = {copied.west: 3}
    assert groups.write(copied.group, {partition: (10, vector_metadata.encode(older))}) == {}
    plan = planned(sluice, copied)
    move = next(move for move in plan["groups"][0]["moves"] if move["partition"] == 0)
    assert (move["resume"], move["target_committed"]) == (10, 10)
    assert move["target_vector"] == older
    begun(copied, plan["id"])
    assert verified(sluice, copied, plan["id"])[0] == ExitCode.FAILED
    assert applied(sluice, copied, plan["id"])[0] == ExitCode.DONE
    held = groups.commits([copied.group], [partition])[copied.group][partition]
    assert vector_metadata.decode(held.metadata) == move["vector"] != older


def test_the_groups_of_a_plan_are_moved_back_and_those_that_were_there_before_stay(sluice, copied):
    """In production east has its own Redis; here both regions use the same."""
    stays = f"billing-{copied.mark}"
    copied.commit(copied.west, {0: 1}, group=stays)
    copied.until_copied()
    config = ("--config", str(copied.config))
    code, _, err = sluice(
        *("groups", "set-primary", stays, "--to", copied.east, "--reason", "drill"), *config
    )
    assert code == ExitCode.DONE, err
    plan = planned(sluice, copied)["id"]
    assert applied(sluice, copied, plan)[0] == ExitCode.DONE
    way = ("--from", copied.east, "--to", copied.west, "--reason", "west is back", *TIMEOUT)
    back = ("failover", "plan", "-o", "json", *config, *way)
    _, out, _ = sluice(*back, "--all-groups", "--recorded")
    groups = {group["group"] for group in json.loads(out)["groups"]}
    assert {stays, copied.group} <= groups
    _, out, err = sluice(*back, "--of-plan", plan)
    assert [group["group"] for group in json.loads(out)["groups"]] == [copied.group], err


def test_a_plan_that_cannot_be_saved_is_shown_all_the_same(sluice, copied):
    (copied.config.parent / "state").write_text("a file where the directory should be")
    code, out, err = sluice(*plan_arguments(copied))
    assert code == ExitCode.FAILED and "cannot be saved" in err
    assert out.startswith("CAN BE APPLIED") and "sluice failover apply" not in out


# 2: usage


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"--group": "nosuch"}, "nosuch"),
        ({"--from": "nowhere"}, "no region 'nowhere'"),
        ({"--to": "nowhere"}, "no region 'nowhere'"),
        ({"--reason": " "}, "--reason is empty"),
        ({"--valid-minutes": "0"}, "--valid-minutes"),
        ({"--earliest": "other"}, "not asked for: other"),
        ({"--from-timestamp": "nosuch=yesterday"}, "GROUP=DATE-TIME"),
    ],
)
def test_bad_input_is_named_and_nothing_is_planned(sluice, copied, wrong, words):
    arguments = plan_arguments(copied, *(part for pair in wrong.items() for part in pair))
    code, out, err = sluice(*arguments)
    assert (code, out) == (ExitCode.USAGE, "") and words in err, err
    assert list(plans(copied).all()) == []


def test_regions_without_a_way_between_them_are_refused(sluice, copied):
    code, _, err = sluice(*plan_arguments(copied, "--to", copied.west))
    assert code == ExitCode.USAGE and "the same region" in err
    text = copied.config.read_text()
    lone = json.dumps([f"{copied.west}>{copied.west}"])
    copied.config.write_text(f"routes = {lone}\n" + text.split("\n", 1)[1])
    code, _, err = sluice(*plan_arguments(copied))
    assert code == ExitCode.USAGE and f"no route leads into {copied.east}" in err


def test_nothing_is_applied_without_a_word_of_confirmation(sluice, copied):
    plan = planned(sluice, copied)["id"]
    apply = ("failover", "apply", plan, "--config", str(copied.config))
    code, _, err = sluice(*apply)
    assert code == ExitCode.USAGE and f"--confirm {copied.west}:{copied.east}" in err
    code, _, err = sluice(*apply, "--confirm", f"{copied.east}:{copied.west}")
    assert code == ExitCode.USAGE and "not confirmed" in err
    assert copied.committed(copied.east) == {}


def test_a_plan_that_is_missing_broken_or_of_other_regions_is_not_applied(sluice, copied):
    assert applied(sluice, copied, "nosuch")[0] == ExitCode.USAGE
    plan = decode(json.dumps(planned(sluice, copied)))
    path = plans(copied).save(replace(plan, source="north"))
    code, _, err = applied(sluice, copied, plan.id)
    assert code == ExitCode.USAGE and "no region 'north'" in err
    path.write_text(encode(plan)[:-9])
    code, _, err = applied(sluice, copied, plan.id)
    assert code == ExitCode.USAGE and "not the text of a plan" in err


# 3: unreachable


def test_a_target_that_does_not_answer_changes_nothing(sluice, copied):
    plan = planned(sluice, copied)["id"]
    short = ("--timeout", "1")
    copied.configure(copied.east)
    assert sluice(*plan_arguments(copied, *short))[0] == ExitCode.UNREACHABLE
    assert applied(sluice, copied, plan, *short)[0] == ExitCode.UNREACHABLE
    copied.configure(redis_url=f"redis://127.0.0.1:{free_port()}")
    assert sluice(*plan_arguments(copied, *short))[0] == ExitCode.UNREACHABLE
    assert applied(sluice, copied, plan, *short)[0] == ExitCode.UNREACHABLE
    copied.configure()
    assert verified(sluice, copied, plan)[0] == ExitCode.FAILED
    assert copied.committed(copied.east) == {}


# 4: refused


@pytest.mark.core
def test_a_group_that_runs_in_the_target_is_not_moved(sluice, copied):
    plan = planned(sluice, copied)["id"]
    with copied.member(copied.east):
        blocked = planned(sluice, copied, code=ExitCode.REFUSED)
        assert levels(blocked)["target activity"] == "BLOCK"
        code, _, err = applied(sluice, copied, plan)
        assert code == ExitCode.REFUSED and "target activity" in err
    # The blocked plan was saved, and stays blocked.
    code, _, err = applied(sluice, copied, blocked["id"])
    assert code == ExitCode.REFUSED and "target activity" in err
    assert copied.committed(copied.east) == {}
    assert copied.group not in PrimaryStore(copied.redis.url).all()


def test_progress_in_the_target_is_taken_back_only_by_name(sluice, copied):
    plan = planned(sluice, copied)["id"]
    copied.commit(copied.east, {0: 12})
    code, _, err = applied(sluice, copied, plan)
    assert code == ExitCode.REFUSED and "progress" in err
    assert planned(sluice, copied, code=ExitCode.REFUSED)
    named = planned(sluice, copied, "--may-go-back", copied.group)
    assert levels(named)["progress"] == "WARN"
    assert applied(sluice, copied, named["id"])[0] == ExitCode.DONE
    assert copied.committed(copied.east) == {0: 10, 1: 20}


def test_where_nothing_is_known_an_operator_has_to_choose(sluice, copied, regional, aggregate):
    group = f"billing-{copied.mark}"
    copied.topic = f"unmapped-{copied.mark}"
    for cluster in (regional, aggregate):
        make_topic(cluster, copied.topic)
    for source in (copied.west, copied.east):
        copied.passed(source, copied.east, 5, 5)
    # No runs of west's own route were published.
    copied.commit(copied.west, {0: 5, 1: 5}, group=group)
    copied.until_copied()
    blocked = sluice(*plan_arguments(copied, group=group))
    assert blocked[0] == ExitCode.REFUSED and "CANNOT BE APPLIED: blocked by basis" in blocked[1]
    for choice in (("--earliest", group), ("--from-timestamp", f"{group}=2013-01-01T00:00:00Z")):
        code, out, _ = sluice(*plan_arguments(copied, "-o", "json", *choice, group=group))
        assert code == ExitCode.DONE
        plan = json.loads(out)
        assert [move["case"] for move in plan["groups"][0]["moves"]] == ["chosen"] * 2
        assert applied(sluice, copied, plan["id"])[0] == ExitCode.DONE


def test_metadata_of_an_application_moves_byte_for_byte_and_its_vector_beside_it(sluice, copied):
    of_streams = "AgAAAZNy3kAAAAAEAmlkAAAAAQ=="
    west, east = (Groups(region, copied.settings(region)) for region in (copied.west, copied.east))
    places = [TopicPartition(copied.topic, number) for number in range(PARTITIONS)]
    assert west.write(copied.group, {places[0]: (33, of_streams), places[1]: (20, "ü {}")}) == {}
    copied.until_copied()
    plan = planned(sluice, copied)
    assert applied(sluice, copied, plan["id"])[0] == ExitCode.DONE
    beside = f"sluice.vectors.{copied.group}"
    found = east.commits([copied.group, beside], places)
    assert found[copied.group] == {
        places[0]: OffsetAndMetadata(33, of_streams),
        places[1]: OffsetAndMetadata(20, "ü {}"),
    }
    vectors = {at: vector_metadata.decode(it.metadata) for at, it in found[beside].items()}
    assert vectors == {
        places[0]: {copied.west: 33, copied.east: 0},
        places[1]: {copied.west: 20, copied.east: 0},
    }
    assert verified(sluice, copied, plan["id"])[0] == ExitCode.DONE
    assert applied(sluice, copied, plan["id"])[0] == ExitCode.DONE
    # The vector is read from Kafka, where it counts for the offset beside which it stands.
    again = planned(sluice, copied)["groups"][0]["moves"][0]
    assert again["target_vector"] == {copied.west: 33, copied.east: 0}


def test_share_groups_are_named_with_the_reason_why_no_plan_moves_them(sluice, copied):
    share = f"share-{copied.mark}"
    config = ("--config", str(copied.config))
    with heartbeats(copied.clusters[copied.west], ShareRequest, share, copied.topic):
        shown = sluice("groups", "show", "--region", copied.west, *config)[1]
        assert share in shown and "not in committed offsets, so no plan moves them" in shown
        code, _, err = sluice(*plan_arguments(copied, group=share))
    assert code == ExitCode.USAGE and "groups of type share" in err and share in err
    way = ("--from", copied.west, "--to", copied.east, "--reason", "drill")
    code, out, _ = sluice("failover", "plan", *config, *way, "--all-groups", "-o", "json", *TIMEOUT)
    checks = {check["name"]: check for check in json.loads(out)["checks"]}
    assert checks["group types"]["level"] == "WARN" and share in checks["group types"]["text"]
    # The region is lost, and what its `sluice offsets` published last is still known.
    copied.configure(copied.west)
    with UnmovableStore(copied.redis.url) as store:
        store.publish(copied.west, {share: "share"}, copied.now_ms())
    assert "groups of type share" in sluice(*plan_arguments(copied, group=share))[2]


# 5: partly done


def test_a_group_of_which_nothing_is_known_holds_back_no_other_group(
    sluice, copied, regional, aggregate
):
    healthy, unmapped = copied.group, f"unmapped-{copied.mark}"
    copied.topic, mapped = unmapped, copied.topic
    for cluster in (regional, aggregate):
        make_topic(cluster, unmapped)
    for source in (copied.west, copied.east):
        copied.passed(source, copied.east, 5, 5)
    copied.commit(copied.west, {0: 5, 1: 5}, group=unmapped)
    copied.until_copied()
    plan = planned(sluice, copied, "--group", unmapped)
    assert levels(plan)["basis"] == "BLOCK"
    code, out, err = applied(sluice, copied, plan["id"])
    assert code == ExitCode.PARTLY_DONE
    assert "blocked by basis when the plan was made" in out
    assert "left where they are: 1 of 2 groups" in err and "apply the plan again" not in err
    assert copied.committed(copied.east, unmapped) == {}
    copied.topic = mapped
    assert copied.committed(copied.east, healthy) == {0: 10, 1: 20}
    shown = sluice("groups", "show", "--region", copied.east, "--config", str(copied.config))[1]
    assert healthy in shown and unmapped not in shown
    assert verified(sluice, copied, plan["id"])[0] == ExitCode.PARTLY_DONE
    assert applied(sluice, copied, plan["id"])[0] == ExitCode.PARTLY_DONE


def test_a_group_that_started_meanwhile_is_left_and_the_others_are_moved(sluice, copied):
    other = f"billing-{copied.mark}"
    copied.commit(copied.west, {0: 1, 1: 2}, group=other)
    copied.until_copied()
    plan = planned(sluice, copied, "--group", other)["id"]
    begun(copied, plan)
    with copied.member(copied.east):
        code, out, err = applied(sluice, copied, plan)
        assert code == ExitCode.PARTLY_DONE and "has members in" in out
        assert "apply the plan again" in err
        assert copied.committed(copied.east, other) == {0: 1, 1: 2}
        assert verified(sluice, copied, plan)[0] == ExitCode.PARTLY_DONE
    assert applied(sluice, copied, plan)[0] == ExitCode.DONE
    assert verified(sluice, copied, plan)[0] == ExitCode.DONE


def begun(regions: Relocating, plan_id: str) -> None:
    """Applies a plan up to the records of its groups' primary region, then stops."""
    from replicator.groups.failover.fresh_plans import FreshPlans

    appliance = load(regions.config)
    steps = plan_writer(appliance, plans(regions).load(plan_id), 10.0).steps(
        FreshPlans(appliance), who="ann", now_ms=regions.now_ms()
    )
    assert len(list(islice(steps, 3))) == 3
    steps.close()


# 6: stale


def test_an_expired_plan_is_stale(sluice, copied):
    plan = planned(sluice, copied, "--valid-minutes", "0.0001")["id"]
    code, _, err = applied(sluice, copied, plan)
    assert code == ExitCode.PLAN_STALE and "expired" in err
    assert copied.committed(copied.east) == {}


@pytest.mark.core
def test_a_group_that_was_rewound_since_makes_the_plan_stale_and_one_that_read_on_does_not(
    sluice, copied
):
    plan = planned(sluice, copied)["id"]
    copied.commit(copied.west, {0: 4})
    copied.until_copied()
    code, _, err = applied(sluice, copied, plan)
    assert code == ExitCode.PLAN_STALE and "went back" in err
    assert copied.committed(copied.east) == {}
    plan = planned(sluice, copied)["id"]
    copied.commit(copied.west, {0: 30})
    copied.until_copied()
    assert applied(sluice, copied, plan)[0] == ExitCode.DONE
    assert copied.committed(copied.east) == {0: 4, 1: 20}


@pytest.mark.core
def test_of_two_plans_the_second_is_stale(sluice, copied):
    first, second = planned(sluice, copied)["id"], planned(sluice, copied)["id"]
    assert applied(sluice, copied, first)[0] == ExitCode.DONE
    code, _, err = applied(sluice, copied, second)
    assert code == ExitCode.PLAN_STALE and "decided anew" in err
    assert "lives in" in verified(sluice, copied, second)[1]


def test_the_scene_is_what_its_numbers_say(regions: Relocating):
    ends = [WEST_RECORDS, WEST_RECORDS + EAST_RECORDS]
    for cluster, end in zip(regions.clusters.values(), ends, strict=True):
        assert set(stable_ends(cluster, {regions.topic: PARTITIONS}).values()) == {end}
