"""Object name: where the records of an encoded partition are in a bucket.

`<prefix>/<topic>/<encoded partition>/<topic>+<partition>+<offset of the first record>.<extension>`,
as Confluent's sink names its objects. If the log took the place of a former one, as that of a topic
that was created again, the offset is followed by `+<incarnation>`: both logs may have it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KEY_BYTES_MAX = 1024
"""Longest key of an object, in UTF-8."""
OFFSET_DIGITS = 10
_FILE = re.compile(
    r"(?P<topic>[\w.-]+)\+(?P<partition>\d+)\+(?P<begin>\d+)(\+(?P<incarnation>[1-9]\d*))?"
    r"\.(?P<extension>[\w.]+)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectName:
    """Name of an object.

    Args:
        prefix: without a slash at either end; empty: none.
        begin: offset of the first record.
        extension: without its dot, such as `snappy.parquet`.
        digits: to which the offset is padded.
        incarnation: of the log that the records are of; 0 is not shown.
    """

    prefix: str
    topic: str
    encoded_partition: str
    partition: int
    begin: int
    extension: str
    digits: int = OFFSET_DIGITS
    incarnation: int = 0

    @property
    def key(self) -> str:
        """Key in the bucket."""
        log = f"+{self.incarnation}" if self.incarnation else ""
        file = f"{self.topic}+{self.partition}+{self.begin:0{self.digits}}{log}.{self.extension}"
        return "/".join(filter(None, (self.prefix, self.topic, self.encoded_partition, file)))


def is_file(name: str) -> bool:
    """Returns True for the last part of an object's key."""
    return _FILE.fullmatch(name) is not None


def parsed(key: str, prefix: str) -> ObjectName | None:
    """Returns the name that a key stands for; None for a key of another shape."""
    if prefix and not key.startswith(f"{prefix}/"):
        return None
    topic, _, rest = key[len(prefix) + 1 if prefix else 0 :].partition("/")
    folders, _, file = rest.rpartition("/")
    found = _FILE.fullmatch(file)
    if found is None or found["topic"] != topic:
        return None
    name = ObjectName(
        prefix=prefix,
        topic=topic,
        encoded_partition=folders,
        partition=int(found["partition"]),
        begin=int(found["begin"]),
        extension=found["extension"],
        digits=len(found["begin"]),
        incarnation=int(found["incarnation"] or 0),
    )
    return name if name.key == key else None
