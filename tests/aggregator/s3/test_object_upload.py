"""Object uploads: parts of one size, and the bytes that wait for theirs."""

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from aggregator.s3 import object_upload
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import PutPart
from aggregator.s3.object_upload import ByteQueue, Identity, ObjectUpload

# -- Uploads send each byte once, in parts of the right sizes, whichever requests fail.


class Requests:
    """Takes requests; those whose numbers are named fail."""

    def __init__(self, *failing: int) -> None:
        self._failing, self._number = failing, 0
        self.parts: dict[int, bytes] = {}
        self.put_at_once = b""
        self.completed: list[int] = []
        self.aborted: list[str] = []

    def _count(self) -> None:
        self._number += 1
        if self._number in self._failing:
            raise StoreProblem(Answer.BUSY, f"request {self._number}")

    def begin(self, key, metadata):
        self._count()
        return "upload"

    def put_part(self, key, upload_id, number, data, crc):
        self._count()
        assert upload_id == "upload" and crc == crc32c(data)
        self.parts[number] = data
        return PutPart(number, f"etag {number}", crc)

    def put(self, key, data, crc, metadata, over):
        self._count()
        assert crc == crc32c(data)
        self.put_at_once = data

    def complete(self, key, upload_id, parts, crc, over):
        self._count()
        self.completed = [each.number for each in parts]

    def abort(self, key, upload_id):
        self.aborted.append(upload_id)


async def patiently(act):
    while True:
        try:
            return await act()
        except StoreProblem:
            pass


async def uploaded(store, sizes, part_bytes=10):
    """Uploads pieces of these sizes; returns the upload, and its bytes."""
    upload = ObjectUpload(store, "key", {}, part_bytes)
    data = bytes(at % 251 for at in range(sum(sizes)))
    at = 0
    for size in sizes:
        upload.add(data[at : at + size])
        at += size
        await patiently(upload.send)
    await patiently(upload.send_rest)
    await patiently(upload.complete)
    return upload, data


@pytest.mark.parametrize("sizes", [[], [3], [10], [4, 6]])
async def test_an_object_of_one_part_or_less_is_put_at_once(sizes):
    store = Requests(1)
    upload, data = await uploaded(store, sizes)
    assert store.put_at_once == data and not store.parts and not upload.has_parts
    assert upload.identity == Identity(len(data), crc32c(data))
    await upload.abort()
    assert not store.aborted


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [([11], [10, 1]), ([20], [10, 10]), ([7, 7, 7, 19], [10] * 4), ([35], [10, 10, 10, 5])],
)
@pytest.mark.parametrize("failing", [(), (1,), (2, 3), (4,), (2, 4, 6)])
async def test_a_larger_one_is_uploaded_in_parts_all_but_the_last_of_one_size(
    sizes, wanted, failing
):
    store = Requests(*failing)
    upload, data = await uploaded(store, sizes)
    assert [len(part) for _, part in sorted(store.parts.items())] == wanted
    assert b"".join(part for _, part in sorted(store.parts.items())) == data
    assert store.completed == sorted(store.parts)
    assert upload.identity == Identity(len(data), crc32c(data))
    assert upload.buffered_bytes == 0
    await upload.abort()
    assert store.aborted == ["upload"]


async def test_parts_grow_so_that_no_object_has_more_of_them_than_a_store_takes(monkeypatch):
    monkeypatch.setattr(object_upload, "LARGER_AFTER", 2)
    store = Requests()
    await uploaded(store, [75])
    assert [len(part) for _, part in sorted(store.parts.items())] == [10, 10, 20, 20, 15]


class Named(Requests):
    """Has a content of one ETag, or none, under the name."""

    def __init__(self, etag: str | None) -> None:
        super().__init__()
        self.etag, self.overs = etag, []

    def put(self, key, data, crc, metadata, over):
        self.overs.append(over)
        if over != self.etag:
            raise StoreProblem(Answer.TAKEN if self.etag else Answer.ABSENT, key)
        super().put(key, data, crc, metadata, over)


@pytest.mark.parametrize(
    ("etag", "overs", "is_written"),
    [("seen", ["seen"], True), (None, ["seen", None], True), ("new", ["seen", None], False)],
)
async def test_a_content_that_may_be_overwritten_may_be_gone_and_no_other_is_overwritten(
    etag, overs, is_written
):
    upload = ObjectUpload(store := Named(etag), "key", {}, 10)
    upload.add(b"data")
    if is_written:
        await upload.complete("seen")
    else:
        with pytest.raises(StoreProblem):
            await upload.complete("seen")
    assert (store.overs, store.put_at_once) == (overs, b"data" if is_written else b"")


# -- A byte queue gives back what it was given.

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
