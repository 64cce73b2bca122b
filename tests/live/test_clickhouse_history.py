"""Traffic history in ClickHouse: weeks of retention, several balancers on a server, errors."""

from __future__ import annotations

import re
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from balancer.demand.window import Window
from balancer.demand.window_columns import WindowColumns
from balancer.topic_partition import TopicPartition
from deploy.lab.clickhouse import PASSWORD, READER, ClickHouseServer
from deploy.lab.credentials import Credentials
from deploy.lab.wait import until
from replicator.clickhouse.server import ClickHouse
from replicator.config.clickhouse_address import ClickHouseAddress
from replicator.placement.traffic.chosen_history import HISTORY_SETUP
from replicator.placement.traffic.clickhouse_history import COARSE, DAY_MS, FINE, ClickHouseHistory
from replicator.placement.traffic.traffic_history import MEANWHILE
from replicator.runtime.store_errors import StoreUnreachable
from tests.live.looks import HOUR, MINUTE, NOON, PLACES, coarse, fine, look, written

pytestmark = pytest.mark.stores


def history_at(url, route="west>east", days=30, password=PASSWORD, **more):
    address = ClickHouseAddress.parse(url)
    server = ClickHouse(address, HISTORY_SETUP, MEANWHILE, password=password, **more)
    return ClickHouseHistory(server, route, days=days)


@pytest.fixture
def make_history(shared_clickhouse, clickhouse_database):
    """`make_history(days=3)`: a history in a database of the test's own."""
    return partial(history_at, shared_clickhouse.address(clickhouse_database))


@pytest.fixture
def client(shared_clickhouse, clickhouse_database):
    with shared_clickhouse.client(clickhouse_database) as client:
        yield client


def test_weeks_are_kept_and_read_by_their_time(make_history):
    days = [look(day * 24 * 60 + at, day + 1) for day in range(21) for at in (0, 1, 10)]
    for each in days:
        make_history().write(each)
    begin_ms = NOON + 7 * DAY_MS
    assert fine(make_history(), begin_ms, begin_ms + HOUR) == days[21:24]
    assert fine(make_history(), 0, NOON + 21 * DAY_MS) == days
    sums = coarse(make_history(), 0, NOON + 21 * DAY_MS)
    assert [each[PLACES[0]].records for each in sums][:3] == [120, 60, 240]


def test_days_that_are_too_old_are_dropped_whole_and_nobody_elses(make_history, client):
    client.execute("CREATE TABLE other (at Int64) ENGINE = MergeTree PARTITION BY at ORDER BY at")
    client.execute("INSERT INTO other VALUES", [(1,)])
    for day in range(6):
        written(make_history(days=3), [day * 24 * 60, day * 24 * 60 + 10])
    first_ms = (NOON // DAY_MS + 2) * DAY_MS
    for table in (FINE, COARSE):
        times = [at_ms for (at_ms,) in client.execute(f"SELECT DISTINCT at_ms FROM {table}")]
        assert min(times) >= first_ms
        assert len({at_ms // DAY_MS for at_ms in times}) == 4
    assert client.execute("SELECT count() FROM other") == [(1,)]


def test_a_clock_that_is_ahead_drops_nothing(make_history):
    now_ms = time.time_ns() // 1_000_000
    right, ahead = (
        {PLACES[0]: Window(at_ms - MINUTE, at_ms, 600, 60)}
        for at_ms in (now_ms, now_ms + 60 * 365 * DAY_MS)
    )
    make_history().write(right)
    make_history().write(ahead)
    assert fine(make_history(), 0, now_ms) == [right]
    later = {PLACES[0]: Window(now_ms + HOUR, now_ms + HOUR + MINUTE, 600, 60)}
    make_history().write(later)
    assert coarse(make_history(), 0, now_ms) == [right]


def test_balancers_of_two_regions_keep_what_each_of_them_saw(make_history):
    looks = written(make_history("west>east"), range(12))
    assert fine(make_history("west>west")) == []
    others = written(make_history("west>west"), range(12), rate=2)
    assert fine(make_history("west>east")) == looks
    assert fine(make_history("west>west")) == others
    assert [sums[PLACES[0]].records for sums in coarse(make_history("west>east"))] == [600]


def test_what_a_writer_was_late_with_is_in_the_sums_once_the_next_are_made(make_history):
    late = make_history()
    written(make_history(), [*range(9), 10])
    written(late, [9])
    written(make_history(), [20])
    assert [sums[PLACES[0]].records for sums in coarse(make_history())] == [600, 60]


def test_other_windows_of_the_same_look_replace_what_was_there(make_history, client):
    written(make_history(), range(3))
    looks = written(make_history(), range(3), rate=5)
    assert fine(make_history()) == looks

    def is_merged():
        # While the server merges by itself, OPTIMIZE does nothing.
        client.execute(f"OPTIMIZE TABLE {FINE} FINAL")
        return client.execute(f"SELECT count() FROM {FINE}") == [(3 * len(PLACES),)]

    assert until(is_merged, 60, 0.2)


def test_anybody_may_ask_the_tables_as_the_page_does(make_history, client):
    written(make_history(), range(12))
    written(make_history(), range(12))
    page = (Path(__file__).parents[2] / "docs" / "balance.md").read_text()
    found = re.search(r"^```sql\n(.*?)^```", page, re.M | re.S)
    assert found
    rows = [(topic, taken) for _, topic, taken in client.execute(found[1])]
    assert rows == [("a", 2 * 10 * 600), ("b.c", 10 * 600)]


def test_a_wrong_password_an_unknown_user_and_an_unknown_database_are_named(shared_clickhouse):
    right = shared_clickhouse.address()
    for url, password, said in (
        (right, "sesame", "Wrong password for user sluice; correct the user in .*_password_file"),
        (
            shared_clickhouse.address(user="nobody"),
            PASSWORD,
            "Unknown user nobody; correct the user",
        ),
        (shared_clickhouse.address("none"), PASSWORD, "none doesn't exist; create the database"),
    ):
        history = history_at(url, password=password)
        with pytest.raises(StoreUnreachable, match=said) as caught:
            history.write(look(0, 1))
        assert str(shared_clickhouse.port) in str(caught.value)
        assert password not in str(caught.value)


def test_a_user_who_may_not_write_is_told_what_to_be_granted(shared_clickhouse):
    history = history_at(shared_clickhouse.address(user=READER))
    with pytest.raises(StoreUnreachable, match="readonly mode; grant the user SELECT, INSERT"):
        history.write(look(0, 1))


def test_a_server_that_stands_still_is_not_waited_for(own_clickhouse):
    history = history_at(own_clickhouse.address(), timeout_seconds=0.5)
    written(history, range(2))
    own_clickhouse.process.send(signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(StoreUnreachable, match="check that it runs"):
        history.write(look(2, 1))
    assert time.monotonic() - began < 10
    own_clickhouse.process.send(signal.SIGCONT)
    assert fine(history)[:2] == [look(0, 1), look(1, 1)]


def test_tls_is_spoken_with_whom_the_authority_signed_and_with_nobody_else(
    needs_clickhouse, tmp_path
):
    foreign = Credentials(directory=tmp_path / "foreign", protocol="tls")
    foreign.write()
    with ClickHouseServer(tmp_path, tls=True) as server:
        of_server, of_foreign = (
            history_at(server.address(), ca_file=ca_file)
            for ca_file in (server.ca_file, foreign.directory / "ca.pem")
        )
        looks = written(of_server, range(3))
        assert fine(of_server) == looks
        with pytest.raises(StoreUnreachable, match="certificate"):
            fine(of_foreign)


def test_a_look_at_100_000_partitions_is_written_and_read_at_once(make_history, client):
    places = [TopicPartition(f"topic-{at // 50}", at % 50) for at in range(100_000)]
    windows = {
        place: Window(NOON, NOON + MINUTE, at * 7919 % 10**6, at % 997)
        for at, place in enumerate(places)
    }
    make_history().write(windows)
    [told] = make_history().fine(NOON, NOON + HOUR)
    wanted = WindowColumns.of(windows)
    assert tuple(told.partitions) == tuple(wanted.partitions)
    for column in ("begins_ms", "ends_ms", "bytes", "records"):
        assert (getattr(told, column) == getattr(wanted, column)).all()
    [(size,)] = client.execute(
        "SELECT sum(bytes_on_disk) FROM system.parts WHERE active "
        "AND database = currentDatabase() AND table = %(table)s",
        {"table": FINE},
    )
    assert size / len(places) < 20
