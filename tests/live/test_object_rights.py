"""A user of the store needs the rights of docs/operating.md, and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path

import boto3
import pytest
from botocore.config import Config
from crc32c import crc32c

from aggregator.loader.object_sink import address_of
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from tests.live.object_ground import MIB, ObjectGround
from tests.live.object_steps import Step, begin_with_end

PAGE = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
USER, SECRET = "feeder", "feeder-secret"


def policy(bucket, without=""):
    """Returns the policy of the page for a bucket, without one of its rights."""
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    found = json.loads(text.replace("arn:aws:s3:::air", f"arn:aws:s3:::{bucket}"))
    for statement in found["Statement"]:
        statement["Principal"] = {"AWS": [USER]}
        statement["Action"] = [each for each in statement["Action"] if each != without]
    return found


def rights():
    """Returns the rights of the page that this server asks for: a HEAD of a name that is not there
    needs no right to list, as it does with AWS."""
    found = [action for each in policy("any")["Statement"] for action in each["Action"]]
    assert "s3:ListBucket" in found
    return [each for each in found if each != "s3:ListBucket"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ObjectServer(tmp_path_factory.mktemp("objects"), has_users=True)
    server.start()
    server.wait_ready()
    server.add_user(USER, SECRET)
    yield server
    server.process.kill()


@pytest.fixture
def feed(tmp_path, aggregate, redis, server, opened):
    keys = tmp_path / "keys"
    keys.write_text(f"[default]\naws_access_key_id = {USER}\naws_secret_access_key = {SECRET}\n")
    keys.chmod(0o600)
    settings = 'credentials_file = "keys"\nobject_records = 8\nfile = "bytes"\ncodec = "none"'
    return opened.enter_context(
        ObjectGround(tmp_path, aggregate, redis, server, settings=f"{settings}\npart_mib = 5.0")
    )


@pytest.fixture
def allow(server, feed):
    root = boto3.client(
        "s3",
        endpoint_url=server.url,
        region_name="us-east-1",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(s3={"addressing_style": "path"}),
    )

    def allow(without: str = "") -> None:
        bucket = feed.bucket_of(feed.feed)
        root.put_bucket_policy(Bucket=bucket, Policy=json.dumps(policy(bucket, without)))

    return allow


def test_a_feed_needs_no_more_than_these_rights(feed, allow):
    """A sealed object of a killed loader is uploaded anew, in parts, after its upload is ended."""
    allow()
    feed.take_large_records()
    feed.lead()
    loader = begin_with_end(feed, Step.SEALED)
    feed.send_large(iter([bytes([number]) * MIB for number in range(16)]))
    assert loader.wait(60)
    feed.load()
    feed.wait_passed(16)
    assert [len(each) for each in feed.objects().values()] == [8 * (MIB + 1)] * 2
    feed.assert_told()


@pytest.mark.parametrize("right", rights())
def test_without_one_of_them_what_needs_it_is_denied(right, feed, allow):
    allow()
    store = ObjectStore(address_of(feed.appliance.feed(feed.feed)))
    key, data = "topics/t/partition=0/t+0+0000000000.bin", b"data"
    crc = crc32c(data)

    begun = ""

    def put():
        store.put(key, data, crc, {})

    def upload():
        store.put_part(f"{key}.2", store.begin(f"{key}.2", {}), 1, data, crc)

    acts = {
        "s3:PutObject": [upload, put],
        "s3:GetObject": [lambda: store.head(key), lambda: store.read_crc32c(key)],
        "s3:AbortMultipartUpload": [lambda: store.abort(f"{key}.2", begun)],
        "s3:ListBucketMultipartUploads": [lambda: [*store.uploads("topics/")]],
    }
    if right != "s3:PutObject":
        put()
        begun = store.begin(f"{key}.2", {})
    allow(without=right)
    for act in acts[right]:
        with pytest.raises(StoreProblem) as denied:
            act()
        assert denied.value.answer is Answer.DENIED
    allow()
    for act in acts[right]:
        act()
