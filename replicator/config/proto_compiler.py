"""Protoc: compiles the .proto files of a folder. The compiler is that of grpcio-tools."""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

COMPILE_SECONDS = 60.0
TEXT_CHARACTERS_MAX = 300


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
