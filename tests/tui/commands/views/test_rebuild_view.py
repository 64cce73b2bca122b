"""Output of a rebuild of offset maps."""

from replicator.mirror.offset_map.read_back import ReadBack
from tui.commands.views.rebuild_view import as_text, as_values

FOUND = [
    ReadBack("west>east", 12, 3400, 1_200_000, None),
    ReadBack("east>east", 0, 0, 0, "no runs topic"),
]


def test_each_route_has_a_row_and_an_incomplete_one_its_reason(assert_snapshot):
    assert_snapshot(as_text(FOUND), "rebuild")
    complete, missing = as_values(FOUND)
    assert (complete["complete"], complete["trouble"]) == (True, None)
    assert (missing["complete"], missing["trouble"]) == (False, "no runs topic")
