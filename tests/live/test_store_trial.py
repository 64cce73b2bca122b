"""Trials of stores: what a feed needs is asked for, and what is missing is named with its mend."""

from __future__ import annotations

import pytest
from crc32c import crc32c

from aggregator.objects.prefix_claim import CLAIM, PrefixClaim
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from aggregator.s3.store_trial import Condition, StoreRefusal, renew_claim, tried
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY
from tests.live.object_proxy import Fault, ObjectProxy
from tests.live.stores import BUCKET, SERVERS, started, store_in

OURS = PrefixClaim("lake", "east aggregate", "cluster-1")


@pytest.fixture(scope="module", params=SERVERS)
def any_server(request, tmp_path_factory):
    server = started(request.param, tmp_path_factory.mktemp(request.param))
    yield server
    server.process.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = started("versitygw", tmp_path_factory.mktemp("objects"))
    yield server
    server.process.kill()


@pytest.fixture
def proxy(server):
    with ObjectProxy(server.port) as opened:
        yield opened


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)


@pytest.fixture
def prefix(request):
    return f"{request.node.originalname}/topics"


def begin(store: ObjectStore, prefix: str, claim: PrefixClaim = OURS) -> Condition | None:
    return tried(store, prefix, claim, is_claiming=True)


def refusal(store: ObjectStore, prefix: str, claim: PrefixClaim = OURS) -> str:
    with pytest.raises(StoreRefusal) as refused:
        begin(store, prefix, claim)
    return str(refused.value)


def test_the_first_feed_claims_the_prefix_and_each_trial_finds_the_condition_honoured(
    any_server, prefix
):
    store = store_in(any_server)
    assert tried(store, prefix, OURS, is_claiming=False) is None
    assert store.read(f"{prefix}/{CLAIM}") is None
    assert begin(store, prefix) is Condition.HONOURED
    content = store.read(f"{prefix}/{CLAIM}")
    assert PrefixClaim.decode(content) == OURS
    assert begin(store, prefix) is Condition.HONOURED
    assert tried(store, prefix, OURS, is_claiming=False) is Condition.HONOURED
    assert store.read(f"{prefix}/{CLAIM}") == content
    assert [each.key for each in store.objects(prefix)] == [f"{prefix}/{CLAIM}"]
    assert not [*store.uploads(prefix)]


@pytest.mark.parametrize(
    "other", [PrefixClaim("pond", "east aggregate", "cluster-1"),
              PrefixClaim("lake", "east aggregate", "cluster-2")],
)  # fmt: skip
def test_another_feed_and_another_cluster_are_refused_and_write_nothing(server, prefix, other):
    store = store_in(server)
    begin(store, f"{prefix}/{other.feed}{other.cluster_id}", OURS)
    before = store.head(f"{prefix}/{other.feed}{other.cluster_id}/{CLAIM}")
    text = refusal(store, f"{prefix}/{other.feed}{other.cluster_id}", other)
    assert "feed lake of east aggregate" in text and str(other) in text
    assert f"{BUCKET}/{prefix}" in text and "take another prefix" in text
    assert store.head(f"{prefix}/{other.feed}{other.cluster_id}/{CLAIM}") == before


def test_two_that_claim_at_once_have_one_winner(server, proxy, prefix):
    """Both saw no claim; the second one's is refused by the condition, and it reads the first."""
    store, late = store_in(server), store_in(server, url=proxy.url)
    other = PrefixClaim("pond", "east aggregate", "cluster-1")
    read = late.read

    def read_before_the_other_claims(key: str) -> bytes | None:
        found = read(key)
        if found is None:
            begin(store, prefix, other)
        return found

    late.read = read_before_the_other_claims  # type: ignore[method-assign]
    assert "feed pond" in refusal(late, prefix)


def test_an_object_of_that_name_that_is_no_claim_is_named(server, prefix):
    (server.objects / BUCKET / prefix).mkdir(parents=True)
    (server.objects / BUCKET / prefix / CLAIM).write_bytes(b"hello")
    assert "no claim of a feed" in refusal(store_in(server), prefix)


def test_a_store_that_refuses_the_condition_is_known(server, proxy, prefix):
    proxy.order("PutObject", Fault.NOT_IMPLEMENTED)
    proxy.order("PutObject", Fault.NOT_IMPLEMENTED, left_out=1)
    assert begin(store_in(server, url=proxy.url), prefix) is Condition.REFUSED
    assert store_in(server).read(f"{prefix}/{CLAIM}") == OURS.encode()


def test_a_store_that_ignores_the_condition_is_known(server, prefix):
    """versitygw does so for files that it has not written itself."""
    (server.objects / BUCKET / prefix).mkdir(parents=True)
    (server.objects / BUCKET / prefix / CLAIM).write_bytes(OURS.encode())
    assert begin(store_in(server), prefix) is Condition.IGNORED
    assert begin(store_in(server), prefix) is Condition.HONOURED


def test_a_store_that_ignores_the_condition_of_completions_alone_is_known(server, prefix):
    store = store_in(server)
    begin(store, prefix)
    # Without the header, as a store treats it that ignores the header.
    store.complete = ObjectStore(store.address, has_condition=False).complete  # type: ignore[method-assign]
    assert begin(store, prefix) is Condition.IGNORED
    assert store.read(f"{prefix}/{CLAIM}") == OURS.encode()
    assert not [*store.uploads(prefix)]


@pytest.mark.parametrize("operation", ["PutObject", "CompleteMultipartUpload"])
def test_a_conflict_proves_no_condition(server, proxy, prefix, operation):
    """Another request for the same name runs: stores tell so whatever they make of conditions."""
    store = store_in(server, url=proxy.url)
    begin(store, f"{prefix}/{operation}")
    proxy.order(operation, Fault.CONFLICT)
    with pytest.raises(StoreProblem) as problem:
        begin(store, f"{prefix}/{operation}")
    assert problem.value.answer is Answer.CONFLICT
    assert begin(store, f"{prefix}/{operation}") is Condition.HONOURED


RIGHTS = {
    "HeadObject": "s3:ListBucket",
    "ListMultipartUploads": "s3:ListBucketMultipartUploads",
    "CreateMultipartUpload": "s3:PutObject",
    "AbortMultipartUpload": "s3:AbortMultipartUpload",
    "GetObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
}


@pytest.mark.parametrize(("operation", "right"), RIGHTS.items())
def test_a_right_that_is_missing_is_named(server, proxy, prefix, operation, right):
    proxy.order(operation, Fault.DENIED)
    text = refusal(store_in(server, url=proxy.url), prefix)
    assert text.startswith(f"a right is missing: grant {right} on {BUCKET}"), text


def test_a_bucket_that_is_missing_and_credentials_that_are_refused_are_named(
    server, prefix, monkeypatch
):
    text = refusal(store_in(server, "no-such-bucket"), prefix)
    assert text == "there is no bucket no-such-bucket: create it, or correct `bucket`"
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    assert "does not take the credentials" in refusal(store_in(server), prefix)


def test_a_store_that_does_not_answer_is_no_refusal(server, proxy, prefix):
    proxy.order("GetObject", Fault.SLOW_DOWN)
    with pytest.raises(StoreProblem) as problem:
        begin(store_in(server, url=proxy.url), prefix)
    assert problem.value.answer is Answer.BUSY


def test_a_claim_is_written_again_and_made_anew_but_never_taken(any_server, prefix):
    """A lifecycle rule removes objects by their age."""
    store, key = store_in(any_server), f"{prefix}/{CLAIM}"
    content = OURS.encode()
    store.put(key, content, crc32c(content), {"age": "old"})
    renew_claim(store, prefix, OURS)
    found = store.head(key)
    assert store.read(key) == content and found is not None and not found.metadata
    other = PrefixClaim("pond", "east aggregate", "cluster-1")
    with pytest.raises(StoreRefusal, match="take another prefix"):
        renew_claim(store, prefix, other)
    gone = f"{prefix}/gone"
    renew_claim(store, gone, other)
    assert store.read(f"{gone}/{CLAIM}") == other.encode()
