"""Orders of operators, given by commands to a running `sluice aggregate`: freeze, resume,
refresh-schema, skip-replay. All tests share one daemon, and leave nothing frozen."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from itertools import count

import pytest

from deploy.lab.traffic import TrafficRecord
from deploy.lab.wait import until
from replicator.kafka.client.custody import Custody
from tests.live.feed_ground import COLUMNS, FeedGround
from tests.live.replicas import ReplicatedDatabase, new_database
from tests.live.replicate_daemon import ReplicateDaemon
from tui.program import run

FOLLOWED_SECONDS = 60.0
RENEWED_SECONDS = 1.0
# No schema is read again, and no topic looked for, but by an order.
SETTINGS = f"""
[aggregator]
refresh_seconds = 3600
stale_seconds = {RENEWED_SECONDS / 0.3:.3f}
"""
FIRST, SECOND = "flights", "cancelled"


class Site:
    """A feed of two partitions and two tables, its daemon, and the commands of its operator."""

    def __init__(self, ground: FeedGround, daemon: ReplicateDaemon) -> None:
        self.ground, self.daemon = ground, daemon
        self._ids = count()

    def send(self, table: str, partition: int, **fields: object) -> int:
        """Sends a record, and returns the id of its row."""
        number = next(self._ids)
        value = json.dumps({"id": number, "name": "", "price": None, **fields}).encode()
        self.ground.send([TrafficRecord(partition, b"", value, [("table", table.encode())])])
        return number

    def ids(self, table: str) -> set[int]:
        database = self.ground.database
        with database.client() as client:
            return {number for (number,) in client.execute(f"SELECT id FROM {table}")}

    def wait_loaded(self, table: str, *numbers: int) -> None:
        assert until(lambda: set(numbers) <= self.ids(table), FOLLOWED_SECONDS), self.ids(table)

    def sluice(self, *arguments: str) -> tuple[int, str, str]:
        """Runs a command; returns its exit code, stdout and stderr."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run([*arguments[:2], "--config", str(self.ground.config), *arguments[2:]])
        return code, out.getvalue(), err.getvalue()

    def order(self, command: str, *arguments: str) -> dict[str, object]:
        """Gives an order, waits until loaders follow it, and returns what was said."""
        before = self.holders()
        code, out, err = self.sluice(
            *("aggregate", command, "--feed", self.ground.feed, *arguments, "-o", "json")
        )
        assert code == 0, err
        assert until(lambda: self._is_held_anew(before), FOLLOWED_SECONDS), self.ground.intents()
        return json.loads(out)

    def _is_held_anew(self, before: dict[int, tuple[int, int]]) -> bool:
        now = self.holders()
        return len(now) == self.ground.partitions and not before.items() & now.items()

    def holders(self) -> dict[int, tuple[int, int]]:
        """Returns the producers that hold partitions now."""
        return {
            partition: (each.producer_id, each.epoch)
            for partition, each in self.ground.intents().items()
            if each.custody is Custody.HELD
        }

    def status(self) -> dict[int, dict[str, object]]:
        """Returns the status of each partition."""
        return {each["partition"]: each for each in self.feed_status()["partitions"]}

    def feed_status(self) -> dict[str, object]:
        code, out, err = self.sluice("aggregate", "status", "-o", "json")
        assert code == 0, err
        (feed,) = json.loads(out)["feeds"]
        return feed

    def verified(self, since: str) -> tuple[int, dict[str, object]]:
        """Returns exit code and result of `sluice verify check`."""
        code, out, _ = self.sluice(
            *("verify", "check", "--region", "east", "--since", since, "-o", "json")
        )
        return code, json.loads(out)


@pytest.fixture(scope="module")
def site(tmp_path_factory, clusters, shared_redis, shared_replicas) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("orders")
    with (
        new_database(shared_replicas) as database,
        _ground(folder, clusters[1], shared_redis, database) as ground,
    ):
        for table in (FIRST, SECOND):
            database.create_table(table, COLUMNS, order_by="(_offset, _row)")
        ground.config.write_text(ground.config.read_text() + SETTINGS)
        daemon = ReplicateDaemon(ground.config, "east", 0, "local[2,8]", subcommand="aggregate")
        try:
            daemon.hear(r"event=plan version=\d+ partitions=2")
            yield Site(ground, daemon)
        finally:
            daemon.kill()


def _ground(folder, cluster, redis, database: ReplicatedDatabase) -> FeedGround:
    settings = 'table_from = "header"\nreference_seconds = 2.0'
    return FeedGround(folder, cluster, redis, database, settings=settings, partitions=2)


def test_a_frozen_feed_reads_nothing_keeps_its_entries_and_says_so(site):
    before = [site.send(FIRST, partition) for partition in (0, 1)]
    site.wait_loaded(FIRST, *before)
    told = site.order("freeze", "--reason", "moving ch-1")
    assert [each["kind"] for each in told["written"]] == ["freeze"]
    behind = [site.send(FIRST, partition) for partition in (0, 1)]
    since = datetime.now(UTC).isoformat()

    def is_renewed() -> bool:
        """Returns True once entries were committed after the freeze, for the second time."""
        code, found = site.verified(since)
        assert code == 0, found
        return sum(row["entries"] for row in found["rows"]) >= 4

    assert until(is_renewed, 30.0)
    feed = site.feed_status()
    for each in feed["partitions"]:
        assert (each["custody"], each["blocks"], each["lag_records"]) == ("held", [], 1)
        assert each["frozen"].endswith(": moving ch-1")
    assert [each["why"] for each in feed["orders"]] == ["moving ch-1"]
    _, text, _ = site.sluice("aggregate", "status")
    assert "2 frozen" in text and "freeze all topics" in text
    assert not set(behind) & site.ids(FIRST)
    assert [each["why"] for each in site.order("resume")["taken_back"]] == ["moving ch-1"]
    site.wait_loaded(FIRST, *behind)
    assert site.feed_status()["orders"] == []


def test_a_frozen_partition_stops_alone(site):
    where = ("--topic", site.ground.topic, "--partition", "1")
    site.order("freeze", *where, "--reason", "wrong producer")
    behind, other = site.send(FIRST, 1), site.send(FIRST, 0)
    site.wait_loaded(FIRST, other)
    assert behind not in site.ids(FIRST)
    assert [each["frozen"] is None for _, each in sorted(site.status().items())] == [True, False]
    site.order("resume", *where)
    site.wait_loaded(FIRST, behind)


def test_a_frozen_table_stops_only_the_partitions_that_hold_its_records(site):
    site.order("freeze", "--table", SECOND, "--reason", "being rebuilt")
    frozen = site.send(SECOND, 0)
    other = site.send(FIRST, 1)
    site.wait_loaded(FIRST, other)
    behind = site.send(FIRST, 0)
    site.wait_loaded(FIRST, site.send(FIRST, 1))
    assert until(lambda: (site.status()[0]["lag_records"] or 0) > 0, 30.0)
    assert behind not in site.ids(FIRST)
    assert frozen not in site.ids(SECOND)
    site.order("resume", "--table", SECOND)
    site.wait_loaded(SECOND, frozen)
    site.wait_loaded(FIRST, behind)


def test_a_column_added_by_alter_is_filled_at_once_after_refresh_schema(site):
    database = site.ground.database
    database.order(0, f"ALTER TABLE {FIRST} ADD COLUMN gate String")
    query = (
        "SELECT count() FROM system.columns "
        f"WHERE database = '{database.name}' AND table = '{FIRST}' AND name = 'gate'"
    )
    assert until(lambda: database.on_each(query) == [1] * len(database.replicas), 30.0)
    unread = site.send(FIRST, 0, gate="A1")
    site.wait_loaded(FIRST, unread)
    site.order("refresh-schema", "--table", FIRST, "--reason", "gate")
    read = site.send(FIRST, 0, gate="B2")
    site.wait_loaded(FIRST, read)
    with database.client() as client:
        found = dict(client.execute(f"SELECT id, gate FROM {FIRST} WHERE id >= {unread}"))
    assert found == {unread: "", read: "B2"}


def test_a_skipped_replay_names_its_blocks_and_is_an_accepted_loss_to_the_verifier(site):
    ground, since = site.ground, datetime.now(UTC).isoformat()
    site.wait_loaded(SECOND, site.send(SECOND, 0))
    ground.database.execute(f"DROP TABLE {SECOND}")
    site.send(SECOND, 0)
    site.daemon.hear(r"event=table-missing .* table=cancelled")
    arguments = ("aggregate", "skip-replay", "--feed", ground.feed, "--table", SECOND)
    code, out, _ = site.sluice(*arguments, "-o", "json")
    (block,) = json.loads(out)
    assert (code, block["table"], block["partition"], block["records"]) == (4, SECOND, 0, 1)
    assert site.sluice(*arguments, "--confirm")[0] == 2
    assert site.sluice(*arguments, "--confirm", "--reason", "table was dropped")[0] == 0
    site.daemon.hear(r"event=replay-skipped .* table=cancelled .* table was dropped")
    site.wait_loaded(FIRST, site.send(FIRST, 0))
    assert until(lambda: ground.intents()[0].losses == 1, 30.0)
    code, found = site.verified(since)
    assert code == 0, found
    (row,) = [each for each in found["rows"] if ground.feed in each["of"]]
    assert (row["anomaly"], row["accepted"]) == (0, 1)
    (finding,) = found["findings"]
    assert "skip-replay" in json.dumps(finding)
    # The next intent, which no longer names the block, follows within `reference_seconds`.
    assert until(lambda: site.sluice(*arguments)[0] == 0, 30.0)
