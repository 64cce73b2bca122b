"""Command line of an action, as it is shown and copied."""

from tui.console.command_line import command_text, filled, missing
from tui.pages.page import Action, Field

ACTION = Action(
    "H",
    "pause",
    ("stream", "pause-topic"),
    (
        Field("topic", "", "orders"),
        Field("route", "--route", "west>east"),
        Field("why", "--reason"),
    ),
    confirmation="orders",
)


def test_options_come_before_arguments_and_are_quoted_for_a_shell():
    text = command_text(ACTION, {"topic": "orders", "route": "west>east", "why": "a b"}, "a.toml")
    assert text == (
        "sluice stream pause-topic --config a.toml --route 'west>east' --reason 'a b' orders"
    )


def test_presets_hold_where_nothing_was_typed():
    assert filled(ACTION, {"topic": "trades"}) == [
        ("", "trades"),
        ("--route", "west>east"),
        ("--reason", ""),
    ]
    assert command_text(ACTION, {}) == "sluice stream pause-topic --route 'west>east' orders"


def test_what_is_fixed_in_the_words_comes_after_the_configuration():
    loss = Action("L", "loss", ("accept-loss", "--route", "a>b", "--", "-x"), is_copied=True)
    assert command_text(loss, {}, "a.toml") == (
        "sluice accept-loss --config a.toml --route 'a>b' -- -x"
    )


def test_what_is_missing_or_not_a_choice_is_named():
    assert missing(ACTION, {"topic": "a", "route": "b", "why": " "}) == "why is missing"
    assert missing(ACTION, {"topic": "a", "route": "b", "why": "c"}) is None
    choice = Action("x", "x", (), (Field("depth", "--by", choices=("count", "bytes")),))
    assert missing(choice, {"depth": "all"}) == "depth: one of count, bytes"
