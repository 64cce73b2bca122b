"""Memory of a loader into objects: what its resident size grows by, beside `aggregator.memory_mib`.

    python -m bench.object_memory [SHAPE-KIND-STORE ...]

A real loader runs in a process of its own. Once it has written its first objects, records come in
as fast as they can be sent, for some seconds; the store answers, or was stopped before (SIGSTOP).
The figures are peaks of the resident size above the one before. Results go into
bench/results/object_memory.json.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from bench.ground import say
from bench.machine import described, load_average
from bench.object_ground import ObjectGround as Servers
from deploy.lab.kafka import CHECKOUT
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer
from deploy.lab.process import Process
from deploy.lab.traffic import Codec, Shape, TrafficRecord
from deploy.lab.wait import until
from tests.live.object_ground import ObjectGround

FILE = CHECKOUT / "bench" / "results" / "object_memory.json"
MEMORY_MIB = 64
PARTITIONS = 4
SECONDS = 15.0
LOOK_SECONDS = 0.1
SCHEMA = {
    "type": "record",
    "name": "Measured",
    "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
}


@dataclass(frozen=True, slots=True)
class Records:
    """Records of a case.

    Args:
        name_bytes, key_bytes, header_bytes: of random text.
        folders: number of different ids.
    """

    name_bytes: int = 10
    key_bytes: int = 0
    header_bytes: int = 0
    folders: int = 1000
    codec: Codec = "none"

    def made(self, write: Callable[[int, str], bytes]) -> Iterator[TrafficRecord]:
        """Yields records without end.

        Args:
            write: returns the value of an id and a name.
        """
        number = 0
        while True:
            name = _text(self.name_bytes) if self.codec == "none" else "x" * self.name_bytes
            key = _text(self.key_bytes).encode() if self.key_bytes else None
            value = write(number % self.folders, name)
            headers = [("h", _text(self.header_bytes).encode())] if self.header_bytes else None
            yield TrafficRecord(number % PARTITIONS, key, value, headers)
            number += 1


def _text(size: int) -> str:
    return random.randbytes(size // 2 + 1).hex()[:size]


def as_json(number: int, name: str) -> bytes:
    """Returns a JSON document."""
    return json.dumps({"id": number, "name": name}).encode()


def as_datum(number: int, name: str) -> bytes:
    """Returns a datum of Avro."""
    return _long(number) + _long(len(name)) + name.encode()


def _long(number: int) -> bytes:
    left, found = number << 1, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


SHAPES: Mapping[str, Records] = {
    "small": Records(),
    "values": Records(name_bytes=100_000),
    "keys": Records(key_bytes=4096),
    "headers": Records(header_bytes=4096),
    "packed": Records(name_bytes=1000, codec="gzip"),
}
OBJECTS = "object_age_seconds = 2.0\nobject_mib = 64\n"
KINDS: Mapping[str, str] = {
    "parquet": 'file = "parquet"\n',
    "typed": 'file = "parquet"\nformat = "json"\nschemas = "{schema}"\n',
    "avro": 'file = "avro"\nformat = "avro"\nschemas = "{schema}"\n'
    'record_columns = ["key", "headers"]\n',
    "lines": 'file = "json_lines"\ncodec = "none"\n',
    "folders": 'file = "json_lines"\npartition_by = "field"\nfields = ["id"]\n',
}
CASES = (
    "headers-parquet-stopped",
    "headers-parquet-answers",
    "keys-parquet-answers",
    "values-parquet-answers",
    "small-parquet-answers",
    "packed-parquet-stopped",
    "headers-typed-answers",
    "headers-avro-answers",
    "values-lines-stopped",
    "values-lines-answers",
    "small-folders-stopped",
    "small-folders-answers",
)


@dataclass(frozen=True, slots=True)
class Size:
    """Resident sizes of a loader in MiB."""

    before: int
    growth: int


def resident_mib(process: Process) -> float:
    """Returns the resident size of a process; 0 if it has ended."""
    with suppress(OSError):
        for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def measured(servers: Servers, directory: Path, case: str) -> Size:
    """Returns what a loader takes in one case."""
    shape, kind, store = case.split("-")
    records, write = SHAPES[shape], as_datum if kind == "avro" else as_json
    schema = directory / "measured.avsc"
    schema.write_text(json.dumps(SCHEMA))
    server = ObjectServer(directory)
    server.start()
    try:
        server.wait_ready()
        settings = OBJECTS + KINDS[kind].format(schema=schema)
        with ObjectGround(
            directory,
            servers.kafka,
            servers.redis,
            server,
            settings=settings,
            partitions=PARTITIONS,
        ) as ground:
            appliance = ground.appliance
            changed = appliance.aggregator.model_copy(update={"memory_mib": MEMORY_MIB})
            ground.appliance = appliance.model_copy(update={"aggregator": changed})
            ground.lead()
            return _measured(ground, server, records.made(write), records.codec, store)
    finally:
        with suppress(ProcessLookupError):
            server.process.send(signal.SIGCONT)
        server.process.kill()


def _measured(
    ground: ObjectGround,
    server: ObjectServer,
    records: Iterator[TrafficRecord],
    codec: Codec,
    store: str,
) -> Size:
    ground.send(next(records) for _ in range(PARTITIONS))
    loader = ground.load_apart()
    assert until(lambda: len(ground.objects()) >= PARTITIONS, 60), loader.log.read_text()[-2000:]
    time.sleep(1)
    before = resident_mib(loader)
    if store == "stopped":
        server.process.send(signal.SIGSTOP)
    end = time.monotonic() + SECONDS

    def feed() -> None:
        ground.send(_until(records, end), Shape(codec=codec, linger_ms=5))

    sender = Thread(target=feed)
    sender.start()
    most = before
    while time.monotonic() < end:
        time.sleep(LOOK_SECONDS)
        most = max(most, resident_mib(loader))
    assert loader.is_running(), loader.log.read_text()[-2000:]
    sender.join()
    loader.kill()
    return Size(round(before), round(most - before))


def _until(records: Iterator[TrafficRecord], end: float) -> Iterator[TrafficRecord]:
    while time.monotonic() < end:
        yield next(records)


def main(cases: tuple[str, ...]) -> None:
    os.environ |= {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": SECRET_KEY}
    found: dict[str, dict[str, int]] = {}
    load = load_average()
    with Servers(CHECKOUT / ".lab" / "bench-memory") as servers:
        for case in cases:
            with TemporaryDirectory(dir=servers.directory) as directory:
                found[case] = asdict(measured(servers, Path(directory), case))
            say(f"{case}: {found[case]}")
    if cases == CASES:
        results = {"machine": described(), "load_before": load, "memory_mib": MEMORY_MIB}
        FILE.write_text(json.dumps({**results, "cases": found}, indent=2) + "\n")
        say(f"results are in {FILE}")


if __name__ == "__main__":
    main(tuple(sys.argv[1:]) or CASES)
