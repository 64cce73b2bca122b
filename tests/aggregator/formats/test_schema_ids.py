"""Schema ids: the header is read where it is one, and nothing else is taken for it."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.schema_ids import NO_ID, schema_ids
from tests.aggregator.formats.slices import slice_of

VALUES = st.none() | st.binary(max_size=7) | st.binary(max_size=7).map(lambda each: b"\0" + each)


@given(st.lists(VALUES, min_size=1, max_size=30))
def test_the_id_of_each_value_is_that_of_its_header(values):
    wanted = [
        struct.unpack(">I", each[1:5])[0] if each and each[0] == 0 and len(each) >= 5 else NO_ID
        for each in values
    ]
    assert schema_ids(slice_of(values)).tolist() == wanted
