"""Orders to the loaders of a feed, on the command line, without servers."""

from __future__ import annotations

import json

import pytest

from aggregator.intents.table_range import TableRange
from aggregator.loader.reports import FeedPartition
from replicator.orders.order_records import Freeze, RefreshSchema, SkipReplay
from tests.tui.commands.test_aggregate import config, no_configuration
from tests.tui.recording_client import RecordingClient
from tui.commands.aggregate_orders import blocks_text, blocks_values
from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext
from tui.facts.feed_scope import PendingBlock
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures

FEED = ["--feed", "flights"]
REASON = ["--reason", "merge"]
BLOCK = PendingBlock(
    FeedPartition("west regional", "flights", 3),
    "departures",
    TableRange(10, 25, 12, "h", 1_800_000_000_000),
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["freeze", *REASON], "--feed"),
        (["freeze", *FEED], "--reason"),
        (["freeze", *FEED, *REASON, "--partition", "1"], "--partition needs --topic"),
        (["freeze", *FEED, *REASON, "--for", "1 day"], "no length of time"),
        (["freeze", "--feed", "x", *REASON], "no feed 'x'; known: flights"),
        (["resume"], "--feed"),
        (["refresh-schema", *FEED], "--reason"),
        (["skip-replay", *FEED, "--confirm"], "--confirm needs --reason"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["aggregate", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["freeze", "resume"])
def test_a_topic_that_the_feed_does_not_load_is_refused(config, capsys, command, client):
    reason = REASON if command == "freeze" else []
    arguments = [*FEED, *reason, "--topic", "sales"]
    assert run(["aggregate", command, "--config", config, *arguments]) == ExitCode.REFUSED
    assert "no shard of feed flights has the topic sales" in capsys.readouterr().err


@pytest.fixture
def client(monkeypatch) -> RecordingClient:
    """Client in place of the one of every command."""
    freeze = Freeze(route="flights", at_ms=5, who="bob@ops", why="merge", topic="flights")
    found = RecordingClient(freeze)
    monkeypatch.setattr(FeedContext, "client", found, raising=False)
    return found


def ordered(config, capsys, *arguments):
    assert run(["aggregate", *arguments, "--config", config, "-o", "json"]) == ExitCode.DONE
    return json.loads(capsys.readouterr().out)


def test_orders_are_written_and_shown_as_values(config, capsys, client):
    scope = ["--cluster", "west regional", "--topic", "flights", "--partition", "3"]
    shown = ordered(config, capsys, "freeze", *FEED, *scope, *REASON)
    (order,) = shown["written"]
    assert (order["feed"], order["topic"], order["partition"]) == ("flights", "flights", 3)
    ordered(config, capsys, "refresh-schema", *FEED, "--table", "departures", *REASON)
    assert [type(each) for each in client.written] == [Freeze, RefreshSchema]
    shown = ordered(config, capsys, "resume", *FEED)
    assert [each["topic"] for each in shown["taken_back"]] == ["flights"]
    assert len(client.deleted) == 1


def test_blocks_are_shown_and_skipped_only_with_confirm(config, capsys, client, monkeypatch):
    monkeypatch.setattr("tui.facts.watch.feed_intents.pending_blocks", lambda *_: [BLOCK])
    assert run(["aggregate", "skip-replay", *FEED, "--config", config]) == ExitCode.REFUSED
    assert "departures" in capsys.readouterr().out
    assert client.writes == 0
    ordered(config, capsys, "skip-replay", *FEED, "--confirm", *REASON)
    (order,) = client.written
    assert isinstance(order, SkipReplay) and (order.begin, order.end) == (10, 25)


def test_without_blocks_there_is_nothing_to_confirm(config, capsys, client, monkeypatch):
    monkeypatch.setattr("tui.facts.watch.feed_intents.pending_blocks", lambda *_: [])
    assert run(["aggregate", "skip-replay", *FEED, "--config", config]) == ExitCode.DONE
    assert capsys.readouterr().out == "no block has to be repeated\n"
    assert ordered(config, capsys, "skip-replay", *FEED, "--confirm", *REASON)["written"] == []


def test_the_blocks_are_named_with_their_offsets(assert_snapshot):
    assert_snapshot(blocks_text([BLOCK]), "pending_blocks")
    assert blocks_text([]) == "no block has to be repeated"


def test_values_of_blocks_have_the_same():
    assert blocks_values([BLOCK]) == [
        {
            "cluster": "west regional",
            "topic": "flights",
            "partition": 3,
            "table": "departures",
            "begin": 10,
            "end": 25,
            "records": 12,
            "sealed_at": "2027-01-15T08:00:00Z",
        }
    ]
