"""Cards of daemons: who runs where."""

import pytest

from replicator.notices.daemon_card import DaemonCard

CARD = DaemonCard(
    role="balance", region="east", version="0.2.0", host="bal-1", pid=47, since_ms=1000
)


def test_a_card_names_its_process_among_all_of_the_region():
    assert CARD.who == "balance east bal-1:47"


def test_cards_are_read_as_they_were_written_and_later_fields_left_out():
    assert DaemonCard.from_json(CARD.to_json()) == CARD
    assert DaemonCard.from_json(CARD.to_json()[:-1] + ',"colour":"red"}') == CARD


@pytest.mark.parametrize("text", ["7", "{}", "no json"])
def test_another_form_is_refused(text):
    with pytest.raises(ValueError, match="validation error"):
        DaemonCard.from_json(text)
