"""Plain schema: what a column of a typed file has to hold of a value, by Avro's rules.

A second reader of the values that feeds into objects load. Datums are read by fastavro, one at a
time, and documents as Python's own JSON parser has them; nothing of the writers' code takes part.
A value is *raw* here: times and days are numbers, decimals of datums the bytes that they are stored
in.
"""

from __future__ import annotations

import io
import json
import math
import re
from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import fastavro
import numpy as np

Kind = Any
"""Type as fastavro has it once it is parsed: a name, a record's fields and so on, or branches."""
NANOS = {
    "timestamp-millis": 10**6,
    "timestamp-micros": 10**3,
    "timestamp-nanos": 1,
    "local-timestamp-millis": 10**6,
    "local-timestamp-micros": 10**3,
    "local-timestamp-nanos": 1,
}
"""Nanoseconds of a tick of each logical type of times."""
_LIMITS = {"int": 2**31, "long": 2**63}
_EXACT_INTEGERS = 2**53
_EXACT = Context(prec=200)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)


class Refused(ValueError):
    """A value that the schema does not describe: its record has to be a dead letter."""


class Unsure(ValueError):
    """A value of which this reader does not know what a file has to hold."""


class PlainSchema:
    """Schema of values.

    Args:
        text: of JSON.
    """

    def __init__(self, text: str | bytes) -> None:
        found = json.loads(text)
        self._names: dict[str, Any] = {}
        self.kind: Kind = fastavro.parse_schema(found, self._names)
        self._bare_names: dict[str, Any] = {}
        # Values of logical types stay what they are stored in: not each has a Python value.
        self._bare: Any = fastavro.parse_schema(_without_logical(found), self._bare_names)
        self.has_singles = '"float"' in json.dumps(found)
        """True if it has floats of 32 bits anywhere."""
        records = [each for each in self._bare_names.values() if _base(each) == "record"]
        self._is_unsure = any(map(_has_both_names, records))
        for record in records:
            for field in record["fields"]:
                if "default" in field:
                    field["default"] = self.default(field["type"], field["default"])

    @property
    def is_record(self) -> bool:
        """True if its values are records."""
        return _base(self.kind) == "record"

    @property
    def described(self) -> Any:
        """The schema with whole names, for a comparison with another."""
        if not isinstance(self.kind, dict):
            return self.kind
        return {key: each for key, each in self.kind.items() if not key.startswith("__")}

    def datum(self, value: bytes, wanted: PlainSchema | None = None) -> Any:
        """Returns the raw value of a datum. Raises any error for one that cannot be read.

        Args:
            wanted: schema that it is resolved to; None: this one.
        """
        stream = io.BytesIO(value)
        reader = None if wanted is None or wanted is self else wanted._bare
        if reader is not None and wanted is not None and wanted._is_unsure:
            raise Unsure("a field of the schema has an alias that is another field's name")
        found: Any = fastavro.schemaless_reader(stream, self._bare, reader)
        if stream.tell() < len(value):
            raise Refused(f"{len(value) - stream.tell()} bytes behind the datum")
        return found

    def datums(self, block: io.BytesIO, count: int) -> Iterator[Any]:
        """Yields the raw values of a block of a container file."""
        for _ in range(count):
            yield fastavro.schemaless_reader(block, self._bare, None)

    def document(self, found: Any) -> Any:
        """Returns the raw value of a JSON document. Raises Refused or Unsure.

        Args:
            found: as `json_document` reads it.
        """
        return self._given(self.kind, found)

    def default(self, kind: Kind, value: Any) -> Any:
        """Returns the raw value of a default as a schema's JSON has it.

        Of a union the first branch that takes it counts. Raises Refused.
        """
        kind = self._resolved(kind)
        base = _base(kind)
        if isinstance(kind, list):
            for branch in kind:
                try:
                    return self.default(branch, value)
                except Refused:
                    continue
            raise Refused(f"{value!r:.60} is of no branch")
        if base == "null" and value is None:
            return None
        if base in ("bytes", "fixed") and isinstance(value, str):
            # Code points 0 to 255 are the octets, says the specification.
            return value.encode("latin-1")
        if base == "record" and isinstance(value, dict):
            return {
                each["name"]: self.default(
                    each["type"],
                    value[each["name"]] if each["name"] in value else each["default"],
                )
                for each in kind["fields"]
                if each["name"] in value or "default" in each
            }
        if base == "array" and isinstance(value, list):
            return [self.default(kind["items"], each) for each in value]
        if base == "map" and isinstance(value, dict):
            return {key: self.default(kind["values"], each) for key, each in value.items()}
        if base in ("string", "enum") and isinstance(value, str):
            return value
        if base == "boolean" and isinstance(value, bool):
            return value
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if base in ("float", "double") and is_number:
            return float(value)
        if base in _LIMITS and is_number and isinstance(value, int):
            return value
        raise Refused(f"{value!r:.60} is no {base}")

    def is_same(self, kind: Kind, raw: Any, stored: Any) -> bool:
        """Returns True if a column holds a value.

        Args:
            stored: as `plain_files` reads a column: times are nanoseconds.
        """
        kind = self._resolved(kind)
        if isinstance(kind, list):
            return self._is_same_branch(kind, raw, stored)
        if raw is None or stored is None:
            return raw is stored
        base, logical = _base(kind), _logical(kind)
        if base == "record":
            fields = kind["fields"]
            return len(fields) == len(stored) and all(
                each["name"] in stored
                and self.is_same(each["type"], raw[each["name"]], stored[each["name"]])
                for each in fields
            )
        if base == "array":
            pairs = zip(raw, stored, strict=False)
            return len(raw) == len(stored) and all(
                self.is_same(kind["items"], *pair) for pair in pairs
            )
        if base == "map":
            held = dict(stored)
            return raw.keys() == held.keys() and all(
                self.is_same(kind["values"], each, held[key]) for key, each in raw.items()
            )
        if logical == "decimal" and base in ("bytes", "fixed"):
            return bool(_decimal(kind, raw) == stored)
        if logical in NANOS and base == "long":
            return bool(raw * NANOS[logical] == stored)
        return is_same_scalar(raw, stored, is_single=base == "float")

    def _is_same_branch(self, kind: list[Kind], raw: Any, stored: Any) -> bool:
        """Compares a value of a union: a column of its one type beside null, or a struct with a
        member for each of several."""
        if raw is None or stored is None:
            return raw is stored
        branches = [each for each in kind if _base(self._resolved(each)) != "null"]
        if len(branches) == 1:
            return self.is_same(branches[0], raw, stored)
        held = [at for at in range(len(branches)) if stored.get(f"member{at}") is not None]
        if len(held) != 1 or len(stored) != len(branches):
            return False
        [at] = held
        branch = branches[at]
        return self._fits(branch, raw) and self.is_same(branch, raw, stored[f"member{at}"])

    def _fits(self, kind: Kind, raw: Any) -> bool:
        """Returns True if a raw value may be one of a branch."""
        kind = self._resolved(kind)
        base = _base(kind)
        if base == "record":
            names = {each["name"] for each in kind["fields"]}
            return isinstance(raw, dict) and raw.keys() == names
        types: dict[str, Any] = {"string": str, "enum": str, "bytes": bytes, "fixed": bytes}
        types |= {"array": list, "map": dict, "boolean": bool, "float": float, "double": float}
        if base == "enum":
            return raw in kind["symbols"]
        return isinstance(raw, types.get(base, int))

    def _given(self, kind: Kind, value: Any) -> Any:
        """Returns the raw value of what a document has for a type."""
        kind = self._resolved(kind)
        if isinstance(kind, list):
            branches = [each for each in kind if _base(self._resolved(each)) != "null"]
            if value is None and len(branches) < len(kind):
                return None
            if len(branches) != 1:
                raise Unsure("a union of several types")
            return self._given(branches[0], value)
        base = _base(kind)
        if value is None and base != "null":
            raise Refused(f"null is no {base}")
        if base == "record" and isinstance(value, dict):
            return {each["name"]: self._of_field(each, value) for each in kind["fields"]}
        if base == "array" and isinstance(value, list):
            return [self._given(kind["items"], each) for each in value]
        if isinstance(value, dict | list):
            raise Refused(f"{value!r:.60} is no {base}")
        return _scalar(kind, value)

    def _of_field(self, field: dict[str, Any], document: dict[str, Any]) -> Any:
        names = [field["name"], *field.get("aliases", ())]
        found = [name for name in names if name in document]
        if len(found) > 1:
            raise Unsure(f"a document has {found[0]} and {found[1]}")
        if found:
            return self._given(field["type"], document[found[0]])
        if "default" in field:
            return self.default(field["type"], field["default"])
        kind = self._resolved(field["type"])
        if any(_base(self._resolved(each)) == "null" for each in _branches(kind)):
            return None
        raise Refused(f"{field['name']} is missing")

    def _resolved(self, kind: Kind) -> Kind:
        while True:
            if isinstance(kind, str) and kind in self._names:
                kind = self._names[kind]
            elif isinstance(kind, dict) and isinstance(kind["type"], dict | list):
                kind = kind["type"]
            else:
                return kind


def json_document(value: bytes) -> Any:
    """Returns a document with decimals for numbers. Raises any error for what is none."""
    return json.loads(
        value,
        parse_float=Decimal,
        parse_int=lambda text: int(text) if len(text) < 100 else Decimal(text),
    )


def is_same_scalar(raw: Any, stored: Any, *, is_single: bool = False) -> bool:
    """Returns True if two values are the same: NaN is itself, and no zero is the other.

    Args:
        is_single: floats have 32 bits.
    """
    if isinstance(raw, bool) or isinstance(stored, bool):
        return raw is stored
    if isinstance(stored, float) and isinstance(raw, int | float | Decimal):
        if math.isnan(raw) or math.isnan(stored):
            return math.isnan(raw) and math.isnan(stored)
        if is_single:
            return _is_nearest(raw, stored)
        wanted = float(raw)
        return wanted == stored and math.copysign(1, wanted) == math.copysign(1, stored)
    return type(raw) is type(stored) and bool(raw == stored)


def _is_nearest(raw: float | Decimal, stored: float) -> bool:
    """Returns True if a float of 32 bits is the nearest one to a number."""
    if math.isinf(raw) or math.isinf(stored):
        return float(raw) == stored
    single, exact = np.float32(stored), Fraction(raw)
    distance = abs(exact - Fraction(float(single)))
    with np.errstate(over="ignore"):  # next to the largest number is infinity
        around = [float(np.nextafter(single, np.float32(end))) for end in (-math.inf, math.inf)]
    if abs(exact) > _EXACT_INTEGERS:
        # An integer may have been a double on its way, as in fastavro.
        return distance <= abs(Fraction(float(single))) / 2**23
    return all(math.isinf(each) or distance <= abs(exact - Fraction(each)) for each in around)


def _scalar(kind: Kind, value: Any) -> Any:
    """Returns the raw value of a document's scalar. Raises Refused or Unsure."""
    base, logical = _base(kind), _logical(kind)
    is_number = isinstance(value, int | Decimal) and not isinstance(value, bool)
    if isinstance(value, str) and base == "long" and logical in NANOS:
        return _ticks(value, logical)
    if isinstance(value, str) and base == "int" and logical == "date":
        return _day(value)
    if logical == "decimal" and base == "bytes":
        return (
            value if isinstance(value, str) else Decimal(value) if is_number else _no(kind, value)
        )
    if base in ("string", "enum"):
        return value if isinstance(value, str) else _no(kind, value)
    if base == "bytes":
        return value.encode() if isinstance(value, str) else _no(kind, value)
    if base == "boolean":
        return value if isinstance(value, bool) else _no(kind, value)
    if base in ("float", "double"):
        return value if is_number else _no(kind, value)
    if base in _LIMITS and is_number:
        limit = _LIMITS[base]
        is_one = value == int(value) and -limit <= value < limit
        return int(value) if is_one else _no(kind, value)
    if base == "null" and value is None:
        return None
    raise Refused(f"{value!r:.60} is no {base}")


def _no(kind: Kind, value: Any) -> Any:
    raise Refused(f"{value!r:.60} is no {_base(kind)}")


def _decimal(kind: Kind, raw: bytes | str | Decimal) -> Decimal:
    if isinstance(raw, bytes):
        ticks = int.from_bytes(raw, "big", signed=True)
        return _EXACT.scaleb(Decimal(ticks), -kind.get("scale", 0))
    try:
        return Decimal(raw)
    except InvalidOperation:
        raise Refused(f"{raw!r:.60} is no decimal") from None


def _ticks(text: str, logical: str) -> int:
    found = _TIME.fullmatch(text)
    if found is None:
        raise Unsure(f"a time of another form than ours: {text!r:.60}")
    if bool(found[4]) == logical.startswith("local") and found[4]:
        raise Unsure("a local time with an offset")
    try:
        time = datetime.fromisoformat(f"{found[1]} {found[2] or '00:00:00'}{found[4] or ''}")
    except ValueError:
        raise Refused(f"{text!r:.60} is no time") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    seconds = (time - _EPOCH) // timedelta(seconds=1)
    nanos = seconds * 10**9 + int((found[3] or "0").ljust(9, "0"))
    if nanos % NANOS[logical]:
        raise Refused(f"{text!r:.60} has more digits than {logical}")
    return nanos // NANOS[logical]


def _day(text: str) -> int:
    try:
        return (date.fromisoformat(text) - date(1970, 1, 1)).days
    except ValueError:
        raise Refused(f"{text!r:.60} is no day") from None


def _base(kind: Kind) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, list):
        return "union"
    return "record" if kind["type"] == "error" else str(kind["type"])


def _logical(kind: Kind) -> str:
    return kind.get("logicalType", "") if isinstance(kind, dict) else ""


def _branches(kind: Kind) -> list[Kind]:
    return kind if isinstance(kind, list) else [kind]


def _without_logical(schema: Any) -> Any:
    """Returns a schema's JSON without logical types. Defaults are no types, and stay."""
    if isinstance(schema, list):
        return [_without_logical(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = ("type", "items", "values")
    found = {
        key: _without_logical(each) if key in inner else deepcopy(each)
        for key, each in schema.items()
        if key != "logicalType"
    }
    if isinstance(schema.get("fields"), list):
        found["fields"] = [_without_logical(each) for each in schema["fields"]]
    return found


def _has_both_names(record: dict[str, Any]) -> bool:
    names = {each["name"] for each in record["fields"]}
    aliases = [alias for each in record["fields"] for alias in each.get("aliases", ())]
    return bool(names & {*aliases}) or len({*aliases}) < len(aliases)
