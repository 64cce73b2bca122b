"""Command context that the options of a balancing command give."""

import json

import click
import pytest

from replicator.orders.order_records import Hold, Pin, key_of
from tests.tui.balance_records import NOW_MS, SAID, book_of, placed
from tests.tui.cli.commands.test_replicate import CONFIG
from tui.cli.command_context import CommandContext, on_one_route, on_routes
from tui.cli.exit_codes import ExitCode
from tui.cli.options import answer_options, reason_options

PIN = Pin(**SAID, topic="orders", partition=1, carrier=0)
OVER = Pin(**SAID, topic="orders", partition=2, carrier=0, until_ms=NOW_MS - 1)
HOLD = Hold(**SAID)


class PlayedDesk:
    """Balance client with a fixed order log, which keeps what is written."""

    def __init__(self, *records):
        self.records, self.written = records, []

    def book(self):
        return book_of(*self.records)

    def write(self, records, taken_back):
        self.written.append((list(records), list(taken_back)))


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
        given |= {"output": "json", "reason": None, "holds_for": None}
        made = CommandContext(**{"config": config, **given, **more})
        # These cached properties count as read already.
        made.__dict__.update(client=client, now_ms=NOW_MS)
        return made

    return context


def sent(on, arguments):
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


def test_a_command_is_given_its_errand_and_what_only_it_takes(config):
    words = ["orders", "--config", config, "--route", "west>east", "--carrier", "3"]
    context, own, help_text = sent(
        on_one_route, [*words, "--reason", "why", "--for", "2h", "--timeout", "4", "-o", "yaml"]
    )
    assert own == {"topic": "orders", "carrier": 3}
    assert (context.region, context.route.name, context.routes) == (
        "east",
        "west>east",
        (context.route,),
    )
    assert (context.reason, context.holds_for) == ("why", "2h")
    assert (context.timeout_seconds, context.output) == (4, "yaml")
    names = ["config", "region", "route", "carrier", "reason", "for", "timeout", "output"]
    places = [help_text.index(f"--{name} ") for name in names]
    assert places == sorted(places) and "Does nothing but test." in help_text


def test_without_a_route_it_is_about_all_of_its_region(config):
    words = ["orders", "--config", config, "--region", "east", "--reason", "why"]
    context, _, _ = sent(on_routes, words)
    assert [each.name for each in context.routes] == ["west>east", "east>east"]
    with pytest.raises(click.MissingParameter, match="route_name"):
        sent(on_one_route, words)


def test_no_file_is_opened_before_it_is_needed(tmp_path):
    words = ["orders", "--config", str(tmp_path / "none.toml"), "--region", "east"]
    context, _, _ = sent(on_routes, [*words, "--reason", "why"])
    with pytest.raises(Exception, match="none.toml"):
        _ = context.routes


def test_an_order_says_who_wants_it_why_and_until_when(context):
    mine = context(reason="why", holds_for="1s")
    said = mine.said(mine.routes[1])
    assert said == {
        "route": "east.east",
        "at_ms": NOW_MS,
        "who": mine.who,
        "why": "why",
        "until_ms": NOW_MS + 1000,
    }
    assert "@" in mine.who and context().said(mine.routes[0])["until_ms"] is None


def test_what_stands_is_of_its_routes_and_not_over(context):
    client = PlayedDesk(PIN, OVER, HOLD, placed())
    assert context(client).standing(Pin) == [PIN]
    assert context(client, route_name="east>east").standing(Pin) == []


def test_what_is_given_and_taken_back_is_written_at_once_and_shown(context, capsys):
    client = PlayedDesk()
    # A placement is removed along with its stream, but it is no order and is not shown.
    assert context(client).give([HOLD], taken_back=[PIN, placed()]) == ExitCode.DONE
    assert client.written == [([HOLD], [key_of(PIN), key_of(placed())])]
    shown = json.loads(capsys.readouterr().out)
    assert [it["kind"] for it in shown["written"]] == ["hold"]
    assert [it["kind"] for it in shown["taken_back"]] == ["pin"]


def test_where_there_is_nothing_to_write_nobody_is_asked_and_that_is_said(context, capsys):
    client = PlayedDesk()
    assert context(client, output="table").give(nothing="was not pinned") == ExitCode.DONE
    assert client.written == [] and capsys.readouterr().out == "was not pinned\n"
