"""`sluice accept-loss` without a cluster: refusals, output and timeouts."""

import asyncio
import socket
from collections.abc import Iterator

import pytest

from balancer.plan import TopicPartition
from replicator.config.topology import load
from replicator.kafka.client.cluster import Cluster, Fenced, Forbidden, ProducerStateLost
from replicator.kafka.client.loss import Loss, LossKind
from replicator.mirror.ledger.accepted_losses import STEPPED_OVER
from replicator.mirror.repair.accept_loss import NO_ENTRY, Acceptance, Parked
from tests.replicator.mirror.ledger.held import held
from tests.tui.cli.commands.test_replicate import CONFIG
from tui.cli.exit_codes import ExitCode, exit_code_of
from tui.program import run

ONE, TWO = TopicPartition("flights", 0), TopicPartition("flights", 1)


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


def test_a_source_that_never_answers_is_named_once_something_is_accepted(config, monkeypatch):
    async def silent_source(cluster, topics=()):
        await asyncio.sleep(60 if cluster.name == "west regional" else 0)

    monkeypatch.setattr(Cluster, "open", silent_source)
    appliance = load(config)
    acceptance = Acceptance(appliance, appliance.route("west>east"))

    async def accept_one():
        async with asyncio.timeout(0.05):
            await acceptance.accept([Parked(ONE, None, NO_ENTRY)], 5)

    with pytest.raises(TimeoutError):
        asyncio.run(accept_one())
    assert acceptance.trouble == "west regional: no answer yet"


def test_a_timeout_of_nothing_is_a_mistake(config, capsys):
    assert accept_loss(config, "--topic", "flights", "--timeout", "0") == ExitCode.USAGE
    assert "--timeout" in capsys.readouterr().err


def test_the_source_is_asked_only_when_something_is_accepted(config, monkeypatch, capsys):
    opened = []

    async def note(cluster, topics=()):
        opened.append(cluster.name)

    async def none_adopted(ledger, topic):
        return 0

    monkeypatch.setattr(Cluster, "open", note)
    monkeypatch.setattr("replicator.mirror.ledger.ledger.Ledger.witnessed", none_adopted)
    monkeypatch.setattr("replicator.kafka.client.brokers.Brokers.topic", lambda *_: "known")
    assert accept_loss(config, "--topic", "flights") == ExitCode.DONE
    assert opened == ["east aggregate"]
    assert "nothing is parked" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [kind for kind in LossKind if kind not in STEPPED_OVER])
def test_an_offset_that_a_loss_does_not_take_is_refused_before_anything_is_asked(
    config, monkeypatch, capsys, kind
):
    asked = []

    async def opened(cluster, topics=()):
        asked.append(cluster.name)

    async def parked(acceptance, topics):
        corrupt = held(parked=Loss(LossKind.SOURCE_CORRUPT, 5, 6))
        other = held(parked=Loss(kind, 50, 60))
        return [Parked(ONE, corrupt, ""), Parked(TWO, other, "")]

    async def accept(acceptance, losses, restart_at):
        asked.append(losses)
        return []

    monkeypatch.setattr(Cluster, "open", opened)
    monkeypatch.setattr("replicator.kafka.client.brokers.Brokers.topic", lambda *_: "known")
    monkeypatch.setattr(Acceptance, "parked", parked)
    monkeypatch.setattr(Acceptance, "_accept", accept)
    words = ["--topic", "flights", "--restart-at", "6", "--yes"]
    assert accept_loss(config, *words) == ExitCode.USAGE
    error = " ".join(capsys.readouterr().err.split())
    assert f"--restart-at is not for flights-1: {kind.value}." in error
    assert "without --restart-at" in error and "--partition" in error
    assert asked == ["east aggregate"], "the source was not asked, nothing was accepted"


def test_what_a_broker_says_to_the_operators_writer_is_no_surprise():
    assert exit_code_of(Fenced("Produce", [90])) is ExitCode.FENCED
    assert exit_code_of(Forbidden("Produce", [29])) is ExitCode.UNREACHABLE
    assert exit_code_of(ProducerStateLost("Produce", [59])) is ExitCode.PARTLY_DONE
