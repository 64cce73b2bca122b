"""Credentials of a store come from a file, which is read anew once the store denies a request."""

from __future__ import annotations

from pathlib import Path

import pytest

from aggregator.s3 import object_store
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore, StoreAddress
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer

BUCKET = "bucket"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    server.start()
    server.wait_ready()
    (server.objects / BUCKET).mkdir()
    yield server
    server.process.kill()


@pytest.fixture(autouse=True)
def _renewed_at_once(monkeypatch):
    monkeypatch.setattr(object_store, "RENEW_SECONDS", 0.0)


def write(file: Path, secret: str) -> None:
    keys = f"aws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {secret}\n"
    file.write_text(f"[default]\n{keys}")


def address(server: ObjectServer, file: Path) -> StoreAddress:
    return StoreAddress(
        bucket=BUCKET, endpoint=server.url, path_style=True, credentials_file=file, extra={}
    )


def test_changed_credentials_count_once_the_file_is_read_anew(tmp_path, server, monkeypatch):
    # The file counts, whatever the environment says.
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "another")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    write(file := tmp_path / "store", "sesame")
    store = ObjectStore(address(server, file))
    with pytest.raises(StoreProblem) as denied:
        store.put("key", b"data", 0x63E4B0B9, {})
    assert denied.value.answer is Answer.DENIED
    assert "sesame" not in str(denied.value)
    write(file, SECRET_KEY)
    store.renew()
    assert store.head("key") is None


def test_a_file_that_is_gone_is_named_by_each_request_until_it_is_back(tmp_path, server):
    store = ObjectStore(address(server, file := tmp_path / "store"))
    for _ in range(2):
        with pytest.raises(StoreProblem, match=f"credentials_file: .*{file}") as denied:
            store.head("key")
        assert denied.value.answer is Answer.DENIED
        store.renew()
    write(file, SECRET_KEY)
    assert store.head("key") is None
