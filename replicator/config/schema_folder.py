"""Schema folder: the files that describe a feed's records, read once.

What was read is part of the configuration, so loaders on other hosts need no such folder, and what
changes in it counts at the next start.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationInfo

from replicator.config.security import beside_the_file

SUFFIXES = {"avro": ".avsc", "protobuf": ".proto"}
"""Ends of the names of schema files, by format."""
_EDITION = re.compile(rb"^\s*edition\s*=\s*[\"']", re.MULTILINE)
BYTES_MAX = 16 << 20
"""Most bytes of a folder's files: each task of Spark gets them."""
COMPILE_SECONDS = 60.0
TEXT_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class SchemaFolder:
    """Schemas of a feed's records.

    Args:
        files: contents by path below the folder, such as common/money.proto.
        descriptors: the serialized FileDescriptorSet of all .proto files and of what they import.
        is_single: the path is that of one file, whose schema all records have.
    """

    path: Path
    files: Mapping[str, bytes] = field(hash=False)
    descriptors: bytes = b""
    is_single: bool = False


def schema_folder(path: Path, format_name: str) -> SchemaFolder:
    """Returns the schemas of a format; raises ValueError if there are none that can be used.

    Files and folders whose names begin with a dot are left out.
    """
    suffix = SUFFIXES[format_name]
    if not path.is_dir():
        raise ValueError(f"no such folder: {path}")
    try:
        found = [
            each
            for each in sorted(path.rglob(f"*{suffix}"))
            if each.is_file()
            and not any(part.startswith(".") for part in each.relative_to(path).parts)
        ]
        if (size := sum(each.stat().st_size for each in found)) > BYTES_MAX:
            raise ValueError(f"{size} bytes of schemas, more than {BYTES_MAX}, in {path}")
        files = {each.relative_to(path).as_posix(): each.read_bytes() for each in found}
    except OSError as error:
        raise ValueError(f"cannot be read: {error.filename} ({error.strerror})") from None
    if not files:
        raise ValueError(f"no file *{suffix} in {path}")
    if format_name == "avro":
        for name, text in files.items():
            _check_avro(name, text)
        return SchemaFolder(path, files)
    for name, text in files.items():
        if _EDITION.search(text):
            raise ValueError(f"{name} is of an edition; the reader knows proto2 and proto3 only")
    try:
        return SchemaFolder(path, files, descriptor_set(path, tuple(files)))
    except NotCompiled as error:
        raise ValueError(f"protoc refuses them: {error}") from None


def single_schema(path: Path) -> SchemaFolder:
    """Returns the Avro schema of one file; raises ValueError if it is none."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot be read: {path} ({error.strerror})") from None
    _check_avro(path.name, text)
    return SchemaFolder(path, {path.name: text}, is_single=True)


def _check_avro(name: str, text: bytes) -> None:
    """Raises ValueError for a file that is no Avro schema."""
    # Takes half a second, which no other format should.
    import fastavro

    try:
        fastavro.parse_schema(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"{name} is no Avro schema: {error!r:.200}") from None
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise ValueError(f"{name} is no Avro schema: {error}") from None


def read_schemas(value: object, info: ValidationInfo) -> object:
    """Returns the schemas of the folder that a file names, for the format that stands before it."""
    format_name = info.data.get("format")
    if not isinstance(value, str | Path):
        return value
    path = beside_the_file(Path(value), info)
    return schema_folder(path, format_name) if format_name in SUFFIXES else SchemaFolder(path, {})


class NotCompiled(Exception):
    """Protoc refuses a file. Mend the file and line that the text names."""


def descriptor_set(folder: Path, files: Sequence[str]) -> bytes:
    """Returns the serialized FileDescriptorSet of files and of all that they import.

    Google's own files, such as google/protobuf/timestamp.proto, can be imported.

    Args:
        files: paths below the folder, which imports begin at too.

    Raises:
        NotCompiled: with protoc's text.
    """
    if ":" in str(folder):
        raise NotCompiled(f"the path {folder} has a colon, at which protoc would split it")
    # A path that begins with a slash is no option, whatever the file is called.
    paths = [str(folder.absolute() / name) for name in files]
    # In this process protoc would write what is wrong with a file to the terminal.
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{folder.absolute()}",
        "--include_imports",
    ]
    try:
        done = subprocess.run(
            [*command, "--descriptor_set_out=/dev/stdout", *paths],
            capture_output=True,
            timeout=COMPILE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise NotCompiled(f"no result in {COMPILE_SECONDS:g} s") from None
    if done.returncode:
        raise NotCompiled(_text(done.stderr.decode(errors="replace")))
    return done.stdout


def _text(stderr: str) -> str:
    """Returns the errors without the compiler's own log lines."""
    lines = [line for line in stderr.splitlines() if not re.match(r"WARNING: |[A-Z]\d{4} ", line)]
    return "; ".join(lines or [stderr.strip()])[:TEXT_CHARACTERS_MAX]
