"""Counts of records that are equal, that differ, or that cannot be compared.

Runs give the offset where a record should be; the logs of both ends give the records. A record is
missing if the ledger has passed it and no record is at its offset, whatever the runs claim.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from replicator.audit.claims import Claims, size, spans_of
from replicator.audit.log_content import Fingerprints, Ints, LogContent
from replicator.mirror.offset_map.spans import Span, Spans

EXAMPLES_MAX = 5

EXPIRED = "deleted at the target by retention"
COMPACTED = "compacted away at the target"
GONE = "gone from the source's log"
RUNS_UNKNOWN = "their runs are not known: sluice offsets rebuild"
NEVER_BEGUN = "before mirroring began"
UNORDERED = "behind a record with a time to come"
UNCLAIMED = "in the target where no run says so: sluice offsets rebuild"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCounts:
    """Counts of an audit.

    Args:
        source_records: all of the window, whether or not they are mirrored yet.
        target_records: those found in their places.
        source_bytes, target_bytes: of keys, values and headers; 0 unless they were read.
        behind: records that the ledger has not passed yet.
        held_back: offsets behind an open transaction; it is not known yet what they will be.
        missing: records that the ledger has passed and that are not in the target.
        surplus: records in the target that readers of the source do not see, or that are there
            twice.
        changed: records that are in their places and are not the same.
        foreign: records in the same range of the target that came by no route.
        doubts: reasons why offsets cannot be compared, and how many.
        examples: where the first differences are.
        notes: anything else that the operator should know.
    """

    source_records: int = 0
    target_records: int = 0
    source_bytes: int = 0
    target_bytes: int = 0
    behind: int = 0
    held_back: int = 0
    missing: int = 0
    surplus: int = 0
    changed: int = 0
    foreign: int = 0
    doubts: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: RecordCounts) -> RecordCounts:
        return RecordCounts(
            **{name: getattr(self, name) + getattr(other, name) for name in COUNTS},
            doubts=dict(Counter(self.doubts) + Counter(other.doubts)),
            examples=(self.examples + other.examples)[:EXAMPLES_MAX],
            notes=tuple(dict.fromkeys(self.notes + other.notes)),
        )


COUNTS = tuple(each.name for each in fields(RecordCounts) if each.default == 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorKnowledge:
    """Knowledge about one route's partition before its logs are read.

    Args:
        claims: of the route's records in this partition.
        known: source offsets about which all runs were published.
        trimmed: records of source offsets below this are gone from the target.
        began: where mirroring began, if it did not begin with the source's first record.
        target_log: the target's log, from its first offset to behind its last.
        target_compacts: True if a hole in the target may be the cleaner's work.
    """

    claims: Claims
    known: Spans
    trimmed: int = 0
    began: int = 0
    target_log: Span
    target_compacts: bool = False


def compare_records(
    prior: PriorKnowledge,
    span: Span,
    source: LogContent,
    target: LogContent,
    foreign: Fingerprints,
) -> RecordCounts:
    """Compares one range of source offsets, all of them passed by the ledger.

    Args:
        source: read from exactly this range.
        target: read from wherever this range is claimed to have landed.
        foreign: records there that no route claims.
    """
    claims = prior.claims.between(*span)
    landed = claims.landed(target.records)
    absent = _Absent(prior, claims, source.records.without(landed))
    gone = Spans(span).without(source.records).without(source.invisible)
    surplus = landed.within(source.invisible)
    common = source.records.within(landed)
    ours, theirs = source.fingerprints, _at_source(claims, target.fingerprints)
    is_common = _is_in(ours.offset, common)
    changed = _changed(ours.where(is_common), theirs.where(_is_in(theirs.offset, common)))
    # Records equal to a source record that stand where no run says so: either duplicates, or
    # records that seemed to be missing.
    is_elsewhere = np.isin(ours.print, foreign.print)
    twice = ours.offset[is_elsewhere & is_common]
    after_all = ours.offset[is_elsewhere & _is_in(ours.offset, absent.missing)]
    missing = absent.missing.without(_singles(after_all))
    doubts = Counter(absent.doubts)
    doubts[GONE] = size(gone)
    doubts[UNCLAIMED] = len(after_all)
    return RecordCounts(
        source_records=size(source.records),
        target_records=size(landed),
        source_bytes=int(ours.bytes.sum()),
        target_bytes=int(theirs.bytes.sum()),
        missing=size(missing),
        surplus=size(surplus) + len(twice),
        changed=len(changed),
        doubts={why: count for why, count in doubts.items() if count},
        examples=(
            *_examples("missing", missing),
            *_examples("surplus", surplus),
            *_examples("there twice", _singles(twice)),
            *_examples("changed", _singles(changed)),
        )[:EXAMPLES_MAX],
    )


class _Absent:
    """Source records that are not in their place: missing, unless there is a reason."""

    def __init__(self, prior: PriorKnowledge, claims: Claims, absent: Spans) -> None:
        self.doubts: dict[str, int] = {}
        self._left = absent
        log = prior.target_log
        claimed = claims.source_spans()
        unclaimed = absent.without(claimed)
        self._explain(EXPIRED, claims.landing(0, log.begin).source_spans())
        self._explain(EXPIRED, unclaimed.within(Spans(Span(0, prior.trimmed))))
        if prior.target_compacts:
            self._explain(COMPACTED, claims.landing(*log).source_spans())
        self._explain(NEVER_BEGUN, unclaimed.within(Spans(Span(0, prior.began))))
        self._explain(RUNS_UNKNOWN, unclaimed.without(prior.known))
        self.missing = self._left

    def _explain(self, why: str, offsets: Spans) -> None:
        count = size(self._left.within(offsets))
        if count:
            self.doubts[why] = self.doubts.get(why, 0) + count
            self._left = self._left.without(offsets)


def _at_source(claims: Claims, found: Fingerprints) -> Fingerprints:
    """Returns the target's fingerprints under the source offsets that runs claim for them."""
    offsets = claims.sources_at(found.offset)
    claimed = Fingerprints(offsets, found.print, found.bytes)
    return claimed.where(offsets >= 0)


def _changed(ours: Fingerprints, theirs: Fingerprints) -> Ints:
    """Returns offsets whose fingerprints differ; both sides have the same offsets, or none."""
    if not len(ours.offset):
        return ours.offset
    changed: Ints = ours.offset[ours.print != theirs.print]
    return changed


def _is_in(offsets: Ints, spans: Spans) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    begins, ends = spans.columns()
    if not len(begins):
        return np.zeros(len(offsets), dtype=np.bool_)
    at = np.maximum(np.searchsorted(begins, offsets, side="right") - 1, 0)
    return (offsets >= begins[at]) & (offsets < ends[at])


def _singles(offsets: Ints) -> Spans:
    return spans_of(offsets, offsets + 1)


def _examples(what: str, offsets: Spans) -> Iterator[str]:
    for begin, end in list(offsets)[:EXAMPLES_MAX]:
        if end - begin == 1:
            yield f"{what}: source offset {begin}"
        else:
            yield f"{what}: source offsets {begin}..{end - 1}"
