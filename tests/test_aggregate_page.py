"""docs/aggregate.md names only commands that exist, and the settings that feeds have."""

import re
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from aggregator.formats.proto_messages import ProtoMessages
from aggregator.formats.row_batch_type import WrittenColumn, row_batch_file
from aggregator.loader.dead_letters import HEADER_PREFIX, dead_letters
from aggregator.tables.table_schema import OWN_COLUMNS
from replicator.config.feed_settings import AggregatorSettings, ClickHouseFeed, Shard
from replicator.config.schema_folder import schema_folder
from tests.typed_command import check_typed

CHECKOUT = Path(__file__).parents[1]
PAGE = (CHECKOUT / "docs" / "aggregate.md").read_text()
FLIGHTS = PAGE.partition("CREATE TABLE air.flights")[2].partition("_cluster")[0]
COMMANDS = re.findall(r"^\$? *(?:sluice) (.*?)(?: +# .*)?$", PAGE, re.M)


def test_the_page_names_commands() -> None:
    assert len(COMMANDS) >= 10


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_is_one_that_can_be_typed_like_that(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLUICE_CONFIG", "appliance.toml")
    check_typed(line)


def test_every_setting_on_the_page_exists() -> None:
    known = {*ClickHouseFeed.model_fields, *Shard.model_fields}
    page = re.sub(r"^```proto\n.*?^```", "", PAGE, flags=re.M | re.S)
    written = set(re.findall(r"^([a-z_]+) = ", page, re.M))
    written |= set(re.findall(r"`(\w+) = ", page)) - {"replicated_deduplication_window"}
    assert written and written <= known
    general = set(re.findall(r"`aggregator\.(\w+)`", PAGE))
    assert general and general <= set(AggregatorSettings.model_fields)


def test_the_table_shown_has_the_coordinate_columns() -> None:
    shown = PAGE.split("CREATE TABLE")[1].split("ENGINE")[0]
    assert all(f"{name} {kind}" in shown for name, kind in OWN_COLUMNS.items())


def test_the_headers_of_dead_letters_are_those_that_are_written() -> None:
    source = Path(dead_letters.__code__.co_filename).read_text()
    written = re.findall(r'^ +"(\w+)": ', source, re.M)
    section = PAGE.split("### Dead letters")[1].split("\n## ")[0]
    assert set(re.findall(rf"`{re.escape(HEADER_PREFIX)}(\w+)`", section)) == set(written)


def test_the_messages_on_the_page_are_those_that_are_printed_and_read(tmp_path: Path) -> None:
    flights, batch = re.findall(r"^```proto\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "flights.proto").write_text(flights)
    (tmp_path / "batch.proto").write_text(f'syntax = "proto3";\npackage sluice;\n{batch}')
    found = schema_folder(tmp_path, "protobuf")
    assert ProtoMessages(found).of_table("flights").full_name == "flights"
    compiled = {file.name: file for file in FileDescriptorSet.FromString(found.descriptors).file}
    shown = {message.name: message for message in compiled["batch.proto"].message_type}
    columns = re.findall(r"(\w+) ([A-Z]\S+?)(?:,|$)", FLIGHTS, re.M)
    for message in row_batch_file([WrittenColumn(*column) for column in columns]).message_type:
        ours = {field.number: field for field in message.field}
        for field in shown[message.name].field:
            mine = ours[field.number]
            assert (field.name, field.type, field.label) == (mine.name, mine.type, mine.label)
    assert len(shown["Row"].field) == 3
