"""Rules of entries: how entries of one kind are read and compared, and what holds for all kinds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, TypeVar
from uuid import UUID

from aggregator.verifier.finding import Finding, Kind, Weight
from replicator.kafka.client.custody import Custody
from replicator.kafka.client.loss import Loss


class UnreadableRecord(Exception):
    """An entry cannot be read. Report it; judge the next one without a predecessor."""


class HeldRecord(Protocol):
    """Entry with a holder, as intents and ledger entries have it. One that names no producer says
    that it is released."""

    @property
    def custody(self) -> Custody: ...

    @property
    def producer_id(self) -> int: ...

    @property
    def epoch(self) -> int: ...

    @property
    def transactional_id(self) -> str: ...

    @property
    def losses(self) -> int: ...

    @property
    def parked(self) -> Loss | None: ...


E = TypeVar("E", bound=HeldRecord)


class EntryRules(Protocol[E]):
    """Rules of one kind of entries. Pure."""

    def decode(self, offset: int, metadata: str) -> E:
        """Returns the entry of a committed offset. Raises UnreadableRecord."""

    def topic_id(self, entry: E) -> UUID | None:
        """Returns the id of the topic whose deletion deletes the entry."""

    def reference(self, entry: E) -> int | None:
        """Returns the offset from which the entry counts records; None if it counts none."""

    def is_first(self, entry: E) -> bool:
        """Returns True for an entry that says itself that nothing stood before it."""

    def within(self, before: E | None, entry: E) -> Iterator[Finding]:
        """Yields what is wrong with an entry by itself, unless `before` says the same."""

    def between(self, before: E, after: E) -> Iterator[Finding]:
        """Yields what is wrong with an entry that follows another one at once."""

    def across_deletion(self, before: E, after: E) -> Iterator[Finding]:
        """Yields what is wrong with an entry that stands where another one was deleted."""


def is_first(entry: HeldRecord) -> bool:
    """Returns True for an intent or ledger entry that says itself that nothing stood before it.

    Such are those of an adoption, and of an operator who names a new start.
    """
    return entry.producer_id == -1 and entry.custody is not Custody.HELD


def custody_findings(before: HeldRecord, after: HeldRecord) -> Iterator[Finding]:
    """Yields what is wrong with the change of a partition's holder.

    An entry tells its own writer, not the transaction that replaced it. A replacement by a
    transactional id that the entry before did not name is therefore not visible here.
    """
    if is_first(after) and not is_first(before):
        yield Finding(Kind.RESTARTED, "begins anew although it was held before")
        return
    is_same_id = after.transactional_id == before.transactional_id
    is_same_producer = after.producer_id == before.producer_id
    if is_same_producer and after.epoch < before.epoch:
        text = f"producer {after.producer_id}: epoch {after.epoch} after {before.epoch}"
        yield Finding(Kind.EPOCH, text)
    if before.custody is Custody.HELD and after.custody is Custody.RELEASED:
        holder, releaser = _producer(before), _producer(after)
        if holder != releaser:
            yield Finding(Kind.CUSTODY, f"held by {holder}, and released by {releaser}")
    if before.parked and not after.parked and after.losses == before.losses:
        yield Finding(Kind.CUSTODY, f"went on although it is parked ({before.parked})")
    is_taken = before.custody is Custody.HELD and after.custody is Custody.HELD
    if is_taken and is_same_producer and after.epoch == before.epoch and not is_same_id:
        text = f"producer {_producer(after)} changed its id from {before.transactional_id}"
        yield Finding(Kind.CUSTODY, text)


def with_losses(
    before: HeldRecord, after: HeldRecord, found: Iterator[Finding]
) -> Iterator[Finding]:
    """Yields findings in the light of the losses that operators accepted: these explain jumps."""
    if after.losses < before.losses:
        text = f"accepted losses: {after.losses} after {before.losses}"
        yield Finding(Kind.TURNED_BACK, text)
    is_accepted = after.losses > before.losses
    if is_accepted:
        why = before.parked or "without being parked, such as by skip-replay"
        yield Finding(Kind.LOSS, f"an operator accepted a loss: {why}", Weight.ACCEPTED)
    for each in found:
        yield replace(each, weight=Weight.ACCEPTED) if is_accepted else each


def turned_back(name: str, before: int, after: int) -> Iterator[Finding]:
    """Yields a finding if a number that only grows went back."""
    if after < before:
        yield Finding(Kind.TURNED_BACK, f"{name} {after} after {before}")


def _producer(entry: HeldRecord) -> str:
    return f"{entry.producer_id}/{entry.epoch}"
