"""Questions of the console about groups and balancing, asked of real servers."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

from balancer.topic_partition import TopicPartition
from deploy.lab.kafka import KafkaCluster as LabCluster
from deploy.lab.wait import until
from replicator.config.topology import load
from replicator.groups.membership.committed_offsets import GROUPS_PER_REQUEST, CommittedOffsets
from replicator.groups.membership.primary_log import PrimaryLog
from replicator.groups.membership.primary_region import decided
from replicator.groups.membership.primary_store import PrimaryStore
from replicator.kafka.admin.admin_error import AdminError
from replicator.kafka.admin.listening import check_listening
from replicator.orders.order_records import Hold, Pin
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.conftest import TopicMaker
from tests.live.hand_carried import HandCarried
from tests.live.played_balance import ORDERS, Balanced, now_ms
from tui.commands.exit_codes import ExitCode
from tui.facts.watch.admins import Admins
from tui.facts.watch.balance_questions import balance_of, balance_questions
from tui.facts.watch.group_questions import (
    copies_age_in,
    group_questions,
    groups_of,
    lags_key,
    members_key,
)
from tui.facts.watch.question import Answer, Answers, Key, Question
from tui.facts.watch.resume_process import ResumeProcess
from tui.program import run

PATIENCE_SECONDS = 60.0
TIMEOUT_SECONDS = 10.0


def asked(questions: Iterable[Question]) -> Answers:
    """Asks each question once, those that it needs before it; silent servers are problems."""
    found: dict[Key, Answer] = {}
    for each in questions:
        needed = [found[key].value for key in each.needs]
        asked_at = time.time()
        try:
            if each.cluster is not None:
                check_listening(each.key.server, each.cluster)
            if all(it is not None for it in needed):
                found[each.key] = Answer(each.ask(*needed), asked_at)
        except (AdminError, StoreUnreachable) as problem:
            found[each.key] = Answer(problem=str(problem), problem_since=asked_at)
    return Answers(found)


@contextmanager
def questions_of(regions: HandCarried) -> Iterator[list[Question]]:
    found = group_questions(Admins(regions.appliance, TIMEOUT_SECONDS))
    try:
        yield found
    finally:
        for each in found:
            each.close()


@contextmanager
def consuming(cluster: LabCluster, group: str, topic: str) -> Iterator[None]:
    """Runs a member of the group that commits nothing."""
    options = {**cluster.librdkafka_options(), "group.id": group, "enable.auto.commit": False}
    consumer = Consumer(options)
    assigned: list[object] = []
    consumer.subscribe([topic], on_assign=lambda _, places: assigned.extend(places))
    try:
        assert until(lambda: bool(consumer.poll(0.1) or assigned), PATIENCE_SECONDS)
        yield
    finally:
        consumer.close()


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def landed(regions: HandCarried, *names: str, topic: str) -> TopicPartition:
    """Lands the same 15 records in the aggregates of these regions."""
    partition = TopicPartition(topic, 0)
    for name in names:
        regions.land(name, partition, ("west", 10), ("east", 5))
        regions.publish(name)
    return partition


def test_a_group_is_shown_with_members_lags_decision_and_copies_and_where_it_would_resume(
    regional: LabCluster, aggregate: LabCluster, redis, make_topic: TopicMaker, group: str
):
    regions = HandCarried({"west": regional, "east": aggregate}, redis.url)
    topic = make_topic(regional, aggregate)
    partition = landed(regions, "west", "east", topic=topic)
    regions.commit("west", group, {partition: 12})
    west, east = regions.name["west"], regions.name["east"]
    record = decided(None, group, west, at_ms=now_ms(), who="ann@ops", why="the bank")
    PrimaryLog("west aggregate", regions.settings("west")).write([record])
    with questions_of(regions) as questions, consuming(aggregate, group, topic):
        answers = asked(questions)
    assert not [each.problem for each in answers.by_key.values() if each.problem]
    found = {each.group: each for each in groups_of(regions.appliance, answers, time.time()) or ()}
    view = found[group]
    assert (view.primary, view.who, view.has_record) == (west, "ann@ops", True)
    assert (view.members, view.unknown, view.is_out_of_place) == ((east,), (), True)
    assert (view.lag, view.partitions, view.topics) == ({west: 3}, 1, (topic,))
    assert view.copies_age_seconds is not None and view.copies_age_seconds < PATIENCE_SECONDS
    assert not any(name.startswith("sluice.") for name in found)
    worker = ResumeProcess.of(regions.appliance, TIMEOUT_SECONDS)
    try:
        detail = worker.detail(group, west, east)
    finally:
        worker.close()
    (position,) = detail.positions
    assert (detail.problem, position.topic, position.partition) == (None, topic, 0)
    assert (position.committed, position.lag) == ({west: 12}, {west: 3})
    assert (position.resume, position.basis, position.read_again) == (12, "exact", 0)


def test_of_a_lost_region_the_copies_are_shown_and_its_members_are_not_known(
    aggregate: LabCluster, redis, make_topic: TopicMaker, group: str
):
    regions = HandCarried({"east": aggregate}, redis.url, away=["west"])
    topic = make_topic(aggregate)
    partition = landed(regions, "west", "east", topic=topic)
    regions.commit("west", group, {partition: 12})
    west, east = regions.name["west"], regions.name["east"]
    with PrimaryStore(regions.url("east")) as store:
        store.write([decided(None, group, west, at_ms=1, who="ann", why="w")])
    with questions_of(regions) as questions:
        answers = asked(questions)
    assert "refused" in (answers.answer(members_key(west)).problem or "")
    now = time.time()
    view = next(it for it in groups_of(regions.appliance, answers, now) or () if it.group == group)
    assert (view.primary, view.unknown, view.lag) == (west, (west,), {})
    assert copies_age_in(regions.appliance, answers, east, now) is not None
    worker = ResumeProcess.of(regions.appliance, TIMEOUT_SECONDS)
    try:
        (position,) = worker.detail(group, west, east).positions
    finally:
        worker.close()
    assert (position.committed, position.lag, position.resume) == ({west: 12}, {}, 12)


def test_many_groups_are_read_with_few_requests(
    aggregate: LabCluster, redis, make_topic: TopicMaker, group: str
):
    regions = HandCarried({"east": aggregate}, redis.url)
    topic = make_topic(aggregate, partitions=3)
    partition = TopicPartition(topic, 0)
    names = [f"{group}-{number}" for number in range(GROUPS_PER_REQUEST + 20)]
    rows = [(name, partition, number, "x" * 200) for number, name in enumerate(names)]
    regions.commit_uncopied("east", rows)
    east = regions.name["east"]
    found = CommittedOffsets("east aggregate", regions.settings("east")).of(
        [*names, f"{group}-none"]
    )
    assert {name: found[name] for name in names} == {
        name: {topic: [(0, number)]} for number, name in enumerate(names)
    }
    assert found[f"{group}-none"] == {}
    with questions_of(regions) as questions:
        lags = asked(questions).value(lags_key(east))
    # The log is empty: a commit beyond its end leaves nothing to read.
    assert {lags[name].records for name in names} == {0}


def test_orders_are_read_on_and_ended_by_the_commands_that_are_shown(
    aggregate: LabCluster, redis, tmp_path, capsys
):
    balanced = Balanced(tmp_path, aggregate, redis)
    appliance = load(balanced.config)
    questions = balance_questions(Admins(appliance, TIMEOUT_SECONDS))
    assert balance_of(appliance, asked(questions), time.time())[0].orders == ()
    balanced.publish(balanced.placed(), balanced.lease())
    balanced.show_round(3)
    balanced.show_driver(("default", 3))
    terms = {"route": balanced.key, "at_ms": now_ms(), "who": "ann@ops", "why": "w"}
    topic, partition = ORDERS[0]
    orders = (Hold(**terms), Pin(**terms, topic=topic, partition=partition, carrier=0))
    balanced.log.write(orders)
    (view,) = balance_of(appliance, asked(questions), time.time())
    (stream,) = view.streams
    assert (stream.generation, stream.driver_generation, stream.partitions) == (3, 3, 4)
    assert (stream.heaviest, stream.bound, view.is_acting) == (0.5, 0.4, True)
    assert {each.kind for each in view.orders or ()} == {"hold", "pin"}
    for order in view.orders or ():
        words = [*order.undo, "--config", str(balanced.config), "-o", "json"]
        assert run(words) == ExitCode.DONE
    capsys.readouterr()
    assert balance_of(appliance, asked(questions), time.time())[0].orders == ()
    for each in questions:
        each.close()
