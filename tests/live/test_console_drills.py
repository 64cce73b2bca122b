"""Drills of newcomers to the console: causes to find, a region to move, a console that is killed.

Real processes: two regions with all their daemons, and the console in a terminal. A newcomer
presses only what the screen names.
"""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import psutil
import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import OffsetSpec

from deploy.lab.daemons import SLUICE, Daemons
from deploy.lab.kafka import KafkaCluster
from deploy.lab.skewed_load import SkewedLoad
from deploy.lab.traffic import TrafficRecord, records, send
from deploy.lab.wait import until
from tests.live.drill_site import PARTITIONS, PATIENCE_SECONDS, Site, lab_of
from tests.live.newcomer import Found, Newcomer
from tests.live.terminal import Terminal
from tests.live.topics import alter

pytestmark = [pytest.mark.drill, pytest.mark.timeout(600)]

KIB = 1024
KEYS_MAX = 6
TOPICS = ("hot", "large", "kept", "calm", "trades")
HOT = {0: 150.0 * KIB, 1: 2.0 * KIB}
"""Bytes a second by partition; a carrier takes 102 KiB."""
RECORDS = 200
GROUPS = [f"group-{number:03d}" for number in range(400)]
BALANCE = """\
[balance]
capacity_mib_per_second = 0.1
carriers_max = 4
sample_seconds = 1.0
round_seconds = 2.0
patience_rounds = 2
calm_rounds = 3
cool_down_seconds = 0.0
"""


@pytest.fixture(scope="module")
def whole_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with lab_of(tmp_path_factory.mktemp("console"), TOPICS, BALANCE) as lab:
        for topic in ("calm", "trades"):
            send(lab.regions["west"].regional, topic, records(RECORDS, partitions=PARTITIONS))
        with Daemons(lab) as daemons:
            for name in lab.regions:
                # With fewer slots than carriers the balancer would warn of that all the time.
                daemons.start(name, "replicate", arguments=("--master", "local[8,8]"))
            yield Site(lab, daemons)


@pytest.fixture
def site(whole_site: Site) -> Site:
    whole_site.make_whole()
    return whole_site


def console(site: Site, *options: str, columns: int = 80, rows: int = 24) -> Terminal:
    command = [str(SLUICE), "console", "--config", str(site.lab.configuration), *options]
    return Terminal(command, columns=columns, rows=rows)


def tell(what: str, found: Found) -> None:
    """Prints a way, and holds it to the limit."""
    print(f"{what}: {found}\n{found.screen}")
    assert len(found.keys) <= KEYS_MAX


def test_a_hot_partition_is_found_with_its_carrier(site: Site) -> None:
    with console(site) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        began = time.monotonic()
        with SkewedLoad(site.west.regional, "hot", HOT):
            found = newcomer.seek(
                "> hot ", r" 0 .* \d \S+", r"hot-0 takes \d\.\d+ of a carrier", since=began
            )
        tell("hot partition", found)


def test_records_that_the_target_refuses_are_found(site: Site) -> None:
    alter(site.east.aggregate, "large", {"max.message.bytes": "1000"})
    with console(site, columns=100, rows=30) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        began = time.monotonic()
        large = TrafficRecord(partition=1, key=None, value=os.urandom(5000))
        send(site.west.regional, "large", [large])
        found = newcomer.seek(
            "west>east > large", r"PARKED +1 ", "larger than the target takes", since=began
        )
        tell("target refuses", found)
    site.operator.ask("accept-loss", "--route", "west>east", "--topic", "large", "--yes")


def test_records_that_retention_has_removed_before_they_were_mirrored_are_found(
    site: Site,
) -> None:
    """The topic is paused meanwhile; the fault is there once it goes on."""
    route = ("--route", "west>east")
    site.operator.ask("stream", "pause-topic", "kept", *route, "--reason", "drill")
    assert until(lambda: is_condition(site, "paused", "kept"), PATIENCE_SECONDS, 0.5)
    send(site.west.regional, "kept", records(RECORDS, partitions=PARTITIONS))
    with console(site) as terminal:
        newcomer = Newcomer(terminal)
        terminal.shows("ALERTS")
        remove_all(site.west.regional, "kept")
        site.operator.ask("stream", "resume-topic", "kept", *route)
        began = time.monotonic()
        found = newcomer.seek(
            "west>east > kept", r"PARKED +[01] ", "parked: .*retention", since=began
        )
        tell("retention passed", found)
    lost = ("--route", "west>east", "--topic", "kept", "--yes")
    site.operator.ask("accept-loss", *lost)


def test_a_carrier_that_is_stopped_is_found(site: Site) -> None:
    pids = carrier_pids(site.daemons.log("east", "replicate"), "west>east")
    with console(site, columns=100, rows=30) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        began = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        try:
            send(site.west.regional, "calm", records(RECORDS, partitions=PARTITIONS))
            found = newcomer.seek(
                "west>east > calm",
                r"[01] ",
                r"carrier \d+ on \S+ \(pid \d+\) has said",
                since=began,
            )
            tell("carrier stopped", found)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)


def test_a_console_that_is_killed_while_a_plan_is_applied_tells_the_truth_when_it_is_back(
    site: Site,
) -> None:
    """The target stops as well, so that the result is not known (exit code 7)."""
    commit(site.west.aggregate, GROUPS)
    site.until_known("west", "east", GROUPS[-1])
    with console(site, "--steer") as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        plan(newcomer, {"all groups": "yes"})
        apply(newcomer)
        newcomer.until_job_says("running", r"group-\d\d\d")
        site.east.aggregate.pause()
        os.kill(terminal.pid, signal.SIGKILL)
    with console(site, "--steer") as terminal:
        newcomer = Newcomer(terminal)
        terminal.shows("ALERTS")
        newcomer.press("b")
        newcomer.until_job_says("running", "failover apply")
        newcomer.until_job_says(r"ended +7 ", "with exit code 7", "sluice failover verify")
        site.east.aggregate.resume()
        site.east.aggregate.wait_ready()
        newcomer.press("enter")
        newcomer.press("enter")
        apply(newcomer)
        newcomer.until_job_says("ended: done")
        verify(newcomer)
    assert len(committed(site.east.aggregate, GROUPS[-1])) == PARTITIONS


def test_a_region_is_lost_and_its_groups_are_moved_by_keys(site: Site) -> None:
    commit(site.west.aggregate, ["billing"])
    site.until_known("west", "east", "billing")
    with console(site, "--steer", columns=100, rows=30) as terminal:
        newcomer = Newcomer(terminal)
        newcomer.until_calm()
        began = time.monotonic()
        site.lose(site.west)
        assert newcomer.sees("region west does not answer", seconds=60.0), newcomer.screen
        print(f"region lost: on the overview after {time.monotonic() - began:.0f} s")
        plan(newcomer, {"groups": "billing"})
        apply(newcomer)
        newcomer.until_job_says("ended: done", "failover apply")
        verify(newcomer)
        print(f"region moved: {len(newcomer.keys)} keys, {time.monotonic() - began:.0f} s")
    assert len(committed(site.east.aggregate, "billing")) == PARTITIONS


def plan(newcomer: Newcomer, groups: Mapping[str, str]) -> None:
    """Plans a failover by keys until nothing blocks it, and goes in to the plan."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    fields = ("from", "to", "groups", "all groups", "except", "reason", "valid minutes")
    values = {"from": "west", "to": "east", "reason": "west lost power", **groups}
    while time.monotonic() < give_up_at:
        newcomer.press("4")
        newcomer.press("P")
        newcomer.fill({name: values.get(name, "") for name in fields})
        newcomer.confirm()
        newcomer.until_job_says("ended: (done|refused)")
        newcomer.press("enter")
        if newcomer.sees("CAN BE APPLIED"):
            return
    raise AssertionError(f"no plan is valid:\n{newcomer.screen}")


def apply(newcomer: Newcomer) -> None:
    """Applies the plan on screen."""
    newcomer.press("A")
    newcomer.confirm("west:east")


def verify(newcomer: Newcomer) -> None:
    """Goes in to the plan of the job on screen, and verifies it."""
    newcomer.press("enter")
    newcomer.press("V")
    newcomer.confirm()
    newcomer.until_job_says("ended: done", "failover verify")


def commit(cluster: KafkaCluster, groups: Iterable[str]) -> None:
    """Commits offsets of groups without members."""
    admin = cluster.admin()
    wheres = [KafkaTopicPartition("trades", number, 10) for number in range(PARTITIONS)]
    for group in groups:
        asked = [ConsumerGroupTopicPartitions(group, wheres)]
        for done in admin.alter_consumer_group_offsets(asked).values():
            done.result(30)


def committed(cluster: KafkaCluster, group: str) -> dict[int, int]:
    """Returns the offsets of a group, by partition."""
    asked = [ConsumerGroupTopicPartitions(group)]
    admin = cluster.admin()
    (done,) = admin.list_consumer_group_offsets(asked).values()
    return {each.partition: each.offset for each in done.result(30).topic_partitions}


def is_condition(site: Site, kind: str, topic: str) -> bool:
    shown = site.operator.ask("status", "-o", "json", codes=range(10)).json()
    return any((each["kind"], each["topic"]) == (kind, topic) for each in shown["conditions"])


def remove_all(cluster: KafkaCluster, topic: str) -> None:
    """Deletes all records of a topic, as retention does."""
    admin = cluster.admin()
    asked = {
        KafkaTopicPartition(topic, number): OffsetSpec.latest() for number in range(PARTITIONS)
    }
    ends = {at: done.result(30).offset for at, done in admin.list_offsets(asked).items()}
    wheres = [KafkaTopicPartition(topic, at.partition, end) for at, end in ends.items()]
    for done in admin.delete_records(wheres).values():
        done.result(30)


def carrier_pids(log: Path, route: str) -> set[int]:
    """Returns the living processes that run carriers of a route."""
    pattern = rf"pid=(\d+) from=\S+ event=epoch route={route} "
    pids = {int(found) for found in re.findall(pattern, log.read_text())}
    return {pid for pid in pids if psutil.pid_exists(pid)}
