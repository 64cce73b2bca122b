"""Mutations of what admits a feed to a prefix (50)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from aggregator.driver.feed_posting import FeedCluster
from aggregator.driver.store_admission import StoreAdmission
from aggregator.objects.prefix_claim import PrefixClaim
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore, PutPart
from tests.world.claims.claimant import PRODUCT, AdmissionParts

RULE = 50


Metadata = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClaimMutation:
    """A part of the rule that is taken out.

    Args:
        take_out: takes it out of the whole process, for good.
    """

    name: str
    parts: AdmissionParts = PRODUCT
    take_out: Callable[[], None] = lambda: None


class Untried(StoreAdmission):
    """Lets feeds begin before their stores were tried."""

    def has(self, each: FeedCluster) -> bool:
        return True


class ClaimsAnyway(ObjectStore):
    """Writes its claim over one that came since it looked."""

    has_claimed = False

    def put(
        self, key: str, data: bytes, crc32c: int, metadata: Metadata, over: str | None = None
    ) -> None:
        if self.has_claimed or self.read(key) == data:
            super().put(key, data, crc32c, metadata, over)
        else:
            self.has_claimed = True
            self.without_condition().put(key, data, crc32c, metadata)


class BelievesItself(ObjectStore):
    """Takes itself for the winner, whoever has claimed first."""

    own: bytes | None = None

    def put(
        self, key: str, data: bytes, crc32c: int, metadata: Metadata, over: str | None = None
    ) -> None:
        try:
            super().put(key, data, crc32c, metadata, over)
        except StoreProblem as problem:
            self.own = data if problem.answer is Answer.TAKEN else None
            raise

    def read(self, key: str) -> bytes | None:
        return self.own or super().read(key)


class TakesConflictsForProof(ObjectStore):
    """Takes a conflict of two requests for a name that is kept."""

    def put(
        self, key: str, data: bytes, crc32c: int, metadata: Metadata, over: str | None = None
    ) -> None:
        with _conflict_proves():
            super().put(key, data, crc32c, metadata, over)

    def complete(
        self,
        key: str,
        upload_id: str,
        parts: Sequence[PutPart],
        crc32c: int,
        over: str | None = None,
    ) -> None:
        with _conflict_proves():
            super().complete(key, upload_id, parts, crc32c, over)


class TriesPutAlone(ObjectStore):
    """Takes each store for one that keeps names of uploads that are taken."""

    def complete(
        self,
        key: str,
        upload_id: str,
        parts: Sequence[PutPart],
        crc32c: int,
        over: str | None = None,
    ) -> None:
        super().complete(key, upload_id, parts, crc32c, over)
        raise StoreProblem(Answer.TAKEN, key)


class TriesNoCondition(TriesPutAlone):
    """Takes each store for one that keeps all names that are taken."""

    def put(
        self, key: str, data: bytes, crc32c: int, metadata: Metadata, over: str | None = None
    ) -> None:
        super().put(key, data, crc32c, metadata, over)
        raise StoreProblem(Answer.TAKEN, key)


@contextmanager
def _conflict_proves() -> Iterator[None]:
    """Turns conflicts into answers that the name is taken."""
    try:
        yield
    except StoreProblem as problem:
        if problem.answer is Answer.CONFLICT:
            raise StoreProblem(Answer.TAKEN, problem.text) from problem
        raise


def _any_claim_is_own() -> None:
    PrefixClaim.is_same = lambda *_: True  # type: ignore[method-assign]


MUTATIONS = (
    ClaimMutation("feeds begin untried", AdmissionParts(admission=Untried)),
    ClaimMutation("claims of others count as own", take_out=_any_claim_is_own),
    ClaimMutation("a claim is written over another", AdmissionParts(store=ClaimsAnyway)),
    ClaimMutation("a lost claim counts as won", AdmissionParts(store=BelievesItself)),
    ClaimMutation("a conflict proves the condition", AdmissionParts(store=TakesConflictsForProof)),
    ClaimMutation("only PutObject is tried", AdmissionParts(store=TriesPutAlone)),
    ClaimMutation("the condition is not tried", AdmissionParts(store=TriesNoCondition)),
)
