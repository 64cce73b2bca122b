"""`sluice stream` without servers, and the output of `rewind-topic`."""

import pytest

from balancer.topic_partition import TopicPartition
from replicator.audit.window import BadWindow
from replicator.config.balance_settings import RouteBalance
from replicator.mirror.repair.rewind import Rewound
from tests.tui.commands.test_balance import REASON, ROUTE, config, no_configuration
from tests.tui.output.balancing import streams
from tui.commands.exit_codes import ExitCode, exit_code_of
from tui.commands.output import plain_values
from tui.commands.stream import LIMITS, list_text
from tui.commands.topic_rewind import rewind_text, rewind_values, start_of
from tui.orders.streams import StreamExists
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures
MADE = [*ROUTE, *REASON, "--topics", "pay.*"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "money", *ROUTE, *REASON], "--topics"),
        (["create", "money", *ROUTE, "--topics", "pay"], "--reason"),
        (["create", "money", *REASON, "--topics", "pay"], "--route"),
        (["create", "default", *MADE], "take another name"),
        (["create", "Money", *MADE], "lower-case letters"),
        (["create", "money", *ROUTE, *REASON, "--topics", "("], "not an RE2 pattern"),
        (["create", "money", *MADE, "--threshold", "7"], "--threshold"),
        (["create", "money", *MADE, "--carriers-min", "0"], "--carriers-min"),
        (
            ["create", "money", *MADE, "--carriers-min", "3", "--carriers-max", "2"],
            "--carriers-max (2) must be --carriers-min (3) or more",
        ),
        (["change", "money", *ROUTE], "nothing to change"),
        (["change", "money", *ROUTE, "--topics", "("], "not an RE2 pattern"),
        (["change", "money", *ROUTE, "--lag-seconds-max", "0"], "--lag-seconds-max"),
        (["change", "money", *ROUTE, "--unset", "name"], "--unset"),
        (["delete", "money"], "--route"),
        (["pause", "money", *ROUTE], "--reason"),
        (["resume", "money", "--route", "west>north"], "no route 'west>north'"),
        (["pause-topic", *ROUTE, *REASON], "TOPIC"),
        (["pause-topic", "orders", *ROUTE], "--reason"),
        (["pause-topic", "orders", *REASON], "--route"),
        (["pause-topic", "orders", *ROUTE, *REASON, "--partition", "-1"], "--partition"),
        (["pause-topic", "orders", *ROUTE, *REASON, "--for", "1 day"], "no length of time"),
        (["resume-topic", "orders"], "--route"),
        (["list"], "either --region or --route"),
        (["list", "--region", "north"], "no region 'north'"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    command, *rest = arguments
    assert run(["stream", command, "--config", config, *rest]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_a_name_that_is_taken_is_a_refusal():
    assert exit_code_of(StreamExists("taken")) is ExitCode.REFUSED


def test_programs_read_which_topics_belong_to_each_stream_now_and_which_carriers_it_has():
    found = plain_values(streams())
    default, money, *_ = found["streams"]
    assert (found["schema_version"], found["region"]) == (2, "east")
    assert (money["stream"], money["topics"], money["is_paused"]) == ("money", ["pay.*"], True)
    assert (money["first_carrier"], money["matching"]) == (1000, {"pay": 1})
    assert [each["number"] for each in money["carriers"]] == [1000, 1001]
    assert money["limits"] == {"threshold": 0.5, "carriers_max": 4}
    assert (default["stream"], default["topics"], default["matching"]) == (
        "default",
        None,
        {"orders": 3},
    )


def test_without_an_active_plan_the_topics_are_not_known_and_the_streams_are():
    found = streams(is_known=False)
    assert [each.matching for each in found.streams] == [None] * 4
    assert list_text(found, 0.0).splitlines()[2].split()[2:4] == ["?", "?"]


def test_people_see_one_line_for_each(assert_snapshot):
    assert_snapshot(list_text(streams(), 0.0), "streams")


def test_there_is_an_option_for_every_limit_and_for_nothing_else():
    assert set(LIMITS) == set(RouteBalance.model_fields)


FOUND = [Rewound(TopicPartition("orders", 0), 1200, 700)]


def test_a_bad_start_is_wrong_usage_before_the_configuration_is_read(tmp_path, capsys):
    command = ["stream", "rewind-topic", "t", "--route", "west>east", "--to", "yesterday"]
    assert run([*command, "--config", str(tmp_path / "none.toml")]) == 2
    assert "yesterday" in capsys.readouterr().err


def test_a_start_is_an_offset_the_beginning_an_instant_or_how_long_ago():
    assert start_of("17") == 17
    assert start_of("earliest") == "earliest"
    assert start_of("2026-11-22T03:00:00Z") == "@1795316400000"
    assert start_of("10m").startswith("@")


def test_another_text_is_refused_with_what_may_be_written():
    with pytest.raises(BadWindow, match="instant"):
        start_of("yesterday")


def test_a_dry_run_shows_the_offsets_and_how_to_rewind(assert_snapshot):
    assert_snapshot(rewind_text(FOUND, is_done=False), "rewind_topic")
    assert rewind_text(FOUND, is_done=True).endswith("Rewound: resume it.")


def test_values_have_the_offsets_that_are_mirrored_again():
    values = rewind_values(FOUND, is_done=True)
    assert (values["schema_version"], values["is_done"]) == (1, True)
    assert values["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "was_at_source_offset": 1200,
            "goes_on_at_source_offset": 700,
            "offsets_again": 500,
        }
    ]
