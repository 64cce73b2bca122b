"""Object server of a world: a bucket with its uploads, as stores of several kinds keep them.

A request whose client has gone is carried out all the same, and may be so long after.
"""

from __future__ import annotations

import asyncio
import base64
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError
from crc32c import crc32c

from tests.world.network import Delays
from tests.world.process import CURRENT, Process
from tests.world.virtual_loop import EPOCH, VirtualLoop

URL = "http://store"
CLIENT_SECONDS = 5.0
"""Time after which a client gives a request up."""
LATE_SECONDS = (0.5, 12.0, 45.0)
"""Times after which late requests reach the server, at most."""


class Condition(StrEnum):
    """Way of a store with If-None-Match and If-Match."""

    KEPT = "kept"
    LOOKED_AT = "looked at before the object is assembled: of two writers both may win"
    IGNORED = "ignored"
    REFUSED = "refused with 501"


@dataclass(frozen=True, slots=True)
class StoreKind:
    """Kind of a store.

    Args:
        of_completions: condition of CompleteMultipartUpload, where it is another one.
        keeps_crc: HEAD tells the CRC-32C of whole objects.
        forgives: a completion of an upload that is gone succeeds if its name has any object.
        shown_seconds: longest time until an object that is written is shown.
    """

    condition: Condition = Condition.KEPT
    of_completions: Condition | None = None
    keeps_crc: bool = True
    forgives: bool = False
    shown_seconds: float = 0.0

    def condition_of(self, operation: str) -> Condition:
        """Returns the way with the conditions of an operation that writes an object."""
        return (self.of_completions if operation == COMPLETE else None) or self.condition


class RequestFate(StrEnum):
    """RequestFate of a request."""

    CUT = "the connection ends before the server sees it"
    LOSE_ANSWER = "the server acts, and the connection ends"
    LATE = "it reaches the server late, and its client does not wait for it"
    BROKEN = "500"
    SLOW_DOWN = "503"
    DISK_FULL = "507"
    CONFLICT = "409"
    DENIED = "403"
    ERROR_IN_SUCCESS = "200 with an error inside, and nothing done"
    ERROR_BEHIND = "200 with an error inside, and done"
    DIES_WITHIN = "200, and the upload is gone without an object"


ANSWERS = {
    RequestFate.BROKEN: ("InternalError", 500),
    RequestFate.SLOW_DOWN: ("SlowDown", 503),
    RequestFate.DISK_FULL: ("InsufficientStorage", 507),
    RequestFate.CONFLICT: ("ConditionalRequestConflict", 409),
    RequestFate.DENIED: ("AccessDenied", 403),
    RequestFate.ERROR_IN_SUCCESS: ("InternalError", 200),
    RequestFate.ERROR_BEHIND: ("InternalError", 200),
}
COMPLETE = "CompleteMultipartUpload"
PART = "UploadPart"
PUT = "PutObject"
WRITES = (PUT, COMPLETE)
"""Operations that show an object."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Object in the bucket.

    Args:
        shown_at: time from which on readers see it.
    """

    data: bytes
    metadata: Mapping[str, str]
    shown_at: float


@dataclass(frozen=True, slots=True)
class Only:
    """Condition of a request that writes an object.

    Args:
        is_new: its name has to be free (If-None-Match).
        over: ETag of the content that has to be there (If-Match); empty: whatever is there.
    """

    is_new: bool = False
    over: str = ""


@dataclass(slots=True)
class LiveUpload:
    """Upload that is not completed.

    Args:
        begun_at: Unix time.
    """

    key: str
    metadata: Mapping[str, str]
    begun_at: float
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """RequestFate of some requests for a while.

    Args:
        share: of the requests of these operations.
        until: time at which it ends.
    """

    operations: Sequence[str]
    fate: RequestFate
    share: float
    until: float


@dataclass(frozen=True, slots=True)
class Armed:
    """Call of an outsider at the next request of an operation.

    Args:
        is_behind: called once the server has acted; else when the request has arrived.
        act: called with the key, and with the process that asked.
    """

    operation: str
    is_behind: bool
    act: Callable[[str, Process | None], object]


class ObjectServer:
    """Server with one bucket.

    Args:
        dice: decides delays, and late requests.
    """

    def __init__(self, loop: VirtualLoop, dice: random.Random, kind: StoreKind) -> None:
        self.loop, self.dice, self.kind = loop, dice, kind
        self.objects: dict[str, Stored] = {}
        self.uploads: dict[str, LiveUpload] = {}
        self.orders: list[Order] = []
        self.armed: Armed | None = None
        self.is_gone = False
        """The bucket is not there for a while."""
        self.slowness = 1.0
        self.written: Callable[[str, Stored, Stored | None], object] = lambda *_: None
        """Called with each object that is written, and the one of its name before."""
        self.requests = 0
        self._delays = Delays()
        self._begun = 0

    # -- requests

    async def ask(self, operation: str, key: str, act: Callable[[], Awaitable[Any]]) -> Any:
        """Returns the answer to a client's request. Raises what boto3 raises."""
        self.requests += 1
        fate = self._fate(operation)
        answer: asyncio.Future[Any] = self.loop.create_future()
        serve = self._serve(operation, key, act, fate, answer, CURRENT.get())
        self.loop.create_task(serve, context=Context()).add_done_callback(self._served)
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                return await answer
        except TimeoutError:
            raise ReadTimeoutError(endpoint_url=URL) from None

    def _served(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (bug := task.exception()):
            self.loop.fail(bug)

    def _fate(self, operation: str) -> RequestFate | None:
        now = self.loop.time()
        self.orders = [it for it in self.orders if it.until > now]
        for order in self.orders:
            if operation in order.operations and self.dice.random() < order.share:
                return order.fate
        return None

    async def _serve(
        self,
        operation: str,
        key: str,
        act: Callable[[], Awaitable[Any]],
        fate: RequestFate | None,
        answer: asyncio.Future[Any],
        process: Process | None,
    ) -> None:
        if fate is RequestFate.LATE:
            await asyncio.sleep(self.dice.uniform(0.0, self.dice.choice(LATE_SECONDS)))
        await asyncio.sleep(self._delay())
        if fate is RequestFate.CUT:
            self._fail(answer, ConnectionClosedError(endpoint_url=URL))
            return
        if fate in ANSWERS and fate is not RequestFate.ERROR_BEHIND:
            await asyncio.sleep(self._delay())
            self._fail(answer, error(operation, *ANSWERS[fate]))
            return
        self._strike(operation, key, process, is_behind=False)
        if fate is RequestFate.DIES_WITHIN:
            self._die_within(key)
            found: Any = {}
        else:
            try:
                if self.is_gone:
                    raise error(operation, "NoSuchBucket", 404)
                found = await act()
            except ClientError as refused:
                await asyncio.sleep(self._delay())
                self._fail(answer, refused)
                return
        self._strike(operation, key, process, is_behind=True)
        await asyncio.sleep(self._delay())
        if fate in (RequestFate.LOSE_ANSWER, RequestFate.LATE):
            self._fail(answer, ConnectionClosedError(endpoint_url=URL))
        elif fate is RequestFate.ERROR_BEHIND:
            self._fail(answer, error(operation, *ANSWERS[fate]))
        elif not answer.done():
            answer.set_result(found)

    def _strike(self, operation: str, key: str, process: Process | None, is_behind: bool) -> None:
        armed = self.armed
        if armed and (armed.operation, armed.is_behind) == (operation, is_behind):
            self.armed = None
            armed.act(key, process)

    def _delay(self) -> float:
        return self._delays.drawn(self.dice) * self.slowness

    @staticmethod
    def _fail(answer: asyncio.Future[Any], failure: Exception) -> None:
        if not answer.done():
            answer.set_exception(failure)

    def _die_within(self, key: str) -> None:
        """Loses what was to become an object."""
        for upload_id, upload in list(self.uploads.items()):
            if upload.key == key:
                del self.uploads[upload_id]

    # -- objects

    async def head(self, key: str) -> dict[str, Any]:
        found = self._shown(key)
        if found is None:
            # The answer to HEAD has no body, which would say more.
            raise error("HeadObject", "404", 404)
        answer: dict[str, Any] = {
            "ContentLength": len(found.data),
            "Metadata": found.metadata,
            "ETag": etag_of(found.data),
            "LastModified": datetime.fromtimestamp(EPOCH + found.shown_at, UTC),
        }
        if self.kind.keeps_crc:
            answer |= {"ChecksumCRC32C": text_of(crc32c(found.data)), "ChecksumType": "FULL_OBJECT"}
        return answer

    async def get(self, key: str) -> bytes:
        found = self._shown(key)
        if found is None:
            raise error("GetObject", "NoSuchKey", 404)
        return found.data

    async def put(
        self, key: str, data: bytes, crc: str, metadata: Mapping[str, str], only: Only
    ) -> dict[str, Any]:
        if text_of(crc32c(data)) != crc:
            raise error(PUT, "BadDigest", 400)
        await self._write(PUT, key, data, metadata, only)
        return {}

    def write(self, key: str, data: bytes, metadata: Mapping[str, str]) -> None:
        """Writes an object, as whoever has the right to."""
        before = self.objects.get(key)
        shown_at = self.loop.time() + self.dice.uniform(0.0, self.kind.shown_seconds)
        if before is not None:
            shown_at = min(before.shown_at, shown_at)  # meanwhile readers see that one
        self.objects[key] = Stored(data, metadata, shown_at)
        self.written(key, self.objects[key], before)

    async def _write(
        self, operation: str, key: str, data: bytes, metadata: Mapping[str, str], only: Only
    ) -> None:
        condition = self.kind.condition_of(operation)
        if condition is Condition.REFUSED and (only.is_new or only.over):
            raise error(operation, "NotImplemented", 501)
        if condition is Condition.LOOKED_AT:
            self._check(operation, key, only)
        await asyncio.sleep(self._delay())
        if condition is Condition.KEPT:
            self._check(operation, key, only)
        self.write(key, data, metadata)

    def _check(self, operation: str, key: str, only: Only) -> None:
        found = self.objects.get(key)
        if only.over and found is None:
            raise error(operation, "NoSuchKey", 404)
        is_other = found is not None and only.over and etag_of(found.data) != only.over
        if is_other or (only.is_new and found is not None):
            raise error(operation, "PreconditionFailed", 412)

    def _shown(self, key: str) -> Stored | None:
        found = self.objects.get(key)
        return found if found and found.shown_at <= self.loop.time() else None

    # -- uploads

    async def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        self._begun += 1
        upload_id = f"upload-{self._begun}"
        self.uploads[upload_id] = LiveUpload(key, metadata, EPOCH + self.loop.time())
        return upload_id

    async def put_part(self, upload_id: str, number: int, data: bytes, crc: str) -> str:
        if text_of(crc32c(data)) != crc:
            raise error(PART, "BadDigest", 400)
        self._upload(PART, upload_id).parts[number] = data
        return etag_of(data)

    async def complete(
        self, key: str, upload_id: str, parts: Sequence[tuple[int, str]], crc: str, only: Only
    ) -> dict[str, Any]:
        if upload_id not in self.uploads and self.kind.forgives and key in self.objects:
            return {}
        upload = self._upload(COMPLETE, upload_id)
        if [(at, etag_of(upload.parts.get(at, b""))) for at, _ in parts] != list(parts):
            raise error(COMPLETE, "InvalidPart", 400)
        data = b"".join(upload.parts[at] for at, _ in parts)
        if text_of(crc32c(data)) != crc:
            raise error(COMPLETE, "BadDigest", 400)
        await self._write(COMPLETE, key, data, upload.metadata, only)
        self.uploads.pop(upload_id, None)
        return {}

    async def abort(self, upload_id: str) -> dict[str, Any]:
        self._upload("AbortMultipartUpload", upload_id)
        del self.uploads[upload_id]
        return {}

    async def list_uploads(self, prefix: str) -> list[tuple[str, str, float]]:
        """Returns key, id and begin of each upload below a prefix."""
        found = [(each.key, upload_id, each.begun_at) for upload_id, each in self.uploads.items()]
        return sorted(each for each in found if each[0].startswith(prefix))

    async def list_objects(self, prefix: str) -> list[tuple[str, float]]:
        """Returns key and time of each object below a prefix that readers see."""
        found = ((key, self._shown(key)) for key in sorted(self.objects) if key.startswith(prefix))
        return [(key, EPOCH + each.shown_at) for key, each in found if each]

    def _upload(self, operation: str, upload_id: str) -> LiveUpload:
        if upload_id not in self.uploads:
            raise error(operation, "NoSuchUpload", 404)
        return self.uploads[upload_id]


def error(operation: str, code: str, status: int) -> ClientError:
    """Returns boto3's error of an answer."""
    answer: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(answer, operation)


def text_of(crc: int) -> str:
    """Returns a CRC-32C as S3 has it in headers."""
    return base64.b64encode(crc.to_bytes(4, "big")).decode()


def etag_of(data: bytes) -> str:
    return f'"{crc32c(data):08x}-{len(data)}"'
