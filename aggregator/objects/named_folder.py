"""Named folder: the encoded partition that an operator means, as listings show it. Pure.

It is named by itself, below its prefix and topic, or by the key of an object in it. Behind `#` may
stand the version of its records.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aggregator.objects.hive_path import columns_of, encoded
from aggregator.objects.schema_versions import NONE, SEPARATOR
from aggregator.objects.time_folders import without_time
from replicator.config.object_feed import ObjectFeed

_DIRECTIVES = {"%Y": r"\d{4}", "%m": r"\d\d", "%d": r"\d\d", "%H": r"\d\d", "%M": r"\d\d"}


class UnknownFolder(ValueError):
    """Name that no folder of the feed can have."""


class NamedFolder(NamedTuple):
    """Folder of a feed.

    Args:
        topic: None if it is not named.
        name: as loaders have it.
    """

    topic: str | None
    name: str


def named_folder(feed: ObjectFeed, text: str) -> NamedFolder:
    """Returns the folder of a name. Raises UnknownFolder, with the names that there are."""
    path, separator, version = text.strip("/").partition(SEPARATOR)
    for prefix in {feed.prefix_of(cluster) for cluster in feed.clusters} - {""}:
        path = path.removeprefix(f"{prefix}/")
    parts = path.rstrip("/").split("/")
    topic = parts.pop(0) if "=" not in parts[0] else None
    if parts and "=" not in parts[-1]:
        parts.pop()  # the file of an object
    try:
        name = encoded(columns_of("/".join(parts)))
    except ValueError:
        name = ""
    if not name or not _is_made(feed, name):
        raise UnknownFolder(f"feed {feed.name} has no folder {text}; its folders are {shape(feed)}")
    if not separator:
        return NamedFolder(topic, name)
    if not feed.keeps_apart:
        raise UnknownFolder(
            f"feed {feed.name} has no versions of folders (compatibility, format): leave out "
            f"{SEPARATOR}{version}"
        )
    if version != NONE and not version.isdecimal():
        raise UnknownFolder(
            f"{version!r} is no version of {name}: name the id of a schema, or {NONE} for records "
            "without one"
        )
    return NamedFolder(topic, f"{name}{SEPARATOR}{version}")


def shape(feed: ObjectFeed) -> str:
    """Returns how the folders of a feed are named, such as `year=%Y/month=%m`."""
    match feed.partition_by:
        case "time":
            return feed.folders
        case "field":
            return "/".join(f"{name}=..." for name in feed.fields)
    return "partition=0, partition=1 and so on"


def _is_made(feed: ObjectFeed, name: str) -> bool:
    """Returns True if records may be in a folder of this name."""
    match feed.partition_by:
        case "time":
            pattern = re.escape(feed.folders)
            for directive, digits in _DIRECTIVES.items():
                pattern = pattern.replace(directive, digits)
            is_time = re.fullmatch(pattern, name) is not None
            return is_time or name == without_time(feed.folders)
        case "field":
            return [column for column, _ in columns_of(name)] == list(feed.fields)
    return re.fullmatch(r"partition=(0|[1-9]\d*)", name) is not None
