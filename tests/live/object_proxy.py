"""An HTTP proxy before an object server, which loses, holds and answers requests as it is told.

Headers are passed on unchanged: requests are signed for the proxy's own address.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit

from deploy.lab.wait import until

HELD_SECONDS = 60.0
METHODS = ("GET", "PUT", "POST", "HEAD", "DELETE")
ERROR = "<Error><Code>{}</Code><Message>by the proxy</Message></Error>"
COMPLETED = "<CompleteMultipartUploadResult><Key>k</Key></CompleteMultipartUploadResult>"


class Fault(StrEnum):
    """Fate of a request."""

    CUT = "the connection ends before the server sees the request"
    LOSE_ANSWER = "the server acts, and the connection ends without an answer"
    HOLD = "the request reaches the server once it is let go"
    INTERNAL_ERROR = "500 without the server"
    SLOW_DOWN = "503 SlowDown without the server"
    DISK_FULL = "507 without the server"
    CONFLICT = "409 without the server"
    ERROR_IN_SUCCESS = "200 with an error inside, without the server"
    EMPTY_SUCCESS = "200 without the server"
    DENIED = "403 without the server"
    NOT_IMPLEMENTED = "501 without the server"
    FOREIGN_PAGE = "a page of HTML that is no answer of a store"


_ANSWERS = {
    Fault.INTERNAL_ERROR: (500, ERROR.format("InternalError")),
    Fault.SLOW_DOWN: (503, ERROR.format("SlowDown")),
    Fault.DISK_FULL: (507, ERROR.format("InsufficientStorage")),
    Fault.CONFLICT: (409, ERROR.format("ConditionalRequestConflict")),
    Fault.DENIED: (403, ERROR.format("AccessDenied")),
    Fault.NOT_IMPLEMENTED: (501, ERROR.format("NotImplemented")),
    Fault.ERROR_IN_SUCCESS: (200, ERROR.format("InternalError")),
    Fault.EMPTY_SUCCESS: (200, COMPLETED),
    Fault.FOREIGN_PAGE: (502, "<html><body><p>bad gateway<br></body>"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """Request that came.

    Args:
        operation: S3's name of it.
        size_bytes: of its body.
    """

    operation: str
    key: str
    size_bytes: int


@dataclass(slots=True)
class _Order:
    """Fault of the requests of an operation, but for the first ones."""

    operation: str
    fault: Fault
    left_out: int
    times: int


@dataclass(eq=False)
class ObjectProxy:
    """Listens for one object server."""

    server_port: int
    asked: list[Asked] = field(init=False, default_factory=list)
    """All requests, in their order."""
    done: int = field(init=False, default=0)
    """Number of faults that have happened, or that have begun for requests that are held."""
    let_go: threading.Event = field(init=False, default_factory=threading.Event)
    """Ends the holding of requests."""
    _orders: list[_Order] = field(init=False, default_factory=list)
    _lock: threading.Lock = field(init=False, default_factory=threading.Lock)

    def __enter__(self) -> Self:
        methods = {f"do_{name}": _Handler.handle_it for name in METHODS}
        handler = type("Handler", (_Handler,), {"proxy": self, **methods})
        self._http = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()
        self._http.shutdown()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def order(self, operation: str, fault: Fault, times: int = 1, left_out: int = 0) -> None:
        """Orders the fault of the next requests of an operation.

        Args:
            left_out: number of requests before them that are passed on.
        """
        with self._lock:
            self._orders.append(_Order(operation, fault, left_out, times))

    def wait_done(self, count: int = 1, seconds: float = 60.0) -> None:
        """Waits until so many faults have happened."""
        assert until(lambda: self.done >= count, seconds), (self.done, self.asked[-20:])

    def sizes(self, operation: str) -> list[int]:
        """Returns the bytes of each request of an operation."""
        return [each.size_bytes for each in self.asked if each.operation == operation]

    def fate(self, asked: Asked) -> Fault | None:
        """Notes a request; returns what becomes of it, None to pass it on."""
        with self._lock:
            self.asked.append(asked)
            for order in self._orders:
                if order.operation != asked.operation:
                    continue
                if order.left_out:
                    order.left_out -= 1
                elif order.times:
                    order.times -= 1
                    self.done += 1
                    return order.fault
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Keeps quiet: a client that is killed breaks its connections."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    proxy: ObjectProxy

    def handle_it(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self.proxy.fate(
            Asked(operation_of(self.command, self.path), urlsplit(self.path).path, len(body))
        )
        if fault is Fault.CUT:
            self._cut()
            return
        if fault in _ANSWERS:
            status, text = _ANSWERS[fault]
            self._answer(status, [("Content-Type", "application/xml")], text.encode())
            return
        if fault is Fault.HOLD:
            self.proxy.let_go.wait(HELD_SECONDS)
        try:
            found = self._forwarded(body)
        except OSError:
            self._cut()
            return
        if fault is Fault.LOSE_ANSWER:
            self._cut()
        else:
            self._answer(*found)

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        server = http.client.HTTPConnection("127.0.0.1", self.proxy.server_port, timeout=60)
        try:
            server.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                # The proxy has answered this one itself.
                if name.lower() != "expect":
                    server.putheader(name, value)
            server.endheaders(body)
            answer = server.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            server.close()

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response_only(status)
        names = {name.lower() for name, _ in headers}
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding"):
                self.send_header(name, value)
        if "content-length" not in names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _cut(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def log_message(self, *_: object) -> None:
        """Keeps quiet."""


def operation_of(method: str, path: str) -> str:
    """Returns S3's name of a request."""
    query = parse_qs(urlsplit(path).query, keep_blank_values=True)
    named: dict[str, Callable[[], str]] = {
        "PUT": lambda: (
            "UploadPart"
            if "partNumber" in query
            else "PutObjectTagging"
            if "tagging" in query
            else "PutObject"
        ),
        "POST": lambda: (
            "CreateMultipartUpload" if "uploads" in query else "CompleteMultipartUpload"
        ),
        "DELETE": lambda: "AbortMultipartUpload",
        "HEAD": lambda: "HeadObject",
        "GET": lambda: "ListMultipartUploads" if "uploads" in query else "GetObject",
    }
    return named[method]()
