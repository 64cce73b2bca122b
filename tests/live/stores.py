"""Object stores that tests ask: servers of two makers, each with an empty bucket."""

from __future__ import annotations

from pathlib import Path

from aggregator.s3.object_store import ObjectStore, StoreAddress
from deploy.lab.object_server import ObjectServer
from deploy.lab.s3proxy import S3Proxy

BUCKET = "bucket"
SERVERS: dict[str, type[ObjectServer]] = {"versitygw": ObjectServer, "s3proxy": S3Proxy}


def started(kind: str, directory: Path) -> ObjectServer:
    """Returns a server that takes connections, with a bucket."""
    server = SERVERS[kind](directory)
    server.start()
    (server.objects / BUCKET).mkdir()
    server.wait_ready()
    return server


def address_in(url: str, bucket: str = BUCKET) -> StoreAddress:
    return StoreAddress(bucket=bucket, endpoint=url, path_style=True, extra={})


def store_in(server: ObjectServer, bucket: str = BUCKET, url: str | None = None) -> ObjectStore:
    """Returns a bucket of a server, or of a proxy before it."""
    return ObjectStore(address_in(url or server.url, bucket))
