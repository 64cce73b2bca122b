"""Schema registry: reads of a server with the interface of Confluent's registry."""

from __future__ import annotations

import base64
import json
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

from replicator.config.security import read_secret

UNKNOWN_SCHEMA = 40403
"""The registry's own code; any other 404 is that of another server."""
TIMEOUT_SECONDS = 10.0
ANSWER_BYTES_MAX = 16 << 20


class SchemasAway(Exception):
    """A registry that gives no answer, or an unusable one. Ask again later."""


class NoAvroSchema(Exception):
    """A schema that records in Avro cannot be read by, and never will."""


@dataclass(frozen=True, kw_only=True)
class SchemaRegistry:
    """Registry at one address.

    Args:
        url: without a slash at its end.
        user: of basic authentication; None: there is none.
        password_file: of the user; it is read at each request, so that another password counts.
    """

    url: str
    user: str | None = None
    password_file: Path | None = None
    ca_file: str | None = None

    def schema(self, schema_id: int) -> str | None:
        """Returns the Avro schema of an id; None if the registry does not know it. Blocking.

        Raises:
            SchemasAway: nobody can tell now.
            NoAvroSchema: it is none.
        """
        answer = self._get(f"/schemas/ids/{schema_id}")
        if answer is None:
            return None
        if (kind := answer.get("schemaType") or "AVRO") != "AVRO":
            raise NoAvroSchema(f"the schema {schema_id} is of {kind}, and no Avro")
        text = self._text(answer, f"schema {schema_id}")
        if not answer.get("references"):
            return text
        return self._with_references(text, answer["references"])

    def _with_references(self, text: str, references: list[dict[str, Any]]) -> str:
        """Returns a schema that defines the others where it names them first."""
        # Takes half a second, which only these schemas should.
        from fastavro.schema import SchemaParseException, UnknownType, parse_schema

        named: dict[str, Any] = {}
        try:
            self._read(references, named)
            parsed = parse_schema(json.loads(text), named_schemas=named, _write_hint=False)
            return json.dumps(_defined(parsed, named, set()))
        except (
            SchemaParseException,
            UnknownType,
            ValueError,
            KeyError,
            TypeError,
            RecursionError,
        ) as error:
            raise NoAvroSchema(f"a schema with its references is none: {error!r:.200}") from None

    def _read(self, references: list[dict[str, Any]], named: dict[str, Any]) -> None:
        """Reads the schemas that others refer to, the innermost first."""
        from fastavro.schema import parse_schema

        for each in references:
            try:
                name, subject, version = each["name"], str(each["subject"]), each["version"]
            except (KeyError, TypeError):
                # What an answer lacks is no flaw of the records.
                raise SchemasAway(
                    f"{self.url}: an answer names no reference: {each!r:.100}"
                ) from None
            if name in named:
                continue
            where = f"/subjects/{quote(subject, safe='')}/versions/{version}"
            answer = self._get(where)
            if answer is None:
                raise SchemasAway(f"{self.url}{where}: the registry does not know it")
            self._read(answer.get("references") or [], named)
            schema = json.loads(self._text(answer, where))
            parse_schema(schema, named_schemas=named, _write_hint=False)

    def _text(self, answer: dict[str, Any], about: str) -> str:
        if not isinstance(text := answer.get("schema"), str):
            raise SchemasAway(f"{self.url}: the answer for {about} has no schema")
        return text

    def _get(self, path: str) -> dict[str, Any] | None:
        headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        try:
            if self.user is not None and self.password_file is not None:
                pair = f"{self.user}:{read_secret(self.password_file)}".encode()
                headers["Authorization"] = f"Basic {base64.b64encode(pair).decode()}"
            request = urllib.request.Request(self.url + path, headers=headers)
            with urllib.request.urlopen(
                request, timeout=TIMEOUT_SECONDS, context=self._context
            ) as answer:
                found = json.loads(answer.read(ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 404 and _own_code(error) == UNKNOWN_SCHEMA:
                    return None
            raise SchemasAway(f"{self.url}{path}: {error.code} {error.reason}") from None
        except (OSError, HTTPException, ValueError, RecursionError) as error:
            reason = getattr(error, "reason", error)
            raise SchemasAway(f"{self.url}{path}: {reason}") from None
        if not isinstance(found, dict):
            raise SchemasAway(f"{self.url}{path}: the answer is no schema")
        return found

    @property
    def _context(self) -> ssl.SSLContext | None:
        if not self.url.startswith("https://"):
            return None
        return ssl.create_default_context(cafile=self.ca_file)


def _own_code(error: urllib.error.HTTPError) -> int | None:
    try:
        code = json.loads(error.read(ANSWER_BYTES_MAX))["error_code"]
    except (ValueError, KeyError, TypeError, OSError):
        return None
    return code if isinstance(code, int) else None


def _defined(schema: Any, named: dict[str, Any], seen: set[str]) -> Any:
    """Returns a schema with the definition of each name at its first place, and nowhere else.

    Args:
        seen: names that are defined already.
    """
    if isinstance(schema, list):
        return [_defined(each, named, seen) for each in schema]
    if isinstance(schema, str):
        is_new = schema in named and schema not in seen
        return _defined(named[schema], named, seen) if is_new else schema
    found = dict(schema)
    if found["type"] in _NAMED:
        if found["name"] in seen:
            return found["name"]
        seen.add(found["name"])
    if "fields" in found:
        found["fields"] = [_defined(each, named, seen) for each in found["fields"]]
        return found
    return found | {
        key: _defined(found[key], named, seen)
        for key in ("type", "items", "values")
        if key in found
    }


_NAMED = ("record", "error", "enum", "fixed")
