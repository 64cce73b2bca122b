"""Flights by month in an S3 store: their feed, and the comparison of its objects with the topic.

The topic has all flights in one partition in the order of their times, so that the objects of a
month are large enough for two parts.
"""

import io
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from confluent_kafka import Message
from confluent_kafka.admin import NewTopic

from deploy.lab.flight_tables import committed
from deploy.lab.kafka import KafkaCluster
from deploy.lab.lab import Lab
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.traffic import Shape, TrafficRecord, send

FEED = "flights-by-month"
BUCKET = "air"
SOURCE, TOPIC = "flights", "flights-in-order"
MONTH, NEXT_MONTH = datetime(2013, 7, 1, tzinfo=UTC), datetime(2013, 8, 1, tzinfo=UTC)
INTERVAL_SECONDS = 31 * 86_400.0
"""Record time that ends an object: it is the only one of its month, unless the machine is slow."""
UPLOADS = ".sgwtmp/multipart"
"""Folder of a bucket in which the server keeps the parts of uploads that are not complete."""
FIRST_PART, SECOND_PART = "1", "2"


class Flight(NamedTuple):
    """Record, as it is in an object and in the topic."""

    key: bytes | None
    value: bytes
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ObjectsVerdict:
    """Objects of the feed, compared with the records of its topic.

    Args:
        misplaced: records in objects of another month, or below the offset in the object's name.
    """

    objects: int
    records: int
    lost: int
    doubled: int
    changed: int
    misplaced: int

    @property
    def is_right(self) -> bool:
        return not (self.lost or self.doubled or self.changed or self.misplaced)


@contextmanager
def object_server(directory: Path) -> Iterator[ObjectServer]:
    """A running server with the empty bucket. Raises NotStarted."""
    server = ObjectServer(directory)
    server.start()
    try:
        server.wait_ready()
        bucket_of(server).mkdir()
        yield server
    finally:
        server.process.kill()


def bucket_of(server: ObjectServer) -> Path:
    """Returns the directory of the bucket's objects."""
    return server.objects / BUCKET


def add_feed(lab: Lab, server: ObjectServer, region: str) -> None:
    """Creates the topic, and adds its feed to the configuration of a lab."""
    config = {"retention.ms": "-1"}
    lab.regions[region].aggregate.create_topics(NewTopic(TOPIC, 1, config=config))
    keys = lab.directory / "store-credentials"
    keys.write_text(
        f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
    )
    keys.chmod(0o600)
    text = lab.configuration.read_text()
    lab.configuration.write_text(
        f"""{text}
[feeds.{FEED}]
kind = "s3"
region = "{region}"
clusters = ["{region} aggregate"]
topics = ["{TOPIC}"]
bucket = "{BUCKET}"
endpoint = "{server.url}"
path_style = true
credentials_file = "{keys.name}"
codec = "none"
partition_by = "time"
folders = "year=%Y/month=%m"
object_interval_seconds = {INTERVAL_SECONDS}
object_age_seconds = 10.0
part_mib = 5.0
"""
    )


def in_order(cluster: KafkaCluster) -> list[TrafficRecord]:
    """Returns all flights of a cluster by their times, for the topic of the feed."""
    flights = sorted(committed(cluster, SOURCE), key=lambda message: message.timestamp()[1])
    return [
        TrafficRecord(0, each.key(), each.value(), each.headers(), each.timestamp()[1])
        for each in flights
    ]


def send_flights(cluster: KafkaCluster, flights: list[TrafficRecord]) -> None:
    """Produces flights into the topic of the feed."""
    send(cluster, TOPIC, flights, Shape(codec="lz4"))


def months(flights: list[TrafficRecord]) -> set[tuple[int, int]]:
    """Returns the months of the flights, and their years."""
    times = (datetime.fromtimestamp((each.timestamp_ms or 0) / 1000, UTC) for each in flights)
    return {(each.year, each.month) for each in times}


def almost_through(flights: list[TrafficRecord]) -> int:
    """Returns the number of flights up to the end of a month, without the last ones: the first part
    of its object is full, and the object has not ended."""
    times = [each.timestamp_ms or 0 for each in flights]
    begin, end = (bisect_left(times, int(each.timestamp() * 1000)) for each in (MONTH, NEXT_MONTH))
    return begin + int((end - begin) * 0.97)


def between_parts(server: ObjectServer) -> int:
    """Returns the number of objects of which the server has the first part, and not the second."""
    with suppress(FileNotFoundError):  # an upload has just become an object
        parts = bucket_of(server).glob(f"{UPLOADS}/*/*/{FIRST_PART}")
        return sum(not each.with_name(SECOND_PART).exists() for each in parts)
    return 0


def visible(server: ObjectServer) -> list[Path]:
    """Returns the objects that a reader of the bucket sees."""
    return sorted(bucket_of(server).glob(f"topics/{TOPIC}/*/*/*.parquet"))


def visible_months(server: ObjectServer) -> set[tuple[int, int]]:
    """Returns the months, and their years, of which a reader of the bucket sees an object."""
    folders = {path.parts[-3:-1] for path in visible(server)}
    return {(int(year[-4:]), int(month[-2:])) for year, month in folders}


def count_records(server: ObjectServer) -> int:
    """Returns the number of records in the objects that a reader sees."""
    return sum(pq.read_metadata(each).num_rows for each in visible(server))


def compare_objects(messages: Iterable[Message], server: ObjectServer) -> ObjectsVerdict:
    """Compares each record with those in the objects: key, value, headers, time.

    Args:
        messages: all of the topic.
    """
    wanted = {message.offset(): _flight(message) for message in messages}
    found: dict[int, Flight] = {}
    counts: Counter[int] = Counter()
    misplaced = 0
    objects = visible(server)
    for path in objects:
        begin = int(path.name.split("+")[2].partition(".")[0])
        for row in pq.read_table(io.BytesIO(path.read_bytes())).to_pylist():
            offset, time = row["offset"], row["timestamp"]
            folders = f"year={time:%Y}", f"month={time:%m}"
            misplaced += folders != path.parts[-3:-1] or offset < begin
            counts[offset] += 1
            found[offset] = _read(row)
    return ObjectsVerdict(
        objects=len(objects),
        records=len(wanted),
        lost=sum(each not in found for each in wanted),
        doubled=counts.total() - len(counts),
        changed=sum(wanted.get(offset) != flight for offset, flight in found.items()),
        misplaced=misplaced,
    )


def _flight(message: Any) -> Flight:
    return Flight(
        message.key(), message.value(), tuple(message.headers() or ()), message.timestamp()[1]
    )


def _read(row: dict[str, Any]) -> Flight:
    headers = tuple((each["name"], each["value"]) for each in row["headers"])
    since_1970 = row["timestamp"] - datetime.fromtimestamp(0, UTC)
    return Flight(row["key"], row["value"], headers, round(since_1970.total_seconds() * 1000))
