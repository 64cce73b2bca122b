"""Commands that the console runs: their words, and that they have the options they are given."""

from collections.abc import Sequence
from importlib import import_module

import click
import pytest

from tui.program import COMMANDS
from tui.steering.steered_command import (
    STEERED,
    BadValue,
    NotSteered,
    as_argument,
    as_typed,
    changes,
    command_line,
    copied_line,
    way_out,
    words_of,
)


def found(words: Sequence[str]) -> click.Command:
    """Returns the command of these words, as the program has it."""
    module, attribute = COMMANDS[words[0]].split(":")
    command = getattr(import_module(module), attribute)
    for word in words[1:]:
        command = command.commands[word]
    return command


def options(command: click.Command) -> dict[str, click.Option]:
    return {
        name: option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
    }


@pytest.mark.parametrize("name", STEERED, ids=" ".join)
def test_a_steered_command_has_exactly_the_options_that_the_table_says(name) -> None:
    has, steered = options(found(name)), STEERED[name]
    assert {"--config", "-o"} <= set(has)
    assert ("--progress" in has) is steered.has_progress
    assert {each for each, option in has.items() if option.is_flag} == steered.flags
    assert {each for each, option in has.items() if option.multiple} == steered.lists


@pytest.mark.parametrize("name", STEERED, ids=" ".join)
def test_its_way_out_is_a_command_with_the_options_that_it_is_given(name) -> None:
    steered = STEERED[name]
    assert {here for here, _ in steered.kept} <= set(options(found(name)))
    if steered.look:
        assert {there for _, there in steered.kept} <= set(options(found(steered.look)))


@pytest.mark.parametrize(
    "words",
    [
        ("accept-loss", "--route", "west>east", "--yes"),
        ("stream", "rewind-topic", "orders"),
        ("offsets", "rebuild"),
        ("aggregate", "accept-loss"),
        ("aggregate", "skip-replay"),
        ("balance", "--region", "east"),
        ("replicate",),
        (),
    ],
)
def test_what_gives_up_records_and_what_is_a_daemon_is_never_run(words) -> None:
    with pytest.raises(NotSteered):
        command_line(words, "/a.toml")


def test_the_command_to_copy_has_the_configuration_after_its_name() -> None:
    words = words_of(("stream", "rewind-topic", "--route", "a>b", "--", "-x"), [("--to", "10m")])
    assert words == ("stream", "rewind-topic", "--to", "10m", "--route", "a>b", "--", "-x")
    assert copied_line(words, "a.toml")[:4] == ("stream", "rewind-topic", "--config", "a.toml")
    assert copied_line(words) == words


def test_an_argument_that_begins_with_a_hyphen_stays_one_in_the_way_out() -> None:
    words = ("failover", "apply", *as_argument("-p1"))
    assert way_out(words) == ("failover", "verify", "-p1")
    assert as_argument("p1") == ("p1",)


def test_what_only_looks_changes_nothing() -> None:
    assert changes(("balance", "apply", "--route", "a>b"))
    assert not changes(("failover", "verify", "p1"))
    assert not changes(("accept-loss",))


def test_the_values_of_a_form_become_options_and_arguments() -> None:
    values = [
        ("--route", "west>east"),
        ("--for", ""),
        ("", "orders"),
        ("", "17"),
        ("--carrier", " 3 "),
        ("--reason", "too hot; look"),
    ]
    assert words_of(("balance", "pin"), values) == (
        *("balance", "pin", "--route", "west>east", "--carrier", "3"),
        *("--reason", "too hot; look", "orders", "17"),
    )


def test_flags_have_no_value_and_lists_are_repeated() -> None:
    values = [
        ("--all-groups", "no"),
        ("--recorded", "yes"),
        ("--group", "billing 'two words'"),
        ("--topic", ""),
    ]
    assert words_of(("failover", "plan", "--from", "west"), values) == (
        *("failover", "plan", "--recorded", "--group", "billing", "--group", "two words"),
        *("--from", "west"),
    )


@pytest.mark.parametrize("value", [("--group", "it's"), ("", "--yes")])
def test_a_value_that_no_command_line_can_express_is_refused(value) -> None:
    with pytest.raises(BadValue):
        words_of(("failover", "plan"), [value])


def test_a_command_line_asks_for_json_where_the_command_has_it() -> None:
    assert command_line(("failover", "apply", "p1", "--confirm", "west:east"), "/a.toml") == (
        *("failover", "apply", "--config", "/a.toml", "-o", "json", "--progress", "json"),
        *("p1", "--confirm", "west:east"),
    )
    found = command_line(("verify", "check"), "/a.toml")
    assert found == ("verify", "check", "--config", "/a.toml", "-o", "json")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("failover", "apply", "p1", "--confirm", "west:east"), ("failover", "verify", "p1")),
        (("switchover", "apply", "--partitions", "p1"), ("failover", "verify", "p1")),
        (("failover", "plan", "--from", "west", "--all-groups"), ("failover", "list")),
        (("balance", "pause", "--route", "a>b"), ("balance", "show", "--route", "a>b")),
        (("balance", "pause"), ("balance", "show")),
        (("groups", "set-primary", "g", "--to", "east"), ("groups", "show", "--region", "east")),
        (("aggregate", "freeze", "--feed", "f"), ("aggregate", "status", "--feed", "f")),
    ],
)
def test_what_changes_something_has_a_command_that_shows_what_became_of_it(words, expected) -> None:
    assert way_out(words) == expected
    config = ("--config", "/a.toml")
    assert way_out(command_line(words, "/a.toml")) == (*expected, *config)


def test_what_changes_nothing_is_run_again() -> None:
    words = ("audit", "--route", "west>east")
    expected = ("audit", "--config", "/a.toml", "--route", "west>east")
    assert way_out(command_line(words, "/a.toml")) == expected
    assert way_out(("accept-loss",)) == ()


def test_a_command_is_shown_as_it_is_typed() -> None:
    assert as_typed(("audit", "--route", "west>east")) == "sluice audit --route 'west>east'"
