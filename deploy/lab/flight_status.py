"""Upsert table of the demo: the newest status of each flight of thirteen days.

A flight is scheduled, departs and arrives, or is cancelled, which deletes its row. All times are
shifted by one constant, so that the last one is now. Some records come late: behind newer ones of
their flight.
"""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isclose, isnan
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from confluent_kafka.admin import NewTopic

from deploy.lab import flights
from deploy.lab.clickhouse import READER
from deploy.lab.flight_tables import FEED, committed
from deploy.lab.kafka import KafkaCluster
from deploy.lab.lab import Lab
from deploy.lab.operator import Operator
from deploy.lab.traffic import Shape, TrafficRecord, send

if TYPE_CHECKING:
    from pandas import DataFrame

TABLE = "flight_status"
TOPIC = "flight_status"
PARTITIONS = 4
FIRST_DAY, LAST_DAY = "2013-12-18", "2013-12-30"
HOUR_MS = 3_600_000
MINUTE_MS = 60_000
SCHEDULED_BEFORE_MS = 12 * HOUR_MS
CANCELLED_BEFORE_MS = HOUR_MS
LATE_EACH = 10
"""Every tenth record is late ..."""
LATE_MS = 6 * HOUR_MS
"""... by the records of so many hours."""
QUESTION = (
    f"SELECT status, count() AS flights, avg(delay) AS minutes FROM {TABLE} "
    "GROUP BY status ORDER BY status"
)


class FlightEvent(NamedTuple):
    """Change of a flight's status, at a Unix time in milliseconds."""

    carrier: str
    flight: int
    origin: str
    day: int
    status: str = ""
    delay: int = 0
    changed_ms: int = 0


class StatusOfFlights(NamedTuple):
    """Flights of one status: their number, and the average delay in minutes."""

    flights: int
    delay: float


Answer = Mapping[str, StatusOfFlights]
"""Answer to QUESTION, by status."""


def table_toml() -> str:
    """Returns the table of the configuration, for the feed of the demo's tables."""
    columns = {
        "carrier": "String",
        "flight": "UInt32",
        "origin": "String",
        "day": "UInt8",
        "status": "String",
        "delay": "Int32",
        "cancelled": "UInt8",
        "changed": "DateTime",
    }
    listed = ", ".join(f"{name} = {json.dumps(kind)}" for name, kind in columns.items())
    return f"""
[feeds.{FEED}.tables.{TABLE}]
semantic = "upsert"
topics = ["{TOPIC}"]
columns = {{ {listed} }}
primary_key = ["carrier", "flight", "origin", "day"]
newest_column = "changed"
delete_column = "cancelled"
settle_seconds = 5.0
"""


class StatusDemo:
    """Table in the demo: kept in two halves, and compared with the log as of half-way and now."""

    def __init__(self, lab: Lab, aggregate: KafkaCluster) -> None:
        self._aggregate = aggregate
        self._operator = Operator(lab.configuration)
        self._password = lab.directory / "clickhouse-password"
        create_topic(aggregate)
        self._operator.ask("upsert", "create", "--region", "east")
        records = status_records(now_ms())
        self._first, self._second = records[: len(records) // 2], records[len(records) // 2 :]
        self._half = 0
        """Tick that has the first half of the records, and nothing else."""

    def begin(self) -> None:
        """Sends the first half of the records."""
        send_statuses(self._aggregate, self._first)

    def is_half(self) -> bool:
        """Returns True once the table has the first half."""
        found = kept(self._operator)
        self._half = found.tick
        return found.is_all

    def go_on(self) -> None:
        """Sends the second half."""
        send_statuses(self._aggregate, self._second)

    def is_whole(self) -> bool:
        """Returns True once the table has all records."""
        return kept(self._operator).is_all

    def compare(self, say: Callable[[str], None]) -> bool:
        """Prints the averages of now and of the half, beside those of the log. Returns True if they
        are equal."""
        counts = Counter(each.partition for each in self._first)
        is_right = True
        for when, options, counted in (
            ("as of half-way", ("--as-of", str(self._half)), counts),
            ("now", (), None),
        ):
            shown = answered(self._operator, self._password, *options)
            wanted = expected(self._aggregate, counted)
            say(f"{TABLE} {when}: {spelled(shown)}")
            say(f"  by the log, {when}: {spelled(wanted)}")
            is_right = is_right and is_same(shown, wanted)
        return is_right


def spelled(answer: Answer) -> str:
    """Returns an answer as text."""
    return ", ".join(
        f"{each.flights:,} {status} ({each.delay:.2f} min late)" for status, each in answer.items()
    )


def create_topic(cluster: KafkaCluster) -> None:
    """Creates the empty topic. Raises KafkaException."""
    cluster.create_topics(NewTopic(TOPIC, PARTITIONS, config={"retention.ms": "-1"}))


def status_records(now_ms: int) -> list[TrafficRecord]:
    """Returns the records of all flights, in the order in which they are sent."""
    events = [event for region in ("west", "east") for event in _events(_thirteen_days(region))]
    shift_ms = now_ms - max(event.changed_ms for event in events)
    sent = []
    for number, event in enumerate(events):
        late_ms = LATE_MS if number % LATE_EACH == 0 else 0
        sent.append((event.changed_ms + late_ms, number, event))
    # A key is in any partition: a row's newest record need not be in that of the one before.
    return [
        _record(event._replace(changed_ms=event.changed_ms + shift_ms), place % PARTITIONS)
        for place, (_, _, event) in enumerate(sorted(sent))
    ]


def send_statuses(cluster: KafkaCluster, records: Iterable[TrafficRecord]) -> None:
    """Produces records into the topic."""
    send(cluster, TOPIC, records, Shape(codec="lz4"))


def expected(cluster: KafkaCluster, records_of_each: Mapping[int, int] | None = None) -> Answer:
    """Returns the answer by brute force over the log: the newest record of each flight.

    Args:
        records_of_each: number of records that count, by partition; None: all do.
    """
    newest: dict[tuple[object, ...], tuple[tuple[int, int, int], dict[str, object]]] = {}
    for message in committed(cluster, TOPIC):
        partition, offset = message.partition() or 0, message.offset() or 0
        if records_of_each is not None and offset >= records_of_each.get(partition, 0):
            continue
        row = json.loads(message.value() or b"")
        key = row["carrier"], row["flight"], row["origin"], row["day"]
        order = row["changed"], partition, offset
        if key not in newest or newest[key][0] < order:
            newest[key] = order, row
    delays: dict[str, list[int]] = {}
    for _, row in newest.values():
        if not row["cancelled"]:
            delays.setdefault(str(row["status"]), []).append(int(str(row["delay"])))
    return {
        status: StatusOfFlights(len(each), sum(each) / len(each))
        for status, each in sorted(delays.items())
    }


class Kept(NamedTuple):
    """Newest tick that may be read, and whether it has all records of the topic."""

    tick: int
    is_all: bool


def kept(operator: Operator) -> Kept:
    """Returns how far the table is kept. Raises Refused."""
    answer = operator.ask("upsert", "status", "-o", "json", codes=(0, 3)).json()
    (table,) = answer["tables"]
    claimed = table["claimed"] or 0
    return Kept(claimed, claimed == table["tick"] and table["lag"] == 0)


def answered(operator: Operator, password: Path, *options: str) -> Answer:
    """Returns the answer of `sluice sql`. Raises Refused.

    Args:
        password: file with the password of the user READER, who may only read.
    """
    as_reader = ("--user", READER, "--password-file", str(password))
    found = operator.ask("sql", QUESTION, *as_reader, *options, "-o", "json")
    return {
        row["status"]: StatusOfFlights(int(row["flights"]), float(row["minutes"]))
        for row in found.json()["rows"]
    }


def is_same(one: Answer, other: Answer) -> bool:
    """Returns True if two answers are equal, but for the last digits of averages."""
    return one.keys() == other.keys() and all(
        one[status].flights == other[status].flights
        and isclose(one[status].delay, other[status].delay, abs_tol=1e-9)
        for status in one
    )


def now_ms() -> int:
    """Returns the Unix time."""
    return time.time_ns() // 1_000_000


def _thirteen_days(region: str) -> "DataFrame":
    frame = flights.flights_of(region)
    dates = frame["time_hour"].str.slice(0, 10)
    return frame[(dates >= FIRST_DAY) & (dates <= LAST_DAY)]


def _events(frame: "DataFrame") -> Iterator[FlightEvent]:
    """Yields what happened to flights, at their own times."""
    columns = ["carrier", "flight", "origin", "day", "moment", "dep_delay", "arr_delay", "air_time"]
    for row in frame[columns].itertuples(index=False):
        moment_ms = int(row.moment)
        own = FlightEvent(row.carrier, int(row.flight), row.origin, int(row.day))
        yield own._replace(status="scheduled", changed_ms=moment_ms - SCHEDULED_BEFORE_MS)
        if isnan(row.dep_delay):
            yield own._replace(status="cancelled", changed_ms=moment_ms - CANCELLED_BEFORE_MS)
            continue
        departed_ms = moment_ms + int(row.dep_delay) * MINUTE_MS
        yield own._replace(status="departed", delay=int(row.dep_delay), changed_ms=departed_ms)
        if not isnan(row.arr_delay):
            arrived_ms = departed_ms + int(row.air_time) * MINUTE_MS
            yield own._replace(status="arrived", delay=int(row.arr_delay), changed_ms=arrived_ms)


def _record(event: FlightEvent, partition: int) -> TrafficRecord:
    key = f"{event.carrier}-{event.flight}-{event.origin}-{event.day}"
    value = {
        "carrier": event.carrier,
        "flight": event.flight,
        "origin": event.origin,
        "day": event.day,
        "status": event.status,
        "delay": event.delay,
        "cancelled": int(event.status == "cancelled"),
        "changed": event.changed_ms // 1000,
    }
    return TrafficRecord(partition, key.encode(), json.dumps(value).encode(), [], event.changed_ms)
