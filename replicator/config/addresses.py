"""Addresses of servers as operators write them: Kafka's host:port, URLs of Redis and of stores."""

import re
from typing import Annotated
from urllib.parse import parse_qsl, urlsplit

from pydantic import AfterValidator

from replicator.config.settings import PORT_MAX, without_duplicates

HOST_AND_PORT = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/,\[\]]+):(?P<port>[0-9]{1,5})")


def valid_address(text: str) -> str:
    """Returns a host:port in lower case; raises ValueError for anything else."""
    match = HOST_AND_PORT.fullmatch(text)
    if not match or not 1 <= int(match["port"]) <= PORT_MAX:
        raise ValueError("an address is host:port, e.g. kafka-1.west:9092")
    return text.lower()


def some_addresses(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the addresses; raises ValueError for none, or one listed twice."""
    if not addresses:
        raise ValueError("needs at least one host:port")
    return without_duplicates(addresses)


def valid_redis(url: str) -> str:
    """Returns a Redis address; raises ValueError if no client takes it, or it has a password."""
    if not re.match(r"(rediss?|unix)://.", url):
        raise ValueError("a Redis address starts with redis://, rediss:// (TLS) or unix://")
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_socket = parts.scheme == "unix"
    # A password that contains / ? or # ends the host early, and leaves its @ behind.
    behind_the_host = f"{'' if is_socket else parts.path}{parts.query}{parts.fragment}"
    if parts.password is not None or "password" in options or "@" in behind_the_host:
        raise ValueError("no password in the address: put it into redis_password_file")
    try:
        is_port = parts.port != 0
    except ValueError:
        is_port = False
    if not is_port:
        raise ValueError(f"the port of a Redis address is a number from 1 to {PORT_MAX}")
    database = options.get("db", "0" if is_socket else parts.path.removeprefix("/") or "0")
    if not re.fullmatch("[0-9]+", database):
        raise ValueError("the database of a Redis address is a number: redis://host:6379/0")
    return url


def valid_store(url: str) -> str:
    """Returns the URL of an object store; raises ValueError if no client takes it, or it has
    credentials."""
    if not re.match(r"https?://.", url):
        raise ValueError("the URL of a store starts with http:// or https:// (TLS)")
    if "@" in url:
        raise ValueError("no credentials in the URL: put them into credentials_file")
    try:
        parts = urlsplit(url)
        is_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_place = False
    if not is_place or not re.fullmatch(r"[!-~]+", url) or "?" in url or "#" in url:
        raise ValueError("the URL of a store is https://host:port, without a query")
    return url


Address = Annotated[str, AfterValidator(valid_address)]
Addresses = Annotated[tuple[Address, ...], AfterValidator(some_addresses)]
RedisAddress = Annotated[str, AfterValidator(valid_redis)]
StoreUrl = Annotated[str, AfterValidator(valid_store)]
