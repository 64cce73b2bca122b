"""Drafts of blocks."""

from __future__ import annotations

import numpy as np

from aggregator.loader.draft import Draft, next_after
from tests.aggregator.loader.partition_life import Part


def test_a_part_of_a_draft_ends_below_an_offset_and_has_no_empty_slices():
    draft = Draft("a", 1, 9, (Part(np.array([1, 3])), Part(np.array([5, 8]))))
    part = draft.up_to(5)
    assert (part.begin, part.end, part.records, len(part.slices)) == (1, 5, 2, 1)
    assert draft.records == 4


def test_the_offset_behind_a_slice_is_that_behind_its_last_record():
    assert next_after(Part(np.array([5, 8]))) == 9
