"""Proto messages: the message that describes a table's records, among those of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from replicator.config.schema_folder import SchemaFolder


class NoMessage(Exception):
    """No message describes a table's records. Add one to the folder, then start again."""


class ProtoMessages:
    """Messages of a folder's files, without those that only these files import."""

    def __init__(self, folder: SchemaFolder) -> None:
        self._folder = folder
        pool = pool_of(FileDescriptorSet.FromString(folder.descriptors).file)
        self._files: Mapping[str, list[Descriptor]] = {
            name: list(pool.FindFileByName(name).message_types_by_name.values())
            for name in folder.files
        }

    def of_table(self, table: str) -> Descriptor:
        """Returns the message that is named like the table, else the only one of its file.

        Only messages that are in no other message count. Raises NoMessage.
        """
        named = [
            message
            for messages in self._files.values()
            for message in messages
            if table in (message.name, message.full_name)
        ]
        if len(named) > 1:
            names = ", ".join(sorted(message.full_name for message in named))
            raise NoMessage(f"several messages of {self._folder.path} are for {table}: {names}")
        if named:
            return named[0]
        alone = [
            messages[0]
            for name, messages in self._files.items()
            if PurePosixPath(name).name == f"{table}.proto" and len(messages) == 1
        ]
        if len(alone) != 1:
            raise NoMessage(
                f"{self._folder.path} has no message {table}, and no file {table}.proto with one "
                "message: add it, and start the loader again"
            )
        return alone[0]


def index_of(message: Descriptor) -> int:
    """Returns the place of a message in its file, from 0."""
    file = FileDescriptorProto()
    message.file.CopyToProto(file)
    return [each.name for each in file.message_type].index(message.name)


def pool_of(files: Iterable[FileDescriptorProto]) -> DescriptorPool:
    """Returns a pool of files; imports stand before the files that need them."""
    pool = DescriptorPool()
    for each in files:
        pool.Add(each)
    return pool
