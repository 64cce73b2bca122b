"""Output of a rewind, and of its dry run."""

from balancer.plan import TopicPartition
from replicator.mirror.repair.rewind import Rewound
from tui.commands.views.rewind_view import as_text, as_values

FOUND = [Rewound(TopicPartition("orders", 0), 1200, 700)]


def test_a_dry_run_shows_the_offsets_and_how_to_rewind(assert_snapshot):
    assert_snapshot(as_text(FOUND, is_done=False), "rewind")
    assert as_text(FOUND, is_done=True).endswith("Rewound: resume it.")


def test_values_have_the_offsets_that_are_mirrored_again():
    values = as_values(FOUND, is_done=True)
    assert (values["schema_version"], values["is_done"]) == (1, True)
    assert values["partitions"] == [
        {
            "topic": "orders",
            "partition": 0,
            "was_at_source_offset": 1200,
            "goes_on_at_source_offset": 700,
            "offsets_again": 500,
        }
    ]
