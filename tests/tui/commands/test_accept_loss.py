"""`sluice accept-loss` without a cluster: selection, refusals, timeouts and output."""

import asyncio
import socket
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import Appliance, KafkaCluster, Route, load
from replicator.kafka.client.cluster import Cluster, Fenced, Forbidden, ProducerStateLost
from replicator.kafka.client.cluster_metadata import Topic
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.carrier.carrier_assembly import Makers
from replicator.mirror.ledger.accepted_losses import STEPPED_OVER
from replicator.mirror.repair.accept_loss import NO_ENTRY, Acceptance, Accepted, Parked
from tests.replicator.mirror.ledger.held import held
from tests.tui.commands.test_replicate import CONFIG
from tui.commands import accept_loss as command
from tui.commands.accept_loss import (
    BadAcceptance,
    LossReport,
    LossRequest,
    accept_losses,
    losses_text,
    losses_values,
)
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.program import run

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)
REQUEST = LossRequest(
    topics=frozenset(["flights"]),
    partitions=frozenset(),
    restart_at=None,
    is_accepting=True,
    timeout_seconds=5.0,
)
PARKED = LossReport(parked=(Parked(ONE, None, NO_ENTRY),))
ACCEPTED = LossReport(
    accepted=(Accepted(ONE, ("source batch cannot be read",), 7),),
    left={TWO: "no leader in the target"},
)


@pytest.fixture
def silent() -> Iterator[str]:
    """Address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def config(tmp_path, silent) -> str:
    """Configuration whose target never answers and whose source does not exist."""
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace("127.0.0.1:4", silent))
    return str(file)


def accept_loss(config: str, *more: str) -> int:
    return run(["accept-loss", "--config", config, "--route", "west>east", *more])


def test_a_cluster_that_never_answers_is_given_up_and_named(config, capsys):
    assert accept_loss(config, "--topic", "flights", "--timeout", "0.3") == ExitCode.UNREACHABLE
    assert "given up after 0.3 s: east aggregate" in capsys.readouterr().err


class Opened(Cluster):
    """Cluster that notes that it was opened, and holds nothing."""

    def __init__(self, name: str, settings: KafkaCluster, opened: list[str], seconds: float):
        super().__init__(name, settings)
        self._opened, self._seconds = opened, seconds

    async def open(self, topics=()):
        self._opened.append(self.name)
        await asyncio.sleep(self._seconds)

    def topic(self, name):
        return Topic(UUID(int=1), {})

    async def commits(self, group, partitions):
        return {}


def acceptance_of(
    config: str, opened: list[str], kind: type[Acceptance] = Acceptance, silent_seconds: float = 0.0
) -> Acceptance:
    """Returns an acceptance on stand-ins of both clusters.

    Args:
        opened: gets the name of each cluster that is opened.
        silent_seconds: time until the source answers.
    """

    def clusters(appliance: Appliance, route: Route, **_: object) -> tuple[Cluster, Cluster]:
        return (
            Opened("west regional", appliance.source_of(route), opened, silent_seconds),
            Opened("east aggregate", appliance.target_of(route), opened, 0.0),
        )

    appliance = load(config)
    return kind(appliance, appliance.route("west>east"), Makers(clusters=clusters))


def asking(**options: Any) -> LossRequest:
    values = {"restart_at": None, "is_accepting": False, "timeout_seconds": 10.0, **options}
    return LossRequest(topics=frozenset({"flights"}), partitions=frozenset(), **values)


def test_a_source_that_never_answers_is_named_once_something_is_accepted(config):
    acceptance = acceptance_of(config, [], silent_seconds=60.0)

    async def accept_one():
        async with asyncio.timeout(0.05):
            await acceptance.accept([Parked(ONE, None, NO_ENTRY)], 5)

    with pytest.raises(TimeoutError):
        asyncio.run(accept_one())
    assert acceptance.trouble == "west regional: no answer yet"


def test_a_timeout_of_nothing_is_a_mistake(config, capsys):
    assert accept_loss(config, "--topic", "flights", "--timeout", "0") == ExitCode.USAGE
    assert "--timeout" in capsys.readouterr().err


def test_the_source_is_asked_only_when_something_is_accepted(config):
    opened: list[str] = []
    report = asyncio.run(accept_losses(acceptance_of(config, opened), asking(is_accepting=True)))
    assert opened == ["east aggregate"]
    assert report == LossReport()


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (LossReport(), ExitCode.DONE),
        (LossReport(parked=(Parked(ONE, None, NO_ENTRY),)), ExitCode.REFUSED),
        (LossReport(left={ONE: "no answer"}), ExitCode.PARTLY_DONE),
        (LossReport(accepted=(Accepted(ONE, ("lost",), 5),)), ExitCode.DONE),
        (BadAcceptance("--restart-at is not for flights-1"), ExitCode.USAGE),
    ],
)
def test_the_exit_code_says_what_is_left(config, monkeypatch, capsys, report, code):
    async def accepted(*_):
        if isinstance(report, BadAcceptance):
            raise report
        return report

    monkeypatch.setattr(command, "accept_losses", accepted)
    assert accept_loss(config, "--topic", "flights") == code
    assert ("nothing is parked" in capsys.readouterr().out) == (report == LossReport())


@pytest.mark.parametrize("kind", [kind for kind in LossKind if kind not in STEPPED_OVER])
def test_an_offset_that_a_loss_does_not_take_is_refused_before_anything_is_asked(config, kind):
    class TwoParked(Acceptance):
        async def parked(self, topics):
            corrupt = held(parked=Loss(LossKind.SOURCE_CORRUPT, 5, 6))
            other = held(parked=Loss(kind, 50, 60))
            return [Parked(ONE, corrupt, ""), Parked(TWO, other, "")]

    opened: list[str] = []
    acceptance = acceptance_of(config, opened, TwoParked)
    with pytest.raises(BadAcceptance, match="without --restart-at") as refusal:
        asyncio.run(accept_losses(acceptance, asking(restart_at=6, is_accepting=True)))
    error = str(refusal.value)
    assert f"--restart-at is not for flights-1: {kind.value}." in error
    assert "--partition" in error
    assert opened == ["east aggregate"], "the source was not asked, nothing was accepted"


def test_what_a_broker_says_to_the_operators_writer_is_no_surprise():
    assert exit_code_of(Fenced("Produce", [90])) is ExitCode.FENCED
    assert exit_code_of(Forbidden("Produce", [29])) is ExitCode.UNREACHABLE
    assert exit_code_of(ProducerStateLost("Produce", [59])) is ExitCode.PARTLY_DONE


class PretendAcceptance:
    """Acceptance with two parked partitions; one has no leader when it is to be accepted."""

    trouble = ""
    bytes_read = 0

    def __init__(self, *_: object):
        self.left: dict[TopicPartition, str] = {}

    async def open(self, topics):
        self.topics = topics

    async def close(self):
        pass

    async def unknown(self, topics):
        return sorted(set(topics) - {"flights"})

    async def parked(self, topics):
        return [Parked(partition, None, NO_ENTRY) for partition in (ONE, TWO)]

    async def accept(self, parked, restart_at):
        self.left = {TWO: "no leader in the target"}
        return [Accepted(ONE, ("source batch cannot be read",), 7)]


def accepted(acceptance: PretendAcceptance, request: LossRequest):
    return asyncio.run(accept_losses(acceptance, request))


def test_a_misspelt_topic_is_refused_by_its_name():
    topics = frozenset(["flights", "fligths"])
    with pytest.raises(BadAcceptance, match="nor ever mirrored on this route: fligths"):
        accepted(PretendAcceptance(), replace(REQUEST, topics=topics))


def test_parked_partitions_are_only_shown_unless_they_are_to_be_accepted():
    report = accepted(PretendAcceptance(), replace(REQUEST, is_accepting=False))
    assert [each.partition for each in report.parked] == [ONE, TWO]
    one = replace(REQUEST, is_accepting=False, partitions=frozenset([1]))
    assert [each.partition for each in accepted(PretendAcceptance(), one).parked] == [TWO]
    none = replace(REQUEST, partitions=frozenset([7]))
    report = accepted(PretendAcceptance(), none)
    assert (report.parked, report.accepted, report.left) == ((), (), {})


def test_the_report_has_accepted_partitions_and_those_that_were_left_with_the_reason():
    report = accepted(PretendAcceptance(), REQUEST)
    assert [each.partition for each in report.accepted] == [ONE]
    assert report.left == {TWO: "no leader in the target"}
    assert report.parked == ()


def test_parked_partitions_have_their_reasons(assert_snapshot):
    assert_snapshot(losses_text(PARKED), "accept_loss_parked")
    assert losses_values(PARKED) == [{"topic": "flights", "partition": 0, "reason": NO_ENTRY}]
    assert losses_text(LossReport()) == "nothing is parked"


def test_partitions_that_go_on_are_listed_before_those_that_were_left(assert_snapshot):
    assert_snapshot(losses_text(ACCEPTED), "accept_loss")
    accepted, left = losses_values(ACCEPTED)
    assert accepted.keys() == left.keys()
    assert (accepted["goes_on_at_source_offset"], accepted["left_because"]) == (7, None)
    assert (left["partition"], left["left_because"]) == (1, "no leader in the target")
