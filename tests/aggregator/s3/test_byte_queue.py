"""A byte queue gives back what it was given."""

from hypothesis import given
from hypothesis import strategies as st

from aggregator.s3.byte_queue import ByteQueue

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
