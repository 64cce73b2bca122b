"""Poison: records at which the writer of an object's file fails (59).

A file refuses poison, whoever writes it: it has to become a dead letter. At a fatal record only the
writer of the object itself fails, so that no trial finds it, until somebody has mended the loader.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from aggregator.files.admission import Admitted
from aggregator.files.decoding import Decode
from aggregator.files.file_writer import FileWriter
from aggregator.formats.record_slice import RecordSlice
from aggregator.loader.loader_assembly import Makers
from aggregator.loader.object_forming import ObjectForming
from aggregator.s3.open_object import OpenObject
from balancer.topic_partition import TopicPartition
from tests.world.sinks.mutation import Mutation

POISON, FATAL = b'{"poison"', b'{"fatal"'
"""Begins of values."""


@dataclass(slots=True)
class Defect:
    """Defect of the loaders of one feed.

    Args:
        is_mended: fatal records are written from now on.
    """

    is_mended: bool = False


@dataclass(slots=True)
class FailingWriter:
    """Writer of a file that fails at some records.

    Args:
        is_scratch: the file is a trial.
    """

    writer: FileWriter
    defect: Defect
    is_scratch: bool = False

    def write(self, slices: Sequence[RecordSlice]) -> bytes:
        for part in slices:
            for at in range(len(part)):
                value = part.value_at(at) or b""
                is_fatal = value.startswith(FATAL) and not self.is_scratch
                if value.startswith(POISON) or (is_fatal and not self.defect.is_mended):
                    raise ValueError(f"{value[:20]!r} has no place in the file")
        return self.writer.write(slices)

    def finish(self) -> bytes:
        return self.writer.finish()

    @property
    def size_bytes(self) -> int:
        return self.writer.size_bytes

    def forming_bytes(self, slices: Sequence[RecordSlice] = ()) -> int:
        return self.writer.forming_bytes(slices)

    @property
    def schema(self) -> str:
        return self.writer.schema

    @property
    def decode(self) -> Decode | None:
        return self.writer.decode

    def scratch(self) -> FailingWriter:
        return FailingWriter(self.writer.scratch(), self.defect, is_scratch=True)


def failing(makers: Makers, defect: Defect) -> Makers:
    """Returns makers of loaders whose files are written by failing writers."""

    def opened(make: Callable[..., OpenObject], *parts: Any) -> OpenObject:
        made = make(*parts)
        made.writer = FailingWriter(made.writer, defect)
        return made

    return replace(makers, object_forming=_opening(makers.object_forming, opened))


def _opening(
    make_forming: Callable[..., ObjectForming], opened: Callable[..., OpenObject]
) -> Callable[..., ObjectForming]:
    """Returns a maker of forming with other objects.

    Args:
        opened: is told how an object is made, and of what.
    """

    def made(*parts: Any) -> ObjectForming:
        assignment, partitions, intents, store, make, *rest = parts
        return make_forming(assignment, partitions, intents, store, partial(opened, make), *rest)

    return made


class TakesAllAlong(ObjectForming):
    """Ends the session for an error of one partition."""

    def _note(self, key: tuple[TopicPartition, str], error: Exception) -> None:
        raise error


class BlamesNeighbours(OpenObject):
    """Object whose refused records take those of their slice along."""

    def _written(self, slices: Sequence[RecordSlice]) -> bytes:
        admit = self.admit

        def admitted(records: RecordSlice) -> Admitted:
            found = admit(records)
            values = [found.records.value_at(at) or b"" for at in range(len(found.records))]
            if self.is_careful and any(value.startswith(POISON) for value in values):
                found = found.without(dict.fromkeys(range(len(values)), "beside a refused one"))
            return found

        self.admit = admitted
        try:
            return super()._written(slices)
        finally:
            self.admit = admit


class TriesNothing(OpenObject):
    """Object that writes records untried, also once its file has failed at one."""

    @property  # type: ignore[override]
    def is_careful(self) -> bool:
        return False

    @is_careful.setter
    def is_careful(self, value: bool) -> None:
        """Does nothing."""


def _untried(make: Callable[..., OpenObject], *parts: Any) -> OpenObject:
    made = make(*parts)
    made.__class__ = TriesNothing
    return made


def _blaming(make: Callable[..., OpenObject], *parts: Any) -> OpenObject:
    made = make(*parts)
    made.__class__ = BlamesNeighbours
    return made


def mutations(course: Any) -> tuple[Mutation[Any], ...]:
    """Returns the mutations of a course."""
    return (
        Mutation(
            59,
            "a failing partition takes its session along",
            Makers(object_forming=TakesAllAlong),
            course,
        ),
        Mutation(
            59,
            "a refused record fails its object",
            Makers(object_forming=_opening(ObjectForming, _untried)),
            course,
        ),
        Mutation(
            59,
            "neighbours of a refused record become letters",
            Makers(object_forming=_opening(ObjectForming, _blaming)),
            course,
        ),
    )
