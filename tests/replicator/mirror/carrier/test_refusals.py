"""Records that the target accepts all arrive in order; each loss names refused records only."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replicator.batches.batch import CODEC_BITS, header_at
from replicator.batches.outgoing_batch import OutgoingBatch
from replicator.batches.repacked import sizes_alone
from replicator.kafka.client.loss import Loss, LossKind
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.carrier.refusals import Refusal, Repacked, next_step
from tests.replicator.batches.source_batches import Record, decoded, encoded, with_crc

STEPS_MAX = 2000


def outgoing(numbers, *, codec=0, large=(), gap=0):
    """Returns a batch of numbered records.

    Args:
        large: numbers of the records with a large value.
        gap: source offsets skipped between two records.
    """
    records = [
        Record(at, 1000 + n, b"k", b"%d " % n * (800 if n in large else 1))
        for at, n in enumerate(numbers)
    ]
    data = bytearray(encoded(records, codec=codec))
    step = gap + 1
    spans = tuple((n * step, 1) for n in numbers) if gap else ((numbers[0], len(numbers)),)
    return OutgoingBatch(data, len(numbers), spans, False)


def numbers_of(one):
    one.stamp(producer_id=1, producer_epoch=2, base_sequence=3)
    return [int(record.value.split()[0]) for record in decoded(one.data)]


class Target:
    """Target that refuses records by number, or batches by size."""

    def __init__(self, refused=(), code=Code.INVALID_RECORD, names=True, bytes_max=inf):
        self.refused, self.code, self.names, self.bytes_max = set(refused), code, names, bytes_max
        self.taken: list[int] = []
        self.refused_bytes = inf

    def send(self, one):
        if len(one.data) > self.bytes_max:
            self.refused_bytes = min(self.refused_bytes, len(one.data))
            return Refusal(Code.MESSAGE_TOO_LARGE)
        there = numbers_of(one)
        bad = tuple(i for i, number in enumerate(there) if number in self.refused)
        if bad:
            return Refusal(self.code, bad if self.names else (), "why")
        self.taken += there
        return None


def carried(target, source):
    """Returns the losses that an operator has to accept until everything is carried.

    Args:
        source: returns the batches from a source offset on.
    """
    losses, batches = [], source(0)
    for _ in range(STEPS_MAX):
        if not batches:
            return losses
        refusal = target.send(batches[0])
        if refusal is None:
            batches = batches[1:]
            continue
        before = [number for one in batches for number in numbers_of(one)]
        step = next_step(batches, refusal, target.refused_bytes)
        if isinstance(step, Repacked):
            batches = [*step.batches, *batches[step.replaced :]]
            assert [number for one in batches for number in numbers_of(one)] == before
        else:
            losses.append(step)
            assert step.begin == batches[0].first_offset
            batches = source(step.end)
    raise AssertionError("it does not end")


def source_of(count, batch_records, **more):
    def source(begin):
        return [
            outgoing(list(range(max(first, begin), min(first + batch_records, count))), **more)
            for first in range(0, count, batch_records)
            if min(first + batch_records, count) > begin
        ]

    return source


def runs(numbers):
    found = []
    for number in sorted(numbers):
        if found and found[-1][1] == number:
            found[-1] = (found[-1][0], number + 1)
        else:
            found.append((number, number + 1))
    return found


refused_sets = st.sets(st.integers(0, 39))
fewer = settings(max_examples=40)
"""Fewer examples: each carries forty records in up to a few hundred steps."""


@fewer
@given(refused_sets, st.integers(1, 40), st.sampled_from((0, 1, 4)))
def test_records_refused_by_name_need_one_acceptance_a_run_and_all_others_arrive(
    refused, batch_records, codec
):
    target = Target(refused)
    losses = carried(target, source_of(40, batch_records, codec=codec))
    assert target.taken == [n for n in range(40) if n not in refused]
    assert [(loss.begin, loss.end) for loss in losses] == runs(refused)
    assert {str(loss.kind) for loss in losses} <= {LossKind.RECORDS_REFUSED.value}


@fewer
@given(refused_sets, st.integers(1, 40))
def test_without_names_each_refused_record_is_found_and_all_others_arrive(refused, batch_records):
    target = Target(refused, names=False)
    losses = carried(target, source_of(40, batch_records))
    assert target.taken == [n for n in range(40) if n not in refused]
    assert [(loss.begin, loss.end) for loss in losses] == [(n, n + 1) for n in sorted(refused)]


@fewer
@given(refused_sets, st.integers(1, 40), st.sampled_from((0, 1, 4)))
def test_records_too_large_need_one_acceptance_a_run_and_all_others_arrive(
    large, batch_records, codec
):
    bytes_max = 130 if codec else 1000
    source = source_of(40, batch_records, codec=codec, large=large)
    sizes = [size for one in source(0) for size in sizes_alone(one)]
    refused = {n for n, size in enumerate(sizes) if size > bytes_max}
    target = Target(bytes_max=bytes_max)
    losses = carried(target, source)
    assert target.taken == [n for n in range(40) if n not in refused]
    assert {n for loss in losses for n in range(loss.begin, loss.end)} == refused
    if not codec:
        assert [(loss.begin, loss.end) for loss in losses] == runs(refused)


@fewer
@given(refused_sets, refused_sets, st.integers(1, 40))
def test_refusals_by_name_and_by_size_at_once_come_to_an_end(refused, large, batch_records):
    target = Target(refused, bytes_max=1000)
    losses = carried(target, source_of(40, batch_records, large=large))
    assert target.taken == [n for n in range(40) if n not in refused | large]
    assert {n for loss in losses for n in range(loss.begin, loss.end)} == refused | large


def test_records_too_large_of_one_size_are_one_loss():
    target = Target(bytes_max=1000)
    losses = carried(target, source_of(30, 10, large=(18, 19, 20, 21)))
    assert [(loss.begin, loss.end) for loss in losses] == [(18, 22)]


def test_a_batch_that_fits_is_no_part_of_a_loss_however_large_its_records_are_alone():
    """Compressed together, records may take less than each of them alone."""
    refused, fits = outgoing([0], large=(0,)), outgoing([1, 2], codec=4, large=(1, 2))
    assert len(fits.data) < len(refused.data)
    step = next_step([refused, fits], Refusal(Code.MESSAGE_TOO_LARGE), len(refused.data))
    assert (step.begin, step.end) == (0, 1)


def test_a_codec_that_the_target_does_not_take_is_unfolded():
    one = outgoing([0, 1], codec=4)
    step = next_step([one], Refusal(Code.UNSUPPORTED_COMPRESSION_TYPE), inf)
    assert isinstance(step, Repacked)
    assert header_at(step.batches[0].data).attributes & CODEC_BITS == 0
    assert numbers_of(step.batches[0]) == [0, 1]


@pytest.mark.parametrize("refusal", [Refusal(Code.CORRUPT_MESSAGE), Refusal(87, (1,))])
def test_a_batch_that_cannot_be_opened_is_named_as_a_whole(refusal):
    one = outgoing([3, 4, 5])
    one.data[61] ^= 0x55
    with_crc(one.data)
    assert next_step([one], refusal, inf) == refusal.loss(3, 6)


def test_offsets_of_a_thinned_source_are_named_as_they_are():
    one = outgoing([0, 1, 2, 3], gap=9)
    step = next_step([one], Refusal(87, (0, 1), "keyless"), inf)
    assert step == Loss(LossKind.RECORDS_REFUSED, 0, 11, "INVALID_RECORD: keyless")
