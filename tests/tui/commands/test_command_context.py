"""Contexts that the options of commands give: of orders, of balancing commands, of a feed."""

import json

import click
import pytest

from replicator.config.mistakes import ConfigMistakes
from replicator.orders.order_records import Hold, Pin
from tests.tui.balance_records import FIELDS
from tests.tui.commands.test_aggregate import config as feed_config
from tests.tui.commands.test_replicate import CONFIG
from tests.tui.recording_client import RecordingClient
from tui.commands.command_context import CommandContext, OrderContext, on_one_route, on_routes
from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import on_feed, on_partitions, table_option
from tui.commands.options import answer_options, reason_options
from tui.facts.feed_scope import Scope
from tui.orders.region_orders import OrderChange, Terms

PIN = Pin(**FIELDS, topic="orders", partition=1, carrier=0)
HOLD = Hold(**FIELDS)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace('["west>east"]', '["west>east", "east>east"]'))
    return str(file)


@pytest.fixture
def context(config):
    """Factory of command contexts, as in `context(reason="why")`; the region is east by default."""

    def context(client=None, **more):
        given = {"region_name": "east", "route_name": None, "timeout_seconds": 1.0}
        given |= {"output": "json", "reason": None, "duration": None}
        made = CommandContext(**{"config": config, **given, **more})
        # The cached property counts as read already.
        made.__dict__.update(client=client)
        return made

    return context


def run_command(on, arguments):
    """Returns the context and the own options that a command receives, and its help text."""
    found = []

    @click.command()
    @click.argument("topic")
    @on
    @click.option("--carrier", type=int)
    @reason_options
    @answer_options
    def command(context, **own):
        """Does nothing but test."""
        found.append((context, own))
        return ExitCode.REFUSED

    assert command.main(arguments, standalone_mode=False) == ExitCode.REFUSED
    return *found[0], command.get_help(click.Context(command))


def test_a_command_gets_its_context_and_its_own_options(config):
    arguments = ["orders", "--config", config, "--route", "west>east", "--carrier", "3"]
    context, own, help_text = run_command(
        on_one_route, [*arguments, "--reason", "why", "--for", "2h", "--timeout", "4", "-o", "yaml"]
    )
    assert own == {"topic": "orders", "carrier": 3}
    assert (context.region, context.route.name, context.routes) == (
        "east",
        "west>east",
        (context.route,),
    )
    assert (context.reason, context.duration) == ("why", "2h")
    assert (context.timeout_seconds, context.output) == (4, "yaml")
    names = ["config", "region", "route", "carrier", "reason", "for", "timeout", "output"]
    order = [help_text.index(f"--{name} ") for name in names]
    assert order == sorted(order) and "Does nothing but test." in help_text


def test_without_a_route_all_routes_into_the_region_are_selected(config):
    arguments = ["orders", "--config", config, "--region", "east", "--reason", "why"]
    context, _, _ = run_command(on_routes, arguments)
    assert [each.name for each in context.routes] == ["west>east", "east>east"]
    with pytest.raises(click.MissingParameter, match="route_name"):
        run_command(on_one_route, arguments)


def test_no_file_is_opened_before_it_is_needed(tmp_path):
    arguments = ["orders", "--config", str(tmp_path / "none.toml"), "--region", "east"]
    context, _, _ = run_command(on_routes, [*arguments, "--reason", "why"])
    with pytest.raises(Exception, match="none.toml"):
        _ = context.routes


def test_terms_are_reason_and_duration(context):
    assert context(reason="why", duration="1s").terms == Terms("why", "1s")
    assert context().terms == Terms()


def test_orders_are_of_the_region_and_of_the_person_who_runs_the_command(context):
    orders = context(RecordingClient()).orders
    assert orders.region == "east" and "@" in orders.who


def test_written_and_taken_back_orders_are_shown(context, capsys):
    assert context().show(OrderChange("east", (HOLD,), (PIN,))) == ExitCode.DONE
    shown = json.loads(capsys.readouterr().out)
    assert [it["kind"] for it in shown["written"]] == ["hold"]
    assert [it["kind"] for it in shown["taken_back"]] == ["pin"]


def test_a_change_without_orders_prints_the_given_text(context, capsys):
    change = OrderChange("east")
    assert context(output="table").show(change, nothing="was not pinned") == ExitCode.DONE
    assert capsys.readouterr().out == "was not pinned\n"


def order_context(**more) -> OrderContext:
    given = {"config": "none.toml", "timeout_seconds": 1.0, "output": "json"}
    return OrderContext(**{**given, "reason": None, "duration": None, **more})


def test_a_configuration_that_is_missing_is_named_when_it_is_needed():
    made = order_context()
    with pytest.raises(ConfigMistakes, match=r"none\.toml"):
        _ = made.appliance


def test_terms_are_empty_where_a_command_has_no_such_options():
    assert order_context().terms == Terms()
    assert order_context(reason="why", duration="2h").terms == Terms("why", "2h")


__all__ = ["feed_config"]  # fixture


def run_feed_command(on, arguments):
    """Returns the context that a command receives."""
    found = []

    @click.command()
    @on
    @table_option
    @reason_options
    @answer_options
    def command(context):
        """Does nothing but test."""
        found.append(context)
        return ExitCode.REFUSED

    assert command.main(arguments, standalone_mode=False) == ExitCode.REFUSED
    return found[0]


def test_the_context_has_the_feed_its_region_and_the_scope(feed_config):
    arguments = ["--config", feed_config, "--feed", "flights", "--cluster", "west regional"]
    arguments += ["--topic", "t", "--partition", "0", "--table", "x", "--reason", "why"]
    context = run_feed_command(on_partitions, arguments)
    assert (context.feed.name, context.region) == ("flights", "west")
    assert context.scope == Scope("west regional", "t", 0, "x")
    assert (context.terms.why, context.terms.duration) == ("why", None)


def test_without_options_the_scope_is_the_whole_feed(feed_config):
    context = run_feed_command(
        on_feed, ["--config", feed_config, "--feed", "flights", "--reason", "why"]
    )
    assert context.scope == Scope()
    assert context.timeout_seconds == 15.0


def test_a_partition_is_one_of_a_topic(feed_config):
    arguments = ["--config", feed_config, "--feed", "flights", "--reason", "w", "--partition", "1"]
    with pytest.raises(click.UsageError, match="--partition needs --topic"):
        run_feed_command(on_partitions, arguments)
