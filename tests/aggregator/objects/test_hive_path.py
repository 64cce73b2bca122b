"""Encoded partitions: columns that are read back from their folders, escaped as Hive does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.hive_path import columns_of, encoded

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
COLUMNS = st.lists(st.tuples(TEXT, st.none() | TEXT), min_size=1, max_size=3)


@given(COLUMNS)
def test_columns_are_read_back_from_their_folders(columns):
    path = encoded(columns)
    assert columns_of(path) == columns
    assert all(folder.count("=") == 1 for folder in path.split("/"))
    assert path.count("/") == len(columns) - 1


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ([("carrier", "UA")], "carrier=UA"),
        ([("a/b", "x=y%z")], "a%2Fb=x%3Dy%25z"),
        ([("to", ".."), ("at", None)], "to=../at=__HIVE_DEFAULT_PARTITION__"),
        ([("to", "")], "to=__HIVE_DEFAULT_PARTITION__"),
        ([("city", "Zürich\n")], "city=Zürich%0A"),
    ],
)
def test_values_are_escaped_as_hive_does(columns, path):
    assert encoded(columns) == path


def test_a_folder_of_another_form_is_refused():
    with pytest.raises(ValueError, match="'b' is no folder of the form name=value"):
        columns_of("a=1/b")
