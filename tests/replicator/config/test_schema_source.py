"""Schema sources of feeds into objects: a file, a folder, a registry, and what is none."""

import json
from types import SimpleNamespace

import pytest

from replicator.config.schema_folder import SchemaFolder
from replicator.config.schema_source import RegistryUrl, fields_named, read_source

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
