"""Servers of the object cases: one Kafka broker and Redis for a run, a new object server for each
system."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from bench.ground import DIRECTORY, Servers
from deploy.lab.object_server import ACCESS_KEY, SECRET_KEY, ObjectServer

OBJECT_DIRECTORY = DIRECTORY.with_name("bench-objects")
REGION = "us-east-1"
PREFIX = "topics"


class ObjectGround(Servers):
    """Kafka and Redis, and a new object server for each system."""

    def __init__(self, directory: Path = OBJECT_DIRECTORY) -> None:
        super().__init__(directory, "source")
        (self.kafka,) = self.clusters

    @contextmanager
    def bucket(self) -> Iterator[Bucket]:
        """Yields an empty bucket of a new server, and ends the server afterwards."""
        number = self.next_number()
        directory = self.directory / f"bucket-{number}"
        directory.mkdir()
        server = ObjectServer(directory)
        server.start()
        try:
            server.wait_ready()
            yield Bucket(self, directory, server, number)
        finally:
            server.process.kill()
            shutil.rmtree(server.objects, ignore_errors=True)


class Bucket:
    """Bucket that one system writes into.

    Args:
        directory: of the server, and for the files of the system under test.
        number: unique to the bucket, for names of groups and feeds.
    """

    def __init__(
        self, ground: ObjectGround, directory: Path, server: ObjectServer, number: int
    ) -> None:
        self.ground, self.directory, self.server, self.number = ground, directory, server, number
        self.name = f"bench-{number}"
        self.folder = server.objects / self.name
        self.folder.mkdir()

    def client(self) -> Any:
        """Returns a client of boto3."""
        return client_of(self.server.url)

    def requests(self) -> int:
        """Returns the number of requests that the server has answered."""
        log = self.server.process.log.read_bytes()
        return log.count(b"| vgw |")

    def objects(self) -> dict[str, Path]:
        """Returns the file of each object by key, as a reader who lists the bucket finds them.

        Names that begin with a dot or an underscore are left out, as readers of tables do.
        """
        return dict(self._files(self.folder, ""))

    def _files(self, folder: Path, prefix: str) -> Iterator[tuple[str, Path]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith((".", "_")):
                    continue
                if entry.is_dir():
                    yield from self._files(Path(entry.path), f"{prefix}{entry.name}/")
                else:
                    yield f"{prefix}{entry.name}", Path(entry.path)


def client_of(endpoint: str) -> Any:
    """Returns a client of the bench's account."""
    return boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=REGION,
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET_KEY,
        config=Config(s3={"addressing_style": "path"}),
    )
