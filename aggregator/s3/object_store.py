"""Object store: the requests to a bucket, each sent once. Blocks; call it in a thread."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError
from botocore.parsers import ResponseParserError
from crc32c import crc32c

from aggregator.s3.answers import NO_CREDENTIALS, Answer, StoreProblem, meaning
from replicator.config.store_credentials import read_credentials

TOKEN = "sluice-token"
"""Key of an object's metadata: the attempt that wrote it."""
RENEW_SECONDS = 1.0
READ_BYTES = 1 << 20
CONNECTIONS_MAX = 100
"""Connections that are kept for further requests: objects of many folders end together."""


class Found(NamedTuple):
    """Object as the store shows it.

    Args:
        crc32c: of the whole object; None where the store keeps none.
        metadata: as it was given when the object was begun; some stores lose that of uploads.
        etag: name that the store gives to this very content.
        modified_at: Unix time.
    """

    size_bytes: int
    crc32c: int | None
    metadata: Mapping[str, str]
    etag: str = ""
    modified_at: float = 0.0

    def __str__(self) -> str:
        checksum = "of no known CRC-32C" if self.crc32c is None else f"CRC-32C {self.crc32c:08x}"
        return f"{self.size_bytes} bytes, {checksum}"


class Listed(NamedTuple):
    """Object as a listing shows it."""

    key: str
    modified_at: float


class PutPart(NamedTuple):
    """Part of an upload that the store has."""

    number: int
    etag: str
    crc32c: int


class Upload(NamedTuple):
    """Upload that is not completed."""

    key: str
    upload_id: str
    begun_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAddress:
    """Address of a bucket, and how it is asked.

    Args:
        endpoint: URL of the store; None: AWS.
        owner: account that has to own the bucket; None: whoever.
        ca_file: PEM certificates that sign the store's own; None: those of the system.
        credentials_file: file with the keys of an account; None: boto3's chain finds them.
        extra: parameters of each new object, such as its encryption and storage class.
    """

    bucket: str
    endpoint: str | None = None
    region: str = "us-east-1"
    path_style: bool = False
    owner: str | None = None
    ca_file: str | None = None
    credentials_file: Path | None = None
    extra: Mapping[str, str]
    connect_seconds: float = 5.0
    read_seconds: float = 60.0

    @property
    def is_encrypted(self) -> bool:
        """True if requests go over TLS."""
        return self.endpoint is None or self.endpoint.startswith("https://")


class ObjectStore:
    """Bucket of a store.

    Args:
        make_client: makes boto3's client; called again to read the credentials anew.
        has_condition: the store keeps names that are taken (`If-None-Match`).
    """

    def __init__(
        self,
        address: StoreAddress,
        make_client: Callable[[StoreAddress], Any] | None = None,
        *,
        has_condition: bool = True,
    ) -> None:
        self.address = address
        self.has_condition = has_condition
        self._make_client = make_client or client_of
        self._made: Any = None
        self._made_at = 0.0
        # A client takes a second to make: threads that begin together share one.
        self._making = Lock()

    def renew(self) -> None:
        """Has the next request read the credentials anew, unless that was done a moment ago."""
        if time.monotonic() - self._made_at >= RENEW_SECONDS:
            self._made = None

    def without_condition(self) -> ObjectStore:
        """Returns a store of the same bucket that sends no condition: it overwrites."""
        return ObjectStore(self.address, self._make_client, has_condition=False)

    # -- objects

    def head(self, key: str) -> Found | None:
        """Returns the object of a name; None if there is none."""
        try:
            with self._asking("HEAD", key):
                found = self._client.head_object(**self._at(key), ChecksumMode="ENABLED")
        except StoreProblem as problem:
            if problem.answer is Answer.ABSENT:
                return None
            raise
        is_whole = found.get("ChecksumType", "FULL_OBJECT") == "FULL_OBJECT"
        return Found(
            found["ContentLength"],
            _whole_crc32c(found.get("ChecksumCRC32C", "")) if is_whole else None,
            found["Metadata"],
            found["ETag"],
            found["LastModified"].timestamp(),
        )

    def put(
        self,
        key: str,
        data: bytes,
        crc32c: int,
        metadata: Mapping[str, str],
        over: str | None = None,
    ) -> None:
        """Writes an object at once, unless its name is taken.

        Args:
            over: ETag of the only content that may be overwritten.
        """
        with self._asking("PutObject", key):
            self._client.put_object(
                **self._at(key),
                **self.address.extra,
                Body=data,
                ChecksumCRC32C=_text(crc32c),
                Metadata=dict(metadata),
                **self._condition(over),
            )

    def read(self, key: str) -> bytes | None:
        """Returns the content of an object; None if there is none."""
        try:
            with self._asking("GetObject", key):
                body = self._client.get_object(**self._at(key))["Body"]
                content: bytes = body.read()
                return content
        except StoreProblem as problem:
            if problem.answer is Answer.ABSENT:
                return None
            raise

    def read_range(self, key: str, begin: int, size: int) -> bytes:
        """Returns bytes from the middle of an object, which has as many."""
        with self._asking("GetObject", key):
            part = f"bytes={begin}-{begin + size - 1}"
            found: bytes = self._client.get_object(**self._at(key), Range=part)["Body"].read()
            return found

    def objects(self, prefix: str) -> Iterator[Listed]:
        """Yields the objects below a prefix."""
        with self._asking("ListObjectsV2", prefix):
            pages = self._client.get_paginator("list_objects_v2").paginate(
                **self._bucket, Prefix=prefix
            )
            for page in pages:
                for each in page.get("Contents", ()):
                    yield Listed(each["Key"], each["LastModified"].timestamp())

    def tag(self, key: str, tags: Mapping[str, str]) -> None:
        """Replaces the tags of an object."""
        listed = [{"Key": name, "Value": value} for name, value in tags.items()]
        with self._asking("PutObjectTagging", key):
            self._client.put_object_tagging(**self._at(key), Tagging={"TagSet": listed})

    def read_crc32c(self, key: str) -> int:
        """Reads an object, and returns its CRC-32C."""
        found = 0
        for piece in self.pieces(key):
            found = crc32c(piece, found)
        return found

    def pieces(self, key: str) -> Iterator[bytes]:
        """Reads an object piece by piece."""
        with self._asking("GetObject", key):
            body = self._client.get_object(**self._at(key))["Body"]
            yield from body.iter_chunks(READ_BYTES)

    # -- uploads

    def begin(self, key: str, metadata: Mapping[str, str]) -> str:
        """Begins an upload; returns its id."""
        with self._asking("CreateMultipartUpload", key):
            begun = self._client.create_multipart_upload(
                **self._at(key),
                **self.address.extra,
                ChecksumAlgorithm="CRC32C",
                ChecksumType="FULL_OBJECT",
                Metadata=dict(metadata),
            )
        upload_id: str = begun["UploadId"]
        return upload_id

    def put_part(self, key: str, upload_id: str, number: int, data: bytes, crc32c: int) -> PutPart:
        """Uploads a part; one of the same number is replaced."""
        with self._asking("UploadPart", key):
            put = self._client.upload_part(
                **self._at(key),
                UploadId=upload_id,
                PartNumber=number,
                Body=data,
                ChecksumCRC32C=_text(crc32c),
            )
        return PutPart(number, put["ETag"], crc32c)

    def complete(
        self,
        key: str,
        upload_id: str,
        parts: Sequence[PutPart],
        crc32c: int,
        over: str | None = None,
    ) -> None:
        """Makes an object of its parts, unless its name is taken. The answer is not to be believed:
        ask `head`.

        Args:
            over: ETag of the only content that may be overwritten.
        """
        listed = [
            {"PartNumber": each.number, "ETag": each.etag, "ChecksumCRC32C": _text(each.crc32c)}
            for each in parts
        ]
        with self._asking("CompleteMultipartUpload", key):
            self._client.complete_multipart_upload(
                **self._at(key),
                UploadId=upload_id,
                MultipartUpload={"Parts": listed},
                ChecksumType="FULL_OBJECT",
                ChecksumCRC32C=_text(crc32c),
                **self._condition(over),
            )

    def abort(self, key: str, upload_id: str) -> None:
        """Aborts an upload; does nothing if it is gone."""
        try:
            with self._asking("AbortMultipartUpload", key):
                self._client.abort_multipart_upload(**self._at(key), UploadId=upload_id)
        except StoreProblem as problem:
            if problem.answer not in (Answer.UPLOAD_GONE, Answer.ABSENT):
                raise

    def uploads(self, prefix: str) -> Iterator[Upload]:
        """Yields the uploads below a prefix that are not completed."""
        with self._asking("ListMultipartUploads", prefix):
            pages = self._client.get_paginator("list_multipart_uploads").paginate(
                **self._bucket, Prefix=prefix
            )
            for page in pages:
                for each in page.get("Uploads", ()):
                    yield Upload(each["Key"], each["UploadId"], each["Initiated"].timestamp())

    @contextmanager
    def _asking(self, what: str, key: str) -> Iterator[None]:
        """Turns errors of boto3 into a StoreProblem; what was denied has the credentials read
        anew."""
        try:
            with _named(what, key):
                yield
        except StoreProblem as problem:
            if problem.answer is Answer.DENIED:
                self.renew()
            raise

    @property
    def _client(self) -> Any:
        """Client of boto3. Raises StoreProblem if the credentials cannot be read."""
        with self._making:
            if self._made is None:
                self._made, self._made_at = self._make_client(self.address), time.monotonic()
            return self._made

    @property
    def _bucket(self) -> dict[str, Any]:
        owner = {"ExpectedBucketOwner": self.address.owner} if self.address.owner else {}
        return {"Bucket": self.address.bucket, **owner}

    def _condition(self, over: str | None) -> dict[str, str]:
        if not self.has_condition:
            return {}
        return {"IfMatch": over} if over else {"IfNoneMatch": "*"}

    def _at(self, key: str) -> dict[str, Any]:
        return {**self._bucket, "Key": key}


def client_of(address: StoreAddress) -> Any:
    """Returns boto3's client of a store, with the credentials as they are now.

    Raises:
        StoreProblem: their file cannot be read.
    """
    return boto3.Session(**_credentials(address.credentials_file)).client(
        "s3",
        endpoint_url=address.endpoint,
        region_name=address.region,
        verify=address.ca_file,
        config=Config(
            s3={
                "addressing_style": "path" if address.path_style else "auto",
                # Over TLS a CRC-32C suffices: SHA-256 of each part costs as much as writing it.
                "payload_signing_enabled": not address.is_encrypted,
            },
            connect_timeout=address.connect_seconds,
            read_timeout=address.read_seconds,
            # A second try by the library would hide how the first one ended.
            retries={"total_max_attempts": 1, "mode": "standard"},
            max_pool_connections=CONNECTIONS_MAX,
            # Stores without trailers refuse the checksums that boto3 adds by itself.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        ),
    )


def _credentials(file: Path | None) -> dict[str, Any]:
    if file is None:
        return {}
    try:
        return asdict(read_credentials(file))
    except (OSError, ValueError) as error:
        raise StoreProblem(Answer.DENIED, f"credentials_file: {error}", NO_CREDENTIALS) from error


@contextmanager
def _named(what: str, key: str) -> Iterator[None]:
    """Turns errors of boto3 into a StoreProblem."""
    try:
        yield
    except ClientError as error:
        found, answered = error.response.get("Error", {}), error.response["ResponseMetadata"]
        code, status = str(found.get("Code", "")), int(answered.get("HTTPStatusCode", 0))
        answer = meaning(code, status)
        text = f"{what} {key}: {code} {found.get('Message', '')} ({status})"
        raise StoreProblem(answer, text, code) from error
    except NoCredentialsError as error:
        raise StoreProblem(Answer.DENIED, f"{what} {key}: {error}", NO_CREDENTIALS) from error
    except (BotoCoreError, ResponseParserError) as error:
        # The latter is an answer of something between, such as a page of a proxy.
        raise StoreProblem(Answer.BUSY, f"{what} {key}: {error}") from error


def _text(crc32c: int) -> str:
    return base64.b64encode(crc32c.to_bytes(4, "big")).decode()


def _whole_crc32c(text: str) -> int | None:
    """Returns the CRC-32C of a whole object; None for another checksum, or none.

    A checksum of the checksums of parts has their number behind it (`xxxx-N`); some stores do not
    say its type.
    """
    try:
        found = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return int.from_bytes(found, "big") if len(found) == 4 else None
