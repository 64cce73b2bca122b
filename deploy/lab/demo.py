"""`make demo`: a year of real flights mirrored between two regions, and every record checked.

1. Two regions start: four Kafka brokers and two Redis servers.
2. Each region's regional cluster is filled with the flights of its own airports.
3. `sluice replicate` and `sluice balance` run for both regions until everything has arrived.
4. Producers continue to write while one region's daemon is killed and restarted.
5. A whole region is killed; an application continues in the other one, and the region returns.
6. Another client reads both ends again, and every record is compared.
7. `sluice aggregate` loads the flights into two ClickHouse replicas, and by month into an S3
   store, and keeps an upsert table of their statuses. It is killed between two parts of an object,
   and every row, record and average is compared. Without ClickHouse where the system has no
   package of it.

`sluice record` runs beside all this: the last line names the command that replays it.

Exit status 0: every record is in every region, once, in order, unchanged, the application handled
every record once, and every record of the flights is a row on each replica, once, and in one
object.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from confluent_kafka.admin import NewTopic
from rich.console import Console

from deploy.lab import flight_objects, flight_status, flight_tables, flights, region_loss
from deploy.lab.clickhouse import PROGRAM as CLICKHOUSE
from deploy.lab.clickhouse_replicas import ClickHouseReplicas
from deploy.lab.daemons import SLUICE, Daemons
from deploy.lab.kafka import CHECKOUT
from deploy.lab.lab import AlreadyUp, Lab, LabRegion
from deploy.lab.operator import Refused
from deploy.lab.process import NotStarted
from deploy.lab.progress import TransferProgress, log_sizes
from deploy.lab.recording import Recording
from deploy.lab.report import compare_regions, table, total
from deploy.lab.traffic import Shape, TrafficRecord, records, send

DIRECTORY = CHECKOUT / ".lab" / "demo"
PARTITIONS = {topic.name: topic.partitions for topic in flights.TOPICS}

LOOK_EVERY_SECONDS = 0.25
SAY_EVERY_SECONDS = 2.0
# Spark alone takes ten seconds to start on a small machine, and minutes on a busy one.
SILENCE_SECONDS_MAX = 300.0

# Live traffic of step 4: west writes in transactions and aborts every fifth of them.
LIVE_TOPIC = "boarding"
LIVE_PARTITIONS = 6
LIVE_TOPICS = {LIVE_TOPIC: LIVE_PARTITIONS, region_loss.TOPIC: region_loss.PARTITIONS}
LIVE_PER_SECOND = 3_000
LIVE_SECONDS = 12
KILL_AFTER_SECONDS = 4
KILL_AT_PART = 0.3
"""Part of the rows after which `sluice aggregate` is killed."""
LIVE_SHAPES = {
    "west": Shape(codec="zstd", linger_ms=5, transaction_records=300, abort_every=5),
    "east": Shape(codec="lz4", linger_ms=5),
}

# Without a terminal rich assumes 80 columns, and would cut the table.
console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 100)


class Stalled(Exception):
    """No more records arrive although some are missing. The message says where to look."""


def main() -> int:
    began_at = time.monotonic()
    title("1. Two regions start", "four Kafka brokers, two Redis servers")
    try:
        with Lab(DIRECTORY) as lab:
            say(f"up after {time.monotonic() - began_at:.0f} s")
            counts = fill(lab.regions)
            recording = Recording(lab.directory, lab.configuration)
            with recording, Daemons(lab) as daemons:
                stretches = mirror(lab.regions, daemons, counts)
                survive(lab.regions, daemons)
                is_handled = move(lab, daemons)
                say(f"all ended on SIGTERM after {daemons.end():.1f} s")
            is_right = check(lab.regions, stretches) and is_handled
            is_right = load(lab, sum(counts.values()), recording) and is_right
    except (AlreadyUp, NotStarted, Refused, Stalled) as error:
        console.print(str(error), style="red", markup=False)
        return 1
    except KeyboardInterrupt:
        return 130
    say(f"nothing is left running; {time.monotonic() - began_at:.0f} s in all")
    say(f"to see it again in the console: {recording.replay_command}")
    return 0 if is_right else 1


def title(what: str, more: str) -> None:
    console.print(f"[bold]{what}[/]: {more}")


def say(text: str) -> None:
    console.print(f"   {text}", markup=False)


def fill(regions: Mapping[str, LabRegion]) -> dict[str, int]:
    """Loads the flights. Returns the number of records by topic, of all regions."""
    title("2. The flights of 2013", "each airport's go into its region's regional cluster")
    totals = dict.fromkeys(PARTITIONS, 0)
    for name, region in regions.items():
        began_at = time.monotonic()
        counts = flights.load(region.regional, name)
        region.regional.create_topics(*(NewTopic(*each) for each in LIVE_TOPICS.items()))
        for topic, count in counts.items():
            totals[topic] += count
        listed = ", ".join(f"{topic} {count:,}" for topic, count in counts.items())
        say(f"{name}: {listed} ({time.monotonic() - began_at:.0f} s)")
    return totals


def mirror(
    regions: Mapping[str, LabRegion], daemons: Daemons, counts: Mapping[str, int]
) -> dict[tuple[str, str], TransferProgress]:
    """Runs the daemons until all records have arrived. Returns the times by region and topic."""
    title(
        "3. sluice replicate, sluice balance",
        "in each region one carries every route into it, and one says who carries what",
    )
    for name in regions:
        daemons.start(name, "replicate", "balance")
    admins = {name: region.aggregate.admin() for name, region in regions.items()}
    stretches = {
        (name, topic): TransferProgress(expected)
        for name in regions
        for topic, expected in counts.items()
    }
    began_at = time.monotonic()
    now = said_at = moved_at = 0.0
    arrived = said = 0
    while not all(stretch.is_done for stretch in stretches.values()):
        time.sleep(LOOK_EVERY_SECONDS)
        daemons.look_alive()
        looked_before_at = now
        for name, admin in admins.items():
            sizes = log_sizes(admin, PARTITIONS)
            now = time.monotonic() - began_at
            for topic, size in sizes.items():
                stretches[name, topic].see(size, now=now, looked_before_at=looked_before_at)
        before, arrived = arrived, sum(stretch.arrived for stretch in stretches.values())
        moved_at = now if arrived != before else moved_at
        if now - moved_at > SILENCE_SECONDS_MAX:
            raise Stalled(f"nothing arrives any more; see {daemons.logs}")
        if arrived != said and now - said_at >= SAY_EVERY_SECONDS:
            say(progress(stretches, now, (arrived - said) / (now - said_at)))
            said_at, said = now, arrived
    if arrived != said:
        say(progress(stretches, now, (arrived - said) / (now - said_at)))
    return stretches


def progress(
    stretches: Mapping[tuple[str, str], TransferProgress], now: float, records_per_second: float
) -> str:
    parts = [f"{now:5.1f} s"]
    for name in dict.fromkeys(region for region, _ in stretches):
        own = [stretch for (region, _), stretch in stretches.items() if region == name]
        arrived, expected = sum(s.arrived for s in own), sum(s.expected for s in own)
        parts.append(f"into {name} {arrived:>9,} of {expected:,} ({arrived / expected:4.0%})")
    return "   ".join([*parts, f"{records_per_second:>9,.0f}/s"])


def survive(regions: Mapping[str, LabRegion], daemons: Daemons) -> None:
    """Kills one daemon with -9 during live traffic, and waits until there is no lag."""
    title(
        "4. kill -9",
        f"{LIVE_PER_SECOND:,} records a second go into each regional cluster for {LIVE_SECONDS} s,"
        " west's in transactions of which a fifth abort",
    )
    with ThreadPoolExecutor(len(regions)) as producers:
        sending = [
            producers.submit(send, region.regional, LIVE_TOPIC, live(name), LIVE_SHAPES[name])
            for name, region in regions.items()
        ]
        time.sleep(KILL_AFTER_SECONDS)
        daemons.kill("east", "replicate")
        killed_at = time.monotonic()
        say("east's daemon is killed, and started again")
        daemons.start("east")
        sent = sum(producer.result() for producer in sending)
    say(f"{sent:,} records were sent")
    wait_for_lag(daemons)
    say(f"no lag anywhere {time.monotonic() - killed_at:.0f} s after the kill")


def wait_for_lag(daemons: Daemons) -> None:
    """Waits until there is no lag. Raises Stalled or NotStarted."""
    began_at = time.monotonic()
    while (lag := daemons.lag_records()) != 0:
        daemons.look_alive()
        if time.monotonic() - began_at > SILENCE_SECONDS_MAX:
            raise Stalled(f"a lag of {lag} records stays; see {daemons.logs}")
        time.sleep(LOOK_EVERY_SECONDS)


def move(lab: Lab, daemons: Daemons) -> bool:
    """Loses a region. Returns True if the application handled every record once."""
    title("5. A region is lost", "both go on producing; an application moves from west to east")
    found = region_loss.lose_region(lab, daemons, say)
    say(
        f"{found.acknowledged:,} records were acknowledged to producers: {found.missed} missed, "
        f"{found.twice} handled twice, {found.reordered} out of order"
    )
    wait_for_lag(daemons)
    return found.is_exactly_once


def live(region: str) -> Iterator[TrafficRecord]:
    """Yields records of every kind at an even pace."""
    count = LIVE_PER_SECOND * LIVE_SECONDS
    began_at = time.monotonic()
    for number, record in enumerate(records(count, partitions=LIVE_PARTITIONS, origin=region)):
        ahead_seconds = number / LIVE_PER_SECOND - (time.monotonic() - began_at)
        if ahead_seconds > 0.01:
            time.sleep(ahead_seconds)
        yield record


def check(
    regions: Mapping[str, LabRegion], stretches: Mapping[tuple[str, str], TransferProgress]
) -> bool:
    """Compares both ends of every route and prints the table. Returns True if all records are
    right."""
    title("6. Both ends are read again", "every record is compared")
    began_at = time.monotonic()
    rows, problems = compare_regions(regions, [*PARTITIONS, *LIVE_TOPICS], stretches)
    console.print(table(rows))
    for target in regions:
        say(total(rows, target))
    say(
        f"{sum(row.verdict.sent for row in rows):,} records: key, value, headers, timestamp and"
        " order per partition, each as read_committed and as read_uncommitted"
        f" ({time.monotonic() - began_at:.0f} s)"
    )
    for problem in problems:
        console.print(problem, style="red", markup=False)
    if not problems:
        console.print("[bold green]Every record is in every region exactly once.[/]")
    return not problems


def load(lab: Lab, wanted: int, recording: Recording) -> bool:
    """Loads a region's flights into tables and objects. Returns True if every row is right on each
    replica, and every record in the objects.

    Args:
        wanted: number of the flights' records. The logs are longer where a carrier was fenced.
    """
    began_at = time.monotonic()
    aggregate = lab.regions["east"].aggregate
    with ExitStack() as servers:
        store = servers.enter_context(flight_objects.object_server(lab.directory))
        flight_objects.add_feed(lab, store, "east")
        replicas = None
        if CLICKHOUSE is not None:
            count = flight_tables.REPLICAS
            replicas = servers.enter_context(ClickHouseReplicas(lab.directory, count=count))
            flight_tables.create_tables(replicas)
            more = [flight_status.TOPIC], flight_status.table_toml()
            flight_tables.add_feed(lab, replicas, "east", *more)
            statuses = flight_status.StatusDemo(lab, aggregate)
        into = "into S3" if replicas is None else "into two ClickHouse replicas, and S3"
        title("7. sluice aggregate", f"the flights of both regions, from east, {into}")
        if replicas is None:
            say("without ClickHouse: this system has no clickhouse-server")
        with recording, Daemons(lab) as daemons:
            daemons.start("east", "aggregate")
            in_order = flight_objects.in_order(aggregate)
            if replicas:
                statuses.begin()
                wait_for_rows(daemons, replicas, wanted * KILL_AT_PART)
                wait_until(daemons, statuses.is_half, "the first half of flight_status is not kept")
            cut = flight_objects.almost_through(in_order)
            flight_objects.send_flights(aggregate, in_order[:cut])
            # Objects of earlier months are between two parts too, but only for a moment.
            earlier = len(flight_objects.months(in_order[:cut])) - 1
            wait_until(
                daemons,
                lambda: (
                    len(flight_objects.visible_months(store)) == earlier
                    and flight_objects.between_parts(store) > 0
                ),
                "the object of the last month is not between two parts",
            )
            if replicas:
                statuses.go_on()
            daemons.kill("east", "aggregate")
            open_objects = flight_objects.between_parts(store)
            say(
                f"kill -9 of sluice aggregate with {len(flight_objects.visible(store))} objects in "
                f"S3, and {open_objects} more between two parts; it is started again"
            )
            daemons.start("east", "aggregate")
            flight_objects.send_flights(aggregate, in_order[cut:])
            if replicas:
                wait_for_rows(daemons, replicas, wanted)
                say(f"{wanted:,} rows on each replica ({time.monotonic() - began_at:.0f} s)")
            wait_until(
                daemons,
                lambda: flight_objects.count_records(store) >= len(in_order),
                "records are missing in S3",
            )
            say(f"{len(in_order):,} records in S3 ({time.monotonic() - began_at:.0f} s)")
            if replicas:
                wait_until(daemons, statuses.is_whole, "flight_status is not kept")
            daemons.end()
        is_right = verify(lab) and open_objects > 0
        if replicas:
            is_right = statuses.compare(say) and is_right
        for row in flight_tables.compare_tables(aggregate, replicas) if replicas else ():
            say(
                f"{row.table:10} replica {row.replica}: {row.records:>8,} records, "
                f"{row.rows:>8,} rows, {row.lost} lost, {row.doubled} doubled, "
                f"{row.changed} changed"
            )
            is_right = is_right and row.is_right
        topic = flight_tables.committed(aggregate, flight_objects.TOPIC)
        found = flight_objects.compare_objects(topic, store)
    say(
        f"{found.objects} objects in S3:     {found.records:>8,} records, {found.lost} lost, "
        f"{found.doubled} doubled, {found.changed} changed, {found.misplaced} in another month"
    )
    is_right = is_right and found.is_right
    if is_right:
        where = "in one object" if replicas is None else "a row on each replica, and in one object"
        say(f"Every record is {where} ({time.monotonic() - began_at:.0f} s)")
    return is_right


def wait_for_rows(daemons: Daemons, replicas: ClickHouseReplicas, wanted: float) -> None:
    """Waits until every replica has so many rows. Raises Stalled or NotStarted."""
    wait_until(
        daemons,
        lambda: flight_tables.count_rows(replicas) >= wanted,
        f"{wanted:,.0f} rows are not there",
    )


def wait_until(daemons: Daemons, is_so: Callable[[], bool], trouble: str) -> None:
    """Waits until something is so while daemons run. Raises Stalled or NotStarted."""
    began_at = time.monotonic()
    while not is_so():
        daemons.look_alive()
        if time.monotonic() - began_at > SILENCE_SECONDS_MAX:
            raise Stalled(f"{trouble}; see {daemons.logs}")
        time.sleep(LOOK_EVERY_SECONDS)


def verify(lab: Lab) -> bool:
    """Returns True if the verifier finds no anomaly in what was committed."""
    command = [str(SLUICE), "verify", "check", "--config", str(lab.configuration)]
    done = subprocess.run(
        [*command, "--region", "east", "--since", "1h"], capture_output=True, text=True
    )
    say(f"sluice verify check: exit {done.returncode}")
    if done.returncode:
        console.print(done.stdout + done.stderr, style="red", markup=False)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
