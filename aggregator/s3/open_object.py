"""Open object: records become the bytes of a file, and these the parts of an upload."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from aggregator.files.admission import Admitted
from aggregator.files.file_writer import FileWriter, unwritable
from aggregator.formats.record_slice import RecordSlice, gathered
from aggregator.intents.table_range import Manifest
from aggregator.objects.object_draft import ObjectDraft
from aggregator.objects.record_digest import RecordDigest
from aggregator.s3.object_store import TOKEN, ObjectStore
from aggregator.s3.object_upload import ObjectUpload
from aggregator.tables.decoded import DeadRecord, letters_memory
from replicator.runtime.run_in_thread import run_in_thread


def new_token() -> str:
    """Returns a token that tells one attempt from all others."""
    return secrets.token_hex(4)


@dataclass(eq=False)
class OpenObject:
    """Object that nobody sees yet. After a StoreProblem each method may be called again.

    Args:
        admit: returns the records that are in the file.
        is_careful: each record is tried before it is written: one that the writer refuses becomes a
            dead letter.
        fingerprint: of the settings that decide the file's bytes.
    """

    key: str
    writer: FileWriter
    store: ObjectStore
    metadata: dict[str, str]
    fingerprint: str
    admit: Callable[[RecordSlice], Admitted]
    part_bytes: int
    token: str = field(default_factory=new_token)
    is_careful: bool = False
    upload: ObjectUpload = field(init=False)
    is_finished: bool = field(init=False, default=False)
    _writing_bytes: int = field(init=False, default=0)
    dead: list[DeadRecord] = field(init=False, default_factory=list)
    """Records that cannot be in the file, and why."""
    letters: list[RecordSlice] = field(init=False, default_factory=list)
    """The same records."""
    keeps_letters: bool = field(init=False, default=True)
    """False where the dead letters of its range were produced before."""
    _dead_bytes: int = field(init=False, default=0)
    _letter_bytes: int = field(init=False, default=0)
    _digest: RecordDigest = field(init=False, default_factory=RecordDigest)

    def __post_init__(self) -> None:
        metadata = {**self.metadata, TOKEN: self.token}
        self.upload = ObjectUpload(self.store, self.key, metadata, self.part_bytes)

    @property
    def size_bytes(self) -> int:
        """Memory of what is not uploaded yet."""
        letters = self._dead_bytes + self._letter_bytes
        return letters + self._writing_bytes + self.writer.size_bytes + self.upload.buffered_bytes

    async def write(self, slices: Sequence[RecordSlice]) -> None:
        """Takes further records in."""
        self._writing_bytes = sum(each.size_bytes for each in slices)
        self.upload.add(await run_in_thread(self._written, slices))
        self._writing_bytes = 0

    @property
    def letters_memory(self) -> int:
        """Memory that the dead letters take while they are produced."""
        return letters_memory(len(self.dead), self._letter_bytes)

    def drop_letters(self) -> None:
        """Forgets the dead letters, which were produced."""
        self.dead, self.letters = [], []
        self._dead_bytes = self._letter_bytes = 0

    async def end(self) -> None:
        """Notes that no more records come, and writes the end of the file."""
        if not self.is_finished:
            self.is_finished = True
            self.upload.add(await run_in_thread(self.writer.finish))

    async def finish(self) -> None:
        """Uploads all but the last step of an object that has ended."""
        await self.end()
        await self.upload.send_rest()

    def manifest(self, draft: ObjectDraft[RecordSlice], sealed_at_ms: int) -> Manifest:
        """Returns the manifest of the finished object.

        Args:
            draft: all of whose records were written.
            sealed_at_ms: Unix time.
        """
        size_bytes, crc = self.upload.identity
        return Manifest(
            begin=draft.begin,
            end=draft.end,
            records=draft.records,
            left_out=draft.records - self._digest.records,
            size_bytes=size_bytes,
            crc32c=crc,
            schema=self.writer.schema,
            first_ms=self._digest.first_ms,
            last_ms=self._digest.last_ms,
            digest=self._digest.text,
            fingerprint=self.fingerprint,
            token=self.token,
            sealed_at_ms=sealed_at_ms,
        )

    def _written(self, slices: Sequence[RecordSlice]) -> bytes:
        admitted = [self.admit(part) for part in gathered(slices)]
        if self.is_careful:
            admitted = [it.without(unwritable(self.writer, it.records)) for it in admitted]
        for each in admitted if self.keeps_letters else ():
            self.dead += each.dead
            self.letters += each.letters
            self._dead_bytes += sum(dead.size_bytes for dead in each.dead)
            self._letter_bytes += sum(part.size_bytes for part in each.letters)
        records = [each.records for each in admitted]
        self._digest.add(records)
        return self.writer.write(records)
