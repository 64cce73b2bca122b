"""`sluice stream rewind-topic` without a cluster."""

import pytest

from balancer.topic_partition import TopicPartition
from replicator.audit.window import BadWindow
from replicator.mirror.repair.rewind import Rewound
from tui.commands.topic_rewind import rewind_text, rewind_values, start_of
from tui.program import run

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
