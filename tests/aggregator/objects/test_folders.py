"""Folders: each record is in the one of its name, and a name is there once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.folders import Folders
from tests.aggregator.formats.slices import slice_of


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), st.data())
def test_records_are_split_by_name_in_their_order(names, data):
    number = data.draw(st.lists(st.integers(0, len(names) - 1), min_size=1, max_size=12))
    folders = Folders.of(names, np.array(number, np.int64))
    found = folders.split(slice_of([b"x"] * len(number), first=7))
    wanted: dict[str, list[int]] = {}
    for offset, at in enumerate(number, 7):
        wanted.setdefault(names[at], []).append(offset)
    assert {name: part.offset.tolist() for name, part in found.items()} == wanted
