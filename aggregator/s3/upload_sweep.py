"""Upload sweep: which uploads below a feed's prefix nothing needs any more. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from aggregator.intents.intent import Intent
from aggregator.intents.table_range import Manifest
from aggregator.objects.object_name import ObjectName, parsed
from aggregator.objects.prefix_claim import CLAIM, below
from aggregator.objects.schema_versions import bare
from aggregator.s3.object_store import Upload
from aggregator.s3.store_trial import NOWHERE


class ObjectPlace(NamedTuple):
    """Place of an object in a feed, whatever its format is."""

    topic: str
    partition: int
    encoded_partition: str
    begin: int
    incarnation: int = 0

    @classmethod
    def of(cls, name: ObjectName) -> ObjectPlace:
        return cls(name.topic, name.partition, name.encoded_partition, name.begin, name.incarnation)

    @classmethod
    def named(cls, topic: str, partition: int, intent: Intent) -> set[ObjectPlace]:
        """Returns the places of the objects that an intent names, whatever their schemas are."""
        return {
            cls(topic, partition, bare(name), each.sealed_begin, intent.incarnation_at(each.begin))
            for name, each in intent.tables.items()
            if isinstance(each, Manifest)
        }


class Fate(StrEnum):
    """Fate of an upload."""

    FOREIGN = "not of this feed"
    NEEDED = "an intent names its object"
    YOUNG = "may be under way"
    STALE = "nothing needs it"


@dataclass(frozen=True, slots=True)
class JudgedUpload:
    """Upload that is not completed, and what becomes of it."""

    upload: Upload
    fate: Fate


def places(
    uploads: Iterable[Upload], prefix: str, topics: Collection[str]
) -> dict[Upload, ObjectPlace]:
    """Returns the place of each upload that a feed with these topics may have begun."""
    named = ((upload, parsed(upload.key, prefix)) for upload in uploads)
    return {upload: ObjectPlace.of(name) for upload, name in named if name and name.topic in topics}


def judged(
    uploads: Iterable[Upload],
    prefix: str,
    known: dict[Upload, ObjectPlace],
    needed: Collection[ObjectPlace],
    begun_before: float,
) -> Iterator[JudgedUpload]:
    """Yields the fate of each upload.

    Args:
        known: those that the feed may have begun.
        needed: objects that intents name, as they were read after the uploads were listed.
        begun_before: Unix time; younger ones may be under way.
    """
    # A trial of the store that was killed leaves these behind.
    own = {below(prefix, CLAIM), below(prefix, NOWHERE)}
    for upload in uploads:
        if upload not in known and upload.key not in own:
            fate = Fate.FOREIGN
        elif known.get(upload) in needed:
            fate = Fate.NEEDED
        else:
            fate = Fate.STALE if upload.begun_at < begun_before else Fate.YOUNG
        yield JudgedUpload(upload, fate)
