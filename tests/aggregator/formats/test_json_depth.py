"""JSON depth: the same answer as counting brackets outside strings, one by one."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats import json_depth
from aggregator.formats.json_depth import too_deep


@given(st.lists(st.none() | st.text('[]{}"\\x,', max_size=25).map(str.encode), max_size=5))
def test_depth_is_that_of_brackets_outside_strings(documents):
    before, json_depth.DEPTH_MAX = json_depth.DEPTH_MAX, 3
    try:
        found = too_deep(pa.array(documents, pa.binary()))
    finally:
        json_depth.DEPTH_MAX = before
    assert found == [at for at, each in enumerate(documents) if each and depth(each.decode()) > 3]


def depth(document):
    """Returns the most brackets that are open at once."""
    most = opened = 0
    in_string = is_escaped = False
    for character in document:
        if in_string:
            in_string = is_escaped or character != '"'
            is_escaped = not is_escaped and character == "\\"
        elif character == '"':
            in_string = True
        else:
            opened += (character in "{[") - (character in "}]")
            most = max(most, opened)
    return most
