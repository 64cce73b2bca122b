"""Contract of an object store: what feeds rely on, asked of servers of two makers."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from aggregator.s3 import object_store
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import TOKEN, ObjectStore, PutPart
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from tests.live.stores import SERVERS, started, store_in

PART = b"p" * (5 << 20)
REST = b"the rest"
WHOLE_CRC = crc32c(REST, crc32c(PART))
HAS_TAGS = {"versitygw": True, "s3proxy": False}
KEEPS_METADATA_OF_UPLOADS = {"versitygw": True, "s3proxy": False}
ODD = ("name=a%2Fb/x+0+0000000001.json", "name=a b/ä+0+1.json", "year=1970/!_.*'()-+0+1.json")


@pytest.fixture(scope="module", params=SERVERS)
def server(request, tmp_path_factory):
    server = started(request.param, tmp_path_factory.mktemp(request.param))
    yield server
    server.process.kill()


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


@pytest.fixture
def store(server, request):
    return store_in(server)


@pytest.fixture
def key(request):
    return f"{request.node.originalname}/k=v/topic+0+0000000000.parquet"


def put(store: ObjectStore, key: str, data: bytes = b"data", **more: object) -> None:
    store.put(key, data, crc32c(data), {TOKEN: "t1"}, **more)  # type: ignore[arg-type]


def begun(store: ObjectStore, key: str) -> tuple[str, list[PutPart]]:
    """Returns an upload of two parts that only has to be completed."""
    upload_id = store.begin(key, {TOKEN: "t2"})
    parts = [(1, PART), (2, REST)]
    return upload_id, [store.put_part(key, upload_id, n, it, crc32c(it)) for n, it in parts]


def answer_to(act, *arguments: object, **named: object) -> Answer:
    with pytest.raises(StoreProblem) as problem:
        act(*arguments, **named)
    return problem.value.answer


def test_an_object_is_there_with_its_size_and_its_checksum(store, key):
    assert store.head(key) is None
    assert store.read(key) is None
    put(store, key)
    found = store.head(key)
    assert found is not None
    assert found[:3] == (4, crc32c(b"data"), {TOKEN: "t1"})
    assert found.etag and found.modified_at > 1e9
    assert store.read(key) == b"data"
    assert store.read_crc32c(key) == crc32c(b"data")
    assert store.read_range(key, 1, 2) == b"at"


def test_an_object_without_bytes_is_an_object(store, key):
    put(store, key, b"")
    found = store.head(key)
    assert found is not None and found[:2] == (0, 0)


def test_a_name_that_is_taken_is_kept(store, key):
    put(store, key)
    assert answer_to(put, store, key, b"other") is Answer.TAKEN
    upload_id, parts = begun(store, key)
    assert answer_to(store.complete, key, upload_id, parts, WHOLE_CRC) is Answer.TAKEN
    assert store.read(key) == b"data"


def test_only_the_content_that_is_named_is_overwritten(store, key):
    put(store, key, b"first")
    first = store.head(key)
    assert first is not None
    put(store, key, b"second", over=first.etag)
    assert store.read(key) == b"second"
    assert answer_to(put, store, key, b"third", over=first.etag) is Answer.TAKEN
    assert answer_to(put, store, f"{key}-free", over=first.etag) in (Answer.TAKEN, Answer.ABSENT)
    assert store.head(f"{key}-free") is None
    upload_id, parts = begun(store, key)
    complete = (key, upload_id, parts, WHOLE_CRC)
    assert answer_to(store.complete, *complete, over=first.etag) is Answer.TAKEN
    second = store.head(key)
    assert second is not None
    store.complete(*complete, over=second.etag)
    assert store.read(key) == PART + REST


def test_an_upload_is_not_seen_before_it_is_complete(server, store, key):
    upload_id, parts = begun(store, key)
    assert store.head(key) is None
    assert [(each.key, each.upload_id) for each in store.uploads(key)] == [(key, upload_id)]
    assert not [*store.objects(key)]
    store.complete(key, upload_id, parts, WHOLE_CRC)
    found = store.head(key)
    assert found is not None and found[:2] == (len(PART) + len(REST), WHOLE_CRC)
    assert (found.metadata == {TOKEN: "t2"}) is KEEPS_METADATA_OF_UPLOADS[server.name]
    assert not [*store.uploads(key)]


def test_an_upload_that_is_aborted_is_gone(store, key):
    upload_id, parts = begun(store, key)
    store.abort(key, upload_id)
    store.abort(key, upload_id)
    assert not [*store.uploads(key)]
    gone = answer_to(store.complete, key, upload_id, parts, WHOLE_CRC)
    assert gone is Answer.UPLOAD_GONE
    assert store.head(key) is None


def test_a_part_that_is_sent_again_is_replaced(store, key):
    upload_id, (first, _) = begun(store, key)
    second = store.put_part(key, upload_id, 2, b"other", crc32c(b"other"))
    store.complete(key, upload_id, [first, second], crc32c(b"other", crc32c(PART)))
    assert store.read(key) == PART + b"other"


def test_bytes_that_were_changed_on_their_way_are_refused(store, key):
    assert answer_to(store.put, key, b"data", crc32c(b"other"), {}) is Answer.REFUSED
    upload_id = store.begin(key, {})
    bad = answer_to(store.put_part, key, upload_id, 1, REST, crc32c(b"other"))
    assert bad is Answer.REFUSED
    part = store.put_part(key, upload_id, 1, REST, crc32c(REST))
    assert answer_to(store.complete, key, upload_id, [part], crc32c(b"other")) is Answer.REFUSED
    assert store.head(key) is None


def test_names_are_listed_as_they_were_written(store, key):
    keys = sorted(f"{key}/{name}" for name in ODD)
    for each in keys:
        put(store, each)
    listed = {each.key: each.modified_at for each in store.objects(f"{key}/")}
    assert sorted(listed) == keys
    for each, modified_at in listed.items():
        found = store.head(each)
        assert found is not None and abs(found.modified_at - modified_at) < 1
    store.begin(keys[1], {})
    assert [each.key for each in store.uploads(f"{key}/")] == [keys[1]]


def test_a_bucket_that_is_missing_is_named(server, key):
    nowhere = store_in(server, "no-such-bucket")
    assert answer_to(nowhere.read, key) is Answer.NO_BUCKET
    assert answer_to(put, nowhere, key) is Answer.NO_BUCKET
    assert answer_to(nowhere.begin, key, {}) is Answer.NO_BUCKET


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_credentials_that_the_store_does_not_know_are_named(server, key, monkeypatch, name):
    monkeypatch.setenv(name, "unknown")
    with pytest.raises(StoreProblem) as refused:
        store_in(server).read(key)
    assert refused.value.answer is Answer.DENIED
    assert refused.value.is_of_credentials


def test_a_server_that_is_away_is_busy(key):
    address = object_store.StoreAddress(
        bucket="bucket", endpoint="http://127.0.0.1:1", path_style=True, extra={}
    )
    assert answer_to(ObjectStore(address).head, key) is Answer.BUSY


def test_tags_are_set_or_refused_as_unknown(server, store, key):
    put(store, key)
    if HAS_TAGS[server.name]:
        store.tag(key, {"startOffset": "0"})
    else:
        assert answer_to(store.tag, key, {"startOffset": "0"}) is Answer.UNSUPPORTED
    assert store.read(key) == b"data"
