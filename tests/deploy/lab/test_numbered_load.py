"""Numbered records and the journal of acknowledged ones."""

from deploy.lab.numbered_load import Numbered, journaled


def test_a_record_is_read_back_from_what_it_was_written_as():
    record = Numbered("shop-1", 3, 17, "west")
    value = record.encode(100)
    assert len(value) == 100
    assert Numbered.decode(value) == record


def test_a_line_that_is_still_being_written_is_not_believed(tmp_path):
    journal = tmp_path / "p.acknowledged"
    journal.write_text("0 0 west\n1 0 west\n0 1 ea")
    assert list(journaled(journal, "p")) == [
        Numbered("p", 0, 0, "west"),
        Numbered("p", 1, 0, "west"),
    ]
