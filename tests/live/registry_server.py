"""A schema registry as a small HTTP server: it serves the reads of Confluent's interface."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

UNKNOWN = {"error_code": 40403, "message": "Schema not found"}


@dataclass(eq=False)
class RegistryServer:
    """Listens on a port of its own, and on the same one when it is started again.

    Args:
        schemas: by id.
        subjects: answers by subject and version.
    """

    schemas: dict[int, Any] = field(default_factory=dict)
    subjects: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    answers: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Whole answers by id, in place of schemas."""
    authorization: str | None = None
    """Header that each request needs."""
    asked: list[str] = field(default_factory=list)
    """Paths of the requests."""
    port: int = 0
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                registry.asked.append(self.path)
                status, answer = registry.answer(self.path, self.headers.get("Authorization"))
                body = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        if self._server:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, Any]]:
        """Returns status and body of an answer."""
        if self.authorization not in (None, authorization):
            return 401, {"error_code": 401, "message": "Unauthorized"}
        match path.split("/"):
            case ["", "schemas", "ids", number] if int(number) in self.answers:
                return 200, self.answers[int(number)]
            case ["", "schemas", "ids", number] if int(number) in self.schemas:
                return 200, {"schema": json.dumps(self.schemas[int(number)])}
            case ["", "subjects", subject, "versions", version]:
                return 200, self.subjects[subject, int(version)]
            case ["", "schemas", "ids", _]:
                return 404, UNKNOWN
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}
