"""Orders to the keepers of upsert tables, on the command line, without servers."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from aggregator.upsert.tick import Lane, LaneRange, Stop, Tick
from replicator.kafka.client.loss import Loss, LossKind
from replicator.orders.order_records import RotateTable, SettleTable
from tests.replicator.config.test_feed_contradictions import feed
from tests.replicator.config.test_topology import SOUND
from tests.replicator.config.test_upsert_table import table
from tests.tui.commands.test_aggregate_orders import client
from tui.commands.exit_codes import ExitCode
from tui.commands.upsert_orders import SegmentLosses, losses_of, losses_text
from tui.program import run

__all__ = ["client"]  # fixture


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "appliance.toml"
    path.write_text(SOUND + feed(topics='".*"') + table())
    return str(path)


@pytest.mark.parametrize(("command", "kind"), [("settle", SettleTable), ("rotate", RotateTable)])
def test_an_order_is_written_and_ends_by_itself(config, client, capsys, command, kind):
    arguments = ["--config", config, "--feed", "flights", "--table", "status", "--reason", "full"]
    assert run(["upsert", command, *arguments, "-o", "json"]) == ExitCode.DONE
    (order,) = client.written
    assert isinstance(order, kind)
    assert (order.feed, order.table, order.why) == ("flights", "status", "full")
    assert order.until_ms == order.at_ms + 600_000
    (shown,) = json.loads(capsys.readouterr().out)["written"]
    assert (shown["kind"], shown["table"]) == (f"{command}-table", "status")


def test_an_order_about_a_table_that_the_feed_does_not_have_is_refused(config, client, capsys):
    arguments = ["--config", config, "--feed", "flights", "--table", "other", "--reason", "full"]
    assert run(["upsert", "settle", *arguments]) == ExitCode.USAGE
    assert "feed flights has no upsert table 'other'; known: status" in capsys.readouterr().err
    assert client.writes == 0


TICK = Tick(
    1,
    7,
    0,
    (
        Lane("east aggregate", "status", UUID(int=1), 0),
        Lane("east aggregate", "status", UUID(int=1), 1),
    ),
    (LaneRange(5, 5), LaneRange(3, 8)),
    stops=(Stop(0, Loss(LossKind.RETENTION_PASSED, 5, 9)),),
)


def test_a_loss_is_shown_with_its_range():
    found = SegmentLosses(tuple(losses_of(TICK, [0])))
    (shown,) = found.losses
    assert (shown.segment, shown.partition, shown.begin, shown.end) == (0, 0, 5, 9)
    assert "[5, 9)" in losses_text(found) and "--yes" in losses_text(found)
    assert losses_text(SegmentLosses(())) == "no input partition is stopped"


def test_a_loss_is_not_accepted_without_a_reason(config, client, capsys):
    arguments = ["--config", config, "--feed", "flights", "--table", "status", "--yes"]
    assert run(["upsert", "accept-loss", *arguments]) == ExitCode.USAGE
    assert "--yes needs --reason" in capsys.readouterr().err
    assert client.writes == 0
