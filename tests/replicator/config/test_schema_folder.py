"""A folder of schemas is read once, as part of the configuration, and cannot be misread."""

import pickle
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pydantic import ValidationError

from replicator.config import schema_folder
from replicator.config.feed_settings import ClickHouseFeed
from tests.replicator.config.any_feed import ANY_FEED

FLIGHTS = """
syntax = "proto3";
import "common/money.proto";
import "google/protobuf/timestamp.proto";
message flights { Money price = 1; google.protobuf.Timestamp at = 2; }
"""
MONEY = 'syntax = "proto3"; message Money { sint64 cents = 1; }'


def feed(folder: Path, format_name: str = "protobuf") -> ClickHouseFeed:
    return ClickHouseFeed.model_validate(
        {**ANY_FEED, "format": format_name, "schemas": str(folder)}
    )


def refusal(folder: Path, format_name: str = "protobuf") -> str:
    with pytest.raises(ValidationError) as refused:
        feed(folder, format_name)
    assert [each["loc"] for each in refused.value.errors()] == [("schemas",)]
    return str(refused.value)


@pytest.fixture
def protos(tmp_path: Path) -> Path:
    (tmp_path / "flights.proto").write_text(FLIGHTS)
    (tmp_path / "common").mkdir()
    (tmp_path / "common" / "money.proto").write_text(MONEY)
    return tmp_path


def test_all_files_of_a_format_are_read_with_their_paths(protos: Path) -> None:
    (protos / "1.avsc").write_text('"int"')
    found = feed(protos).schemas
    assert found
    assert dict(found.files) == {
        "common/money.proto": MONEY.encode(),
        "flights.proto": FLIGHTS.encode(),
    }
    read = feed(protos, "avro").schemas
    assert read
    assert dict(read.files) == {"1.avsc": b'"int"'}


def test_descriptors_hold_the_files_and_their_imports(protos: Path) -> None:
    found = feed(protos).schemas
    assert found
    names = {each.name for each in FileDescriptorSet.FromString(found.descriptors).file}
    assert names == {"common/money.proto", "flights.proto", "google/protobuf/timestamp.proto"}


def test_schemas_reach_another_host_with_the_feed(protos: Path) -> None:
    found = feed(protos)
    sent = pickle.dumps(found)
    (protos / "flights.proto").unlink()
    assert pickle.loads(sent).schemas == found.schemas


def test_the_hidden_folders_of_a_mounted_volume_are_not_read(protos: Path) -> None:
    (protos / "..2026_01").mkdir()
    (protos / "..2026_01" / "flights.proto").write_text(FLIGHTS)
    found = feed(protos).schemas
    assert found
    assert sorted(found.files) == ["common/money.proto", "flights.proto"]


def test_a_folder_that_is_missing_or_empty_is_named(tmp_path: Path) -> None:
    assert f"no such folder: {tmp_path / 'none'}" in refusal(tmp_path / "none")
    assert f"no file *.proto in {tmp_path}" in refusal(tmp_path)
    (tmp_path / "a.proto").write_text(MONEY)
    assert f"no file *.avsc in {tmp_path}" in refusal(tmp_path, "avro")


def test_a_folder_that_tasks_cannot_carry_is_refused(
    protos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_folder, "BYTES_MAX", len(MONEY))
    assert "more than" in refusal(protos)


def test_a_file_that_is_no_proto_is_named_with_its_line(protos: Path) -> None:
    (protos / "common" / "money.proto").write_text(f"{MONEY}\nmessage {{")
    assert "common/money.proto:2:9: Expected message name." in refusal(protos)


def test_a_file_of_an_edition_is_refused_as_the_reader_knows_none(protos: Path) -> None:
    (protos / "flights.proto").write_text('// new\nedition = "2023";\nmessage flights {}\n')
    assert "flights.proto is of an edition" in refusal(protos)


def test_a_value_or_field_may_be_called_edition(protos: Path) -> None:
    text = 'syntax = "proto3";\nenum Kind {\n  edition = 0;\n}\nmessage flights {}\n'
    (protos / "flights.proto").write_text(text)
    assert schema_folder.schema_folder(protos, "protobuf").descriptors


def test_an_import_that_is_not_in_the_folder_is_named(protos: Path) -> None:
    (protos / "common" / "money.proto").unlink()
    assert "common/money.proto: File not found." in refusal(protos)


@pytest.mark.parametrize("text", ["{", '{"type": "record"}', '"nothing"', "5", '{"type": "enum"}'])
def test_a_file_that_is_no_avro_schema_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "7.avsc").write_text(text)
    assert "7.avsc is no Avro schema" in refusal(tmp_path, "avro")
