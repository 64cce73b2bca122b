"""Schema values: datums by schema, and values in the order of their records."""

import numpy as np
import pyarrow as pa

from aggregator.files.schema_values import SchemaValues, in_order
from aggregator.formats.avro_projection import SAME
from tests.aggregator.files.schema_records import KNOWN, value
from tests.aggregator.formats.slices import slice_of


def test_the_first_value_decides_the_schema_whatever_its_id():
    values = SchemaValues(KNOWN, "t")
    records = slice_of([b"none", None, value(1, 2), value(2, 1)])
    found = {each.written.name: each for each in values.datums(records)}
    assert values.schema.name == "2"
    assert {name: each.record.tolist() for name, each in found.items()} == {"2": [2], "1": [3]}
    assert found["2"].how == SAME
    assert found["1"].how != SAME
    assert list(values.reasons) == [0]


def test_values_are_put_into_the_order_of_their_records():
    parts = [np.array([3, 1]), np.array([0])]
    values = [pa.array(["d", "b"]), pa.array(["a"])]
    assert in_order(4, parts, values, pa.string()).to_pylist() == ["a", "b", None, "d"]
    assert in_order(2, [], [], pa.string()).to_pylist() == [None, None]
