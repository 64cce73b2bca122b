"""Client of a world's object server, in the place of boto3's.

It blocks its thread for virtual time. Of boto3 it has what the product uses.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from tests.world.blocking import wait
from tests.world.objects.server import COMPLETE, PUT, ObjectServer, Only


class WorldS3:
    """Client of one server."""

    def __init__(self, server: ObjectServer) -> None:
        self._server = server

    def head_object(self, **asked: Any) -> Any:
        return self._ask("HeadObject", asked["Key"], partial(self._server.head, asked["Key"]))

    def get_object(self, **asked: Any) -> Any:
        act = partial(self._server.get, asked["Key"])
        return {"Body": _Body(self._ask("GetObject", asked["Key"], act))}

    def put_object(self, **asked: Any) -> Any:
        key, crc, metadata = asked["Key"], asked["ChecksumCRC32C"], asked["Metadata"]
        act = partial(self._server.put, key, asked["Body"], crc, metadata, _only(asked))
        return self._ask(PUT, key, act)

    def create_multipart_upload(self, **asked: Any) -> Any:
        act = partial(self._server.begin, asked["Key"], asked["Metadata"])
        return {"UploadId": self._ask("CreateMultipartUpload", asked["Key"], act)}

    def upload_part(self, **asked: Any) -> Any:
        upload_id, number, crc = asked["UploadId"], asked["PartNumber"], asked["ChecksumCRC32C"]
        act = partial(self._server.put_part, upload_id, number, asked["Body"], crc)
        return {"ETag": self._ask("UploadPart", asked["Key"], act)}

    def complete_multipart_upload(self, **asked: Any) -> Any:
        key, upload_id, crc = asked["Key"], asked["UploadId"], asked["ChecksumCRC32C"]
        parts = [(each["PartNumber"], each["ETag"]) for each in asked["MultipartUpload"]["Parts"]]
        act = partial(self._server.complete, key, upload_id, parts, crc, _only(asked))
        return self._ask(COMPLETE, key, act)

    def abort_multipart_upload(self, **asked: Any) -> Any:
        act = partial(self._server.abort, asked["UploadId"])
        return self._ask("AbortMultipartUpload", asked["Key"], act)

    def get_paginator(self, operation: str) -> _Uploads | _Objects:
        if operation == "list_objects_v2":
            return _Objects(self)
        assert operation == "list_multipart_uploads"
        return _Uploads(self)

    def uploads(self, prefix: str) -> Any:
        act = partial(self._server.list_uploads, prefix)
        return self._ask("ListMultipartUploads", prefix, act)

    def objects(self, prefix: str) -> Any:
        act = partial(self._server.list_objects, prefix)
        return self._ask("ListObjectsV2", prefix, act)

    def _ask(self, operation: str, key: str, act: Callable[[], Awaitable[Any]]) -> Any:
        return wait(partial(self._server.ask, operation, key, act))


def _only(asked: dict[str, Any]) -> Only:
    """Returns the condition of a request."""
    return Only(asked.get("IfNoneMatch") == "*", asked.get("IfMatch", ""))


class _Body:
    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self) -> bytes:
        return self._data

    def iter_chunks(self, size: int) -> Iterator[bytes]:
        yield from (self._data[at : at + size] for at in range(0, len(self._data), size))


class _Uploads:
    def __init__(self, client: WorldS3) -> None:
        self._client = client

    def paginate(self, **asked: Any) -> Iterator[Any]:
        found = self._client.uploads(asked["Prefix"])
        yield {
            "Uploads": [
                {"Key": key, "UploadId": it, "Initiated": datetime.fromtimestamp(begun_at, UTC)}
                for key, it, begun_at in found
            ]
        }


class _Objects:
    def __init__(self, client: WorldS3) -> None:
        self._client = client

    def paginate(self, **asked: Any) -> Iterator[Any]:
        found = self._client.objects(asked["Prefix"])
        yield {
            "Contents": [
                {"Key": key, "LastModified": datetime.fromtimestamp(written_at, UTC)}
                for key, written_at in found
            ]
        }
