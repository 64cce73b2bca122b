"""Schemas of feeds: a file, a folder or a registry, and protoc's refusals."""

import json
import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from pydantic import ValidationError

from replicator.config import schema_folder
from replicator.config.feed_settings import ClickHouseFeed
from replicator.config.schema_folder import (
    TEXT_CHARACTERS_MAX,
    NotCompiled,
    SchemaFolder,
    descriptor_set,
)
from replicator.config.schema_source import RegistryUrl, fields_named, read_source
from tests.replicator.config.any_feed import ANY_FEED

# -- A folder of schemas is read once, as part of the configuration, and cannot be misread.

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


# -- Schema sources of feeds into objects: a file, a folder, a registry, and what is none.

ROW = {"type": "record", "name": "row", "fields": [{"name": "key", "type": "int"}]}


@pytest.fixture
def info(tmp_path):
    return SimpleNamespace(data={}, context={"directory": tmp_path})


def test_a_path_is_a_file_or_a_folder(tmp_path, info):
    file, folder = tmp_path / "rows.avsc", tmp_path / "schemas"
    folder.mkdir()
    for path in (file, folder / "7.avsc"):
        path.write_text(json.dumps(ROW))
    single = read_source(str(file), info)
    assert (single.is_single, [*single.files]) == (True, ["rows.avsc"])
    found = read_source(str(folder), info)
    assert (found.is_single, [*found.files]) == (False, ["7.avsc"])
    assert [*fields_named(found, ("key", "offset"))] == [("7.avsc", "key")]
    assert [*fields_named(found, ("offset",))] == []


def test_a_file_that_is_no_schema_is_refused(tmp_path, info):
    (tmp_path / "rows.avsc").write_text("{")
    with pytest.raises(ValueError, match=r"rows\.avsc is no Avro schema"):
        read_source(str(tmp_path / "rows.avsc"), info)
    with pytest.raises(ValueError, match="no such folder"):
        read_source(str(tmp_path / "missing"), info)


@pytest.mark.parametrize("url", ["http://registry:8081", "https://registry.example/api/"])
def test_a_url_is_a_registry(url, info):
    assert read_source(url, info) == RegistryUrl(url.rstrip("/"))
    assert [*fields_named(RegistryUrl(url), ("key",))] == []


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://registry", "is no address of a registry"),
        ("http://", "is no address of a registry"),
        ("http://registry:port", "is no address of a registry"),
        ("http://registry?a=b", "is no address of a registry"),
        ("http://me:sesame@registry", "set registry_user and registry_password_file"),
    ],
)
def test_any_other_url_is_refused(url, reason, info):
    with pytest.raises(ValueError, match=reason):
        read_source(url, info)


def test_what_was_read_stays(info):
    folder = SchemaFolder(None, {})
    assert read_source(folder, info) is folder


# -- Protoc's refusals reach the operator without its log lines.


def test_the_reason_has_the_errors_alone(tmp_path: Path) -> None:
    # Without `syntax` protoc logs a warning too.
    (tmp_path / "a.proto").write_text("message a {")
    with pytest.raises(NotCompiled) as refused:
        descriptor_set(tmp_path, ["a.proto"])
    assert str(refused.value).startswith(f"{tmp_path}/a.proto:1:")
    assert "absl" not in str(refused.value) and "syntax" not in str(refused.value)


def test_the_reason_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.proto").write_text('syntax = "proto3";\n' + "message a { x }\n" * 100)
    with pytest.raises(NotCompiled) as refused:
        descriptor_set(tmp_path, ["a.proto"])
    assert len(str(refused.value)) <= TEXT_CHARACTERS_MAX


@pytest.mark.parametrize("name", ["--x.proto", "-osub.proto", "@args.proto"])
def test_a_name_like_an_option_is_that_of_a_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('syntax = "proto3"; message a {}')
    assert name.encode() in descriptor_set(tmp_path, [name])


def test_a_folder_that_protoc_would_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotCompiled, match="colon"):
        descriptor_set(tmp_path / "a:b", ["a.proto"])
