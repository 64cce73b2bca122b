"""ClickHouse in this process, for tests that ask a server what it makes of a table or a block."""

from __future__ import annotations

import atexit
import json
from collections.abc import Mapping
from functools import cache
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any


@cache
def engine() -> Any:
    """Returns the session of this process: chdb has one at a time."""
    from chdb.session import Session

    folder = TemporaryDirectory(prefix="chdb-", ignore_cleanup_errors=True)
    atexit.register(folder.cleanup)  # chdb leaves it, also where it has made it
    session = Session(folder.name)
    atexit.register(session.close)
    return session


def native_of(query: str) -> bytes:
    """Returns the answer in the format Native."""
    answer: bytes = engine().query(query, "Native").bytes()
    return answer


def texts_of(query: str) -> list[list[str]]:
    """Returns the answer as rows of texts, as ClickHouse escapes them."""
    answer = engine().query(query, "TabSeparated").bytes().decode()
    return [line.split("\t") for line in answer.splitlines()]


def json_of(query: str) -> list[Any]:
    """Returns the answer as rows of JSON's values."""
    answer = engine().query(query, "JSONCompactEachRow").bytes().decode()
    return [json.loads(line) for line in answer.splitlines()]


def read_from(block: bytes, what: str = "*") -> list[Any]:
    """Returns what a server reads from a block in the format Native, as rows of JSON's values."""
    with NamedTemporaryFile(suffix=".native") as file:
        file.write(block)
        file.flush()
        return json_of(f"SELECT {what} FROM file('{file.name}', Native)")


def read_json(documents: bytes, types: Mapping[str, str]) -> list[Any]:
    """Returns what a server reads from documents, one on each line, as rows of JSON's values."""
    structure = ", ".join(f"`{name}` {kind}" for name, kind in types.items())
    quoted = structure.replace("\\", "\\\\").replace("'", "\\'")
    with NamedTemporaryFile(suffix=".ndjson") as file:
        file.write(documents)
        file.flush()
        return json_of(f"SELECT * FROM file('{file.name}', JSONEachRow, '{quoted}')")
