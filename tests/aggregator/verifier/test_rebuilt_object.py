"""Objects that are formed again take the records of their ranges, and no others."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.files.admission import Admission
from aggregator.objects.told_object import ToldObject
from aggregator.verifier.rebuilt_object import RebuiltObject, RebuiltObjects
from tests.aggregator.formats.slices import slice_of


class Joined:
    """Writer of a file that has the values, one behind the other."""

    size_bytes = 0
    schema = ""

    def write(self, slices):
        return b"".join(each.value_at(at) or b"" for each in slices for at in range(len(each)))

    def finish(self):
        return b"."


def told(begin, end, **more):
    fields = dict.fromkeys(
        ["partition", "records", "left_out", "size_bytes", "crc32c", "first_ms", "last_ms",
         "sealed_at_ms", "told_at_ms"], 0,
    )  # fmt: skip
    texts = dict.fromkeys(["key", "cluster", "topic", "schema", "digest"], "")
    return ToldObject(**{**fields, **texts, "begin": begin, "end": end, **more})


ALL = Admission()


def rebuilt(begin, end, admission=ALL, **more):
    return RebuiltObject(told(begin, end, **more), "", admission, Joined())


def all_of(*objects):
    found = RebuiltObjects()
    for each in sorted(objects, key=lambda each: each.told.begin):
        found.add(each)
    return found


limits = st.lists(st.integers(0, 60), min_size=2, max_size=10, unique=True).map(sorted)


@given(limits, st.sets(st.integers(0, 60), min_size=1))
def test_each_record_is_in_the_object_of_its_range_or_uncovered(limits, offsets):
    ends = list(zip(limits[::2], limits[1::2], strict=False))
    objects = all_of(*(rebuilt(*each) for each in ends))
    part = slice_of([b"v"] * 61).at(np.array(sorted(offsets)))
    for each, some in objects.within(part):
        each.add(some)
    for each in objects.rebuilt:
        within = [at for at in sorted(offsets) if each.told.begin <= at < each.told.end]
        assert each.finish().offset.tolist() == within
    covered = {at for begin, end in ends for at in range(begin, end)}
    found = objects.uncovered(np.array(sorted(offsets)))
    assert found.tolist() == sorted(offsets - covered)
    assert not list(objects.overlaps())


def test_objects_with_offsets_in_common_are_named():
    objects = all_of(rebuilt(5, 9), rebuilt(0, 6), rebuilt(9, 12))
    ((before, after),) = objects.overlaps()
    assert (before.begin, after.begin) == (0, 5)


def test_the_manifest_has_to_name_the_records_and_those_that_are_left_out():
    records = slice_of([b"a", None, b"c"])
    first = rebuilt(0, 3, Admission(omits_tombstones=True))
    first.add(records)
    again = rebuilt(
        0, 3, Admission(omits_tombstones=True), records=3, left_out=1, digest=first.digest.text
    )
    again.add(records)
    assert again.is_as_told and not first.is_as_told
    assert again.finish().offset.tolist() == [0, 2]
    assert again.size_bytes == len(b"ac.")


class Refusing(Joined):
    """Writer that refuses a value."""

    def write(self, slices):
        written = super().write(slices)
        if b"x" in written:
            raise ValueError("no x")
        return written

    def scratch(self):
        return Refusing()


def test_records_that_the_writer_refuses_have_to_be_dead_letters():
    part = slice_of([b"a", b"x", b"b", b"x"])
    failed, careful = (
        RebuiltObject(told(0, 4), "", ALL, Refusing(), is_careful=it) for it in (False, True)
    )
    failed.add(part)
    failed.finish()
    assert failed.error == "ValueError: no x"
    careful.add(part)
    assert careful.finish().offset.tolist() == [0, 2]
    assert (careful.error, careful.dead, careful.left_out) == ("", [1, 3], 2)
    assert sorted(careful.letters) == [1, 3]
