"""A byte queue gives back what it was given."""

from hypothesis import given
from hypothesis import strategies as st

from aggregator.s3.object_upload import ByteQueue

STEPS = st.lists(st.binary(max_size=9) | st.integers(0, 20), max_size=20)


@given(STEPS, st.integers(0, 20))
def test_a_queue_is_a_buffer_that_loses_its_begin(steps, size):
    queue, buffer = ByteQueue(), b""
    for step in steps:
        if isinstance(step, bytes):
            queue.append(step)
            buffer += step
        else:
            queue.drop(step)
            buffer = buffer[step:]
        assert (len(queue), bool(queue), bytes(queue)) == (len(buffer), bool(buffer), buffer)
        assert queue.first(size) == buffer[:size]


@given(st.lists(st.binary(min_size=1, max_size=9), min_size=1, max_size=9), st.data())
def test_bytes_that_are_sent_again_are_copied_once_and_kept_once(pieces, data):
    """A store may not answer for hours, and each object would be in memory twice meanwhile."""
    queue = ByteQueue()
    for each in pieces:
        queue.append(each)
    size = data.draw(st.integers(1, len(queue)))
    first = queue.first(size)
    assert queue.first(size) is first
    whole = bytes(queue)
    assert bytes(queue) is whole
    assert whole == b"".join(pieces)
