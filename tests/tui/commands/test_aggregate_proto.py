"""`sluice aggregate proto`, without servers."""

import pytest

from tests.aggregator.formats.slices import table
from tests.tui.commands.test_aggregate import config, no_configuration
from tui.commands import aggregate_proto
from tui.commands.aggregate_proto import NoTable, common
from tui.commands.exit_codes import ExitCode
from tui.program import run

__all__ = ["config", "no_configuration"]  # fixtures

SCHEMA = table(id="UInt64", name="String")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--table", "t"], "--feed"),
        (["--feed", "flights"], "--table"),
        (["--feed", "x", "--table", "t"], "no feed 'x'; known: flights"),
    ],
)
def test_a_mistake_is_named_before_a_server_is_contacted(config, capsys, arguments, message):
    assert run(["aggregate", "proto", "--config", config, *arguments]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_the_file_is_printed_as_it_is(config, capsys, monkeypatch):
    monkeypatch.setattr(aggregate_proto, "table_columns", lambda feed, name, seconds: SCHEMA)
    arguments = ["--config", config, "--feed", "flights", "--table", "t"]
    assert run(["aggregate", "proto", *arguments]) == ExitCode.DONE
    text = capsys.readouterr().out
    assert text.startswith("// Row batches of the table t")
    assert text.endswith(
        "message Row {\n"
        "  optional uint64 id = 1;  // id UInt64\n"
        "  optional bytes name = 2;  // name String\n"
        "}\n"
    )


def test_a_table_that_is_not_there_is_wrong_usage(config, capsys, monkeypatch):
    def missing(feed, name, seconds):
        raise aggregate_proto.NoTable(f"there is no table {name!r}")

    monkeypatch.setattr(aggregate_proto, "table_columns", missing)
    arguments = ["--config", config, "--feed", "flights", "--table", "t"]
    assert run(["aggregate", "proto", *arguments]) == ExitCode.USAGE
    assert "there is no table 't'" in capsys.readouterr().err


ONE, OTHER = table(a="UInt8"), table(a="UInt16")


def test_shards_without_the_table_do_not_count():
    assert common("t", {0: None, 1: ONE}) is ONE


def test_shards_with_the_same_columns_agree():
    assert common("t", {0: ONE, 1: table(a="UInt8")}) == ONE


def test_a_table_that_no_shard_has_is_named():
    with pytest.raises(NoTable, match="no table 't'"):
        common("t", {0: None, 1: None})


def test_shards_that_differ_are_named():
    with pytest.raises(NoTable, match=r"shards\[2\] than in shards\[0\]"):
        common("t", {0: ONE, 1: ONE, 2: OTHER})
