"""Credentials of an object store, in a file like AWS's shared credentials file.

A store whose requests are denied reads the file anew, so changed credentials count without a
restart.
"""

from __future__ import annotations

from configparser import ConfigParser
from configparser import Error as Unparsable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, ValidationInfo

from replicator.config.security import readable

SECTION = "default"
"""Section of the file whose keys are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCredentials:
    """Credentials as boto3 takes them; their text form shows nothing."""

    aws_access_key_id: str = field(repr=False)
    aws_secret_access_key: str = field(repr=False)
    aws_session_token: str | None = field(default=None, repr=False)


def read_credentials(path: Path) -> StoreCredentials:
    """Returns the credentials of a file; raises OSError or ValueError, which show none of it."""
    parser = ConfigParser(interpolation=None)
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except (Unparsable, UnicodeDecodeError):
        # Their texts quote the lines that they could not read.
        raise ValueError(f'not in the form of an INI file, "key = value": {path}') from None
    section = dict(parser[SECTION]) if parser.has_section(SECTION) else {}
    for key in ("aws_access_key_id", "aws_secret_access_key"):
        if not section.get(key):
            raise ValueError(f"has no {key} in a section [{SECTION}]: {path}")
    return StoreCredentials(
        aws_access_key_id=section["aws_access_key_id"],
        aws_secret_access_key=section["aws_secret_access_key"],
        aws_session_token=section.get("aws_session_token") or None,
    )


def holding_credentials(path: Path, info: ValidationInfo) -> Path:
    """Returns the path of a readable file with credentials in it; raises ValueError otherwise."""
    path = readable(path, info)
    read_credentials(path)
    return path


CredentialsFile = Annotated[Path, AfterValidator(holding_credentials)]
