"""Split and joined records are the same records, at the same source offsets, in order."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.batches.repacked import apart, joined, sizes_alone
from tests.replicator.batches.source_batches import batches
from tests.replicator.batches.test_records import landed, through


@given(batches(), st.data())
def test_parts_hold_the_records_between_their_bounds(made, data):
    _, records = made
    for one in through(made[0])[0]:
        bounds = sorted(data.draw(st.sets(st.integers(1, max(1, one.count - 1)), max_size=3)))
        bounds = [bound for bound in bounds if bound < one.count]
        parts = apart(one, bounds)
        assert [part.count for part in parts] == [
            end - begin for begin, end in zip([0, *bounds], [*bounds, one.count], strict=True)
        ]
        stamped(parts)
        offsets = {record.offset for record in landed([one])}
        assert landed(parts) == [record for record in records if record.offset in offsets]


@given(batches(), st.data())
def test_split_batches_can_be_joined_again(made, data):
    for one in through(made[0])[0]:
        if one.count > 1:
            first, second = apart(one, [data.draw(st.integers(1, one.count - 1))])
            both = joined(first, second)
            stamped([both])
            assert landed([both]) == landed([one])


@given(batches())
def test_a_records_size_alone_is_that_of_the_batch_it_travels_in(made):
    for one in through(made[0])[0]:
        parts = apart(one, range(1, one.count))
        assert list(sizes_alone(one)) == (
            [len(one.data)] if one.count == 1 else [len(part.data) for part in parts]
        )


def stamped(batches):
    for outgoing in batches:
        outgoing.stamp(producer_id=1, producer_epoch=2, base_sequence=3)
