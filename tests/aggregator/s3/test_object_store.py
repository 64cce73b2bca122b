"""A store that refuses a session token without saying so is asked with the token of now; a checksum
of parts is not taken for that of an object."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from aggregator.loader.store_retry import StoreRetry
from aggregator.s3 import object_store
from aggregator.s3.busy_store import until_answered
from aggregator.s3.object_store import ObjectStore, StoreAddress
from balancer.topic_partition import TopicPartition
from replicator.runtime.run_in_thread import run_in_thread

NAMED = b"<Error><Code>SomethingNew</Code><Message>no</Message></Error>"


class Tokens(ThreadingHTTPServer):
    """Store that takes one session token only. It answers HEAD as AWS does: without a body."""

    daemon_threads = True
    status, taken, refusals, checksum = 400, "new", 0, ""


class _Answers(BaseHTTPRequestHandler):
    server: Tokens

    def do_HEAD(self) -> None:
        self._answer(b"")

    def do_GET(self) -> None:
        self._answer(NAMED)

    def _answer(self, refusal: bytes) -> None:
        is_taken = self.headers["X-Amz-Security-Token"] == self.server.taken
        self.server.refusals += not is_taken
        self.send_response(200 if is_taken else self.server.status)
        self.send_header("Content-Length", "0" if is_taken else str(len(refusal)))
        self.send_header("ETag", '"etag"')
        if self.server.checksum:
            self.send_header("x-amz-checksum-crc32c", self.server.checksum)
        self.send_header("Last-Modified", "Wed, 01 Jul 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(b"" if is_taken else refusal)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Tokens]:
    with Tokens(("127.0.0.1", 0), _Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def store(server: Tokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    monkeypatch.setattr(object_store, "RENEW_SECONDS", 0.0)
    write(file := tmp_path / "store", "old")
    url = f"http://127.0.0.1:{server.server_port}"
    return ObjectStore(
        StoreAddress(
            bucket="bucket", endpoint=url, path_style=True, credentials_file=file, extra={}
        )
    )


def write(file: Path | None, token: str) -> None:
    assert file is not None
    keys = "aws_access_key_id = key\naws_secret_access_key = secret\n"
    file.write_text(f"[default]\n{keys}aws_session_token = {token}\n")


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_a_loader_goes_on_once_the_file_has_the_new_token(server, store, status):
    server.status, asked = status, 0
    retry = StoreRetry("feed=lake", store, (0.001, 0.01))

    async def look() -> object:
        nonlocal asked
        asked += 1
        assert asked <= 9, "asked with the old token for ever"
        if asked == 2:
            write(store.address.credentials_file, "new")
        return await run_in_thread(store.head, "key")

    assert await retry.until_done(TopicPartition("flights", 0), "a", look)


def test_a_reason_that_nobody_knows_has_the_credentials_read_anew(server, store):
    with pytest.raises(object_store.StoreProblem):
        store.read("key")
    write(store.address.credentials_file, "new")
    assert store.read("key") == b""


def test_a_command_asks_again_when_its_token_has_expired(server, store):
    def pause(_: float) -> None:
        write(store.address.credentials_file, "new")

    assert until_answered(lambda: store.head("key"), pause)


@pytest.mark.parametrize(
    ("checksum", "crc32c"),
    [
        ("yZRlqg==", 0xC99465AA),
        ("yZRlqg==-3", None),
        ("yZRlqg==-10000", None),
        ("yZRl", None),
        ("", None),
        ("?", None),
    ],
)
def test_a_checksum_of_parts_is_none_of_the_whole_object(server, store, checksum, crc32c):
    """Some stores do not say the type of a checksum."""
    server.taken, server.checksum = "old", checksum
    found = store.head("key")
    assert found is not None and found.crc32c == crc32c
