"""The queries of docs/s3.md read the objects of a feed as one table."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.traffic import TrafficRecord
from tests.live.object_ground import ObjectGround
from tests.live.tree_readers import Tree, read

PAGE = (Path(__file__).parents[2] / "docs" / "s3.md").read_text()
SETTINGS = """
partition_by = "time"
time_from = "time"
folders = "year=%Y/month=%m"
object_records = 7
object_age_seconds = 0.5
"""
CARRIERS, MONTHS = ("AA", "UA", "ünited"), (7, 10, None)


def blocks(heading):
    """Returns the code below a heading of the page: the set-up, then the queries."""
    below = PAGE.split(f"\n### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]
    first, *queries = re.findall(r"^```\w+\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)
    return first, queries


def records(count):
    for number in range(count):
        document = {"carrier": CARRIERS[number % 2 + number % 5 % 2]}
        if month := MONTHS[number % 3]:
            document["time"] = f"2013-{month:02}-0{1 + number % 9}T05:00:00Z"
        value = json.dumps(document, ensure_ascii=False).encode()
        yield TrafficRecord(number % 2, b"key", None if number == 5 else value)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ObjectServer(tmp_path_factory.mktemp("objects"))
    server.start()
    server.wait_ready()
    yield server
    server.process.kill()


@pytest.fixture(scope="module")
def stored(tmp_path_factory, server, clusters, shared_redis):
    """The bucket that the page reads, and the records of the topic."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
        folder = tmp_path_factory.mktemp("feed")
        with ObjectGround(
            folder, clusters[1], shared_redis, server, partitions=2, settings=SETTINGS
        ) as feed:
            feed.lead()
            feed.send(records(120))
            feed.load()
            feed.wait_passed(120)
            feed.assert_exact()
            assert len(feed.objects()) > 6
            bucket = server.objects / "air"
            # With the names of the page; metadata of the files is copied too.
            shutil.copytree(feed.bucket / "topics" / feed.topic, bucket / "topics" / "flights")
            sent = feed.sent()
    tree = Tree(f"127.0.0.1:{server.port}", ACCESS_KEY, SECRET_KEY, str(bucket))
    return tree, sent


def wanted(sent):
    """Returns the records by month, the carriers of July, and the ends of the partitions."""
    documents = [json.loads(each.value) if each.value else {} for each in sent]
    months = [each["time"][5:7] if "time" in each else None for each in documents]
    by_month = Counter(None if month is None else int(month) for month in months)
    carriers = Counter(
        each["carrier"] for each, month in zip(documents, months, strict=True) if month == "07"
    )
    partitions = {
        number: [each.offset for each in sent if each.partition == number] for number in (0, 1)
    }
    ends = {number: (len(some), len(set(some)), max(some)) for number, some in partitions.items()}
    return by_month, carriers, ends


@pytest.mark.parametrize(
    ("engine", "heading"),
    [("duckdb", "DuckDB"), ("spark", "Spark"), ("clickhouse", "ClickHouse")],
)
def test_the_tree_is_one_table(engine, heading, stored, tmp_path):
    tree, sent = stored
    first, queries = blocks(heading)
    assert len(queries) == 3
    set_up = []
    if engine == "clickhouse":
        first = first.replace("https://s3.east.example/", f"http://{tree.host}/")
        first = first.replace("access_key_id = '...'", f"access_key_id = '{ACCESS_KEY}'")
        first = first.replace("secret_access_key = '...'", f"secret_access_key = '{SECRET_KEY}'")
        set_up = [each for each in first.split(";") if each.strip()]
        assert len(set_up) == 2
        assert "..." not in first
    months, carriers, partitions = read(engine, tree, tmp_path, set_up, queries)
    by_month, by_carrier, ends = wanted(sent)
    found = {_month(month): int(count) for _, month, count in months}
    assert found == by_month
    assert {_month(year) for year, *_ in months} == {2013, None}
    assert {carrier: int(count) for carrier, count in carriers} == by_carrier
    assert {number: tuple(map(int, more)) for number, *more in partitions} == ends


def _month(folder):
    return None if folder in (None, "__HIVE_DEFAULT_PARTITION__") else int(folder)
