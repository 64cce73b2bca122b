"""Feed context that the options of a command about a feed give."""

import click
import pytest

from tests.tui.commands.test_aggregate import config
from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import on_feed, on_partitions, table_option
from tui.commands.options import answer_options, reason_options
from tui.facts.feed_scope import Scope

__all__ = ["config"]  # fixture


def run_command(on, arguments):
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


def test_the_context_has_the_feed_its_region_and_the_scope(config):
    arguments = ["--config", config, "--feed", "flights", "--cluster", "west regional"]
    arguments += ["--topic", "t", "--partition", "0", "--table", "x", "--reason", "why"]
    context = run_command(on_partitions, arguments)
    assert (context.feed.name, context.region) == ("flights", "west")
    assert context.scope == Scope("west regional", "t", 0, "x")
    assert (context.terms.why, context.terms.duration) == ("why", None)


def test_without_options_the_scope_is_the_whole_feed(config):
    context = run_command(on_feed, ["--config", config, "--feed", "flights", "--reason", "why"])
    assert context.scope == Scope()
    assert context.timeout_seconds == 15.0


def test_a_partition_is_one_of_a_topic(config):
    arguments = ["--config", config, "--feed", "flights", "--reason", "w", "--partition", "1"]
    with pytest.raises(click.UsageError, match="--partition needs --topic"):
        run_command(on_partitions, arguments)
