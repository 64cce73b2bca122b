"""Store trial: whether a store does what a feed needs, and whose the prefix is. Blocking.

The claim of the prefix is the only object that a trial writes: the same content is written once
more, and the answer tells whether the store keeps names that are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum

from crc32c import crc32c

from aggregator.objects.prefix_claim import CLAIM, PrefixClaim, UnreadableClaim, below
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore, PutPart

NOWHERE = "_sluice_trial"
"""Name below a prefix under which there is never an object."""


class Condition(Enum):
    """Way in which a store takes `If-None-Match: *`, best first."""

    HONOURED = "names that are taken are kept"
    REFUSED = "the store refuses the condition (501): the ledger alone fences"
    IGNORED = "the store ignores the condition: the ledger alone fences"


class StoreRefusal(Exception):
    """The feed cannot start. The text names what is wrong, and its mend."""


def tried(
    store: ObjectStore, prefix: str, claim: PrefixClaim, *, is_claiming: bool
) -> Condition | None:
    """Tries a store, and returns how it takes the condition; None if that could not be tried.

    Args:
        prefix: without a slash at either end.
        claim: of whoever asks.
        is_claiming: writes the claim if nobody has one. Without it nothing is written that was not
            there, and the condition is not tried where there is no claim.

    Raises:
        StoreRefusal: the feed cannot start.
        StoreProblem: the store gives no answer.
    """
    bucket, key = store.address.bucket, below(prefix, CLAIM)
    with _needing(store, f"s3:GetObject on {bucket}/{below(prefix, '*')}, s3:ListBucket"):
        content = store.read(key)
    nowhere = below(prefix, NOWHERE)
    # Without the right to list, 403 stands for 404: nobody could tell what is there.
    with _needing(store, f"s3:ListBucket on {bucket}"):
        if store.head(nowhere) is not None:
            raise StoreRefusal(f"{bucket}/{nowhere} is there, and nobody wrote it")
    with _needing(store, f"s3:ListBucketMultipartUploads on {bucket}"):
        next(iter(store.uploads(nowhere)), None)
    with _needing(store, f"s3:PutObject on {bucket}/{below(prefix, '*')}"):
        upload_id = store.begin(nowhere, {})
    with _needing(store, f"s3:AbortMultipartUpload on {bucket}/{below(prefix, '*')}"):
        store.abort(nowhere, upload_id)
    with _needing(store, f"s3:PutObject on {bucket}/{key}"):
        if content is None and is_claiming:
            content = _claimed(store, key, claim)
        if content is None:
            return None
        _raise_unless_own(content, claim, f"{bucket}/{key}")
        return _condition(store, key, content)


def renew_claim(store: ObjectStore, prefix: str, claim: PrefixClaim) -> None:
    """Writes the claim of a prefix again, so that no lifecycle rule takes it for an old object. One
    that is gone is made anew.

    Args:
        prefix: without a slash at either end.
        claim: of whoever asks, whose prefix it was.

    Raises:
        StoreRefusal: the prefix is another's by now.
        StoreProblem: the store gives no answer, or refuses.
    """
    key = below(prefix, CLAIM)
    where, found = f"{store.address.bucket}/{key}", store.head(key)
    if found is None:
        _raise_unless_own(_claimed(store, key, claim), claim, where)
        return
    content = store.read(key)
    _raise_unless_own(content or b"", claim, where)
    new = claim.encode()
    try:
        store.put(key, new, crc32c(new), {}, over=found.etag)
    except StoreProblem as problem:
        if problem.answer is not Answer.UNSUPPORTED:
            raise
        store.without_condition().put(key, new, crc32c(new), {})


def _claimed(store: ObjectStore, key: str, claim: PrefixClaim) -> bytes:
    """Writes the claim; returns what is there then, which may be another one."""
    content = claim.encode()
    try:
        store.put(key, content, crc32c(content), {})
    except StoreProblem as problem:
        if problem.answer is Answer.UNSUPPORTED:
            store.without_condition().put(key, content, crc32c(content), {})
        elif problem.answer not in (Answer.TAKEN, Answer.CONFLICT):
            raise
    found = store.read(key)
    if found is None:
        raise StoreProblem(Answer.BUSY, f"{key} was written, and is not to be seen")
    return found


def _raise_unless_own(content: bytes, claim: PrefixClaim, where: str) -> None:
    try:
        other = PrefixClaim.decode(content)
    except UnreadableClaim as error:
        raise StoreRefusal(f"{where} is {error}: look who wrote it, and remove it") from None
    if not claim.is_same(other):
        raise StoreRefusal(
            f"{where} says that {other} writes there, and this is {claim}: take another prefix; or "
            "remove that object once nothing writes there any more"
        )


def _condition(store: ObjectStore, key: str, content: bytes) -> Condition:
    """Returns how the store takes the condition for the name of an object with this content."""
    crc = crc32c(content)

    def put() -> None:
        store.put(key, content, crc, {})

    def complete() -> None:
        upload_id = store.begin(key, {})
        try:
            part: PutPart = store.put_part(key, upload_id, 1, content, crc)
            store.complete(key, upload_id, [part], crc)
        finally:
            store.abort(key, upload_id)

    found = {_outcome(put), _outcome(complete)}
    return [each for each in Condition if each in found][-1]


def _outcome(write: Callable[[], None]) -> Condition:
    try:
        write()
    except StoreProblem as problem:
        if problem.answer is Answer.TAKEN:
            return Condition.HONOURED
        if problem.answer is Answer.UNSUPPORTED:
            return Condition.REFUSED
        raise
    return Condition.IGNORED


@contextmanager
def _needing(store: ObjectStore, right: str) -> Iterator[None]:
    """Turns problems that do not pass by themselves into refusals that name their mends.

    Args:
        right: the least that these requests need.
    """
    try:
        yield
    except StoreProblem as problem:
        # A conflict passes, and proves nothing: stores that ignore conditions answer so, too.
        if problem.answer in (Answer.BUSY, Answer.CONFLICT):
            raise
        raise StoreRefusal(_mend(store.address.bucket, right, problem)) from problem


def _mend(bucket: str, right: str, problem: StoreProblem) -> str:
    match problem.answer:
        case Answer.NO_BUCKET:
            return f"there is no bucket {bucket}: create it, or correct `bucket`"
        case Answer.DENIED if problem.is_of_credentials and not problem.is_forbidden:
            return f"the store does not take the credentials: correct them ({problem.text})"
        case Answer.DENIED:
            return f"a right is missing: grant {right} ({problem.text})"
    return f"the store does not do what a feed needs ({problem})"
