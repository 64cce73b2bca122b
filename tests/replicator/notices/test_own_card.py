"""Card of this very process."""

import os
import socket

from replicator.notices.own_card import own_card


def test_the_own_card_names_this_process():
    card = own_card("balance", "east", "balances west>east")
    assert (card.host, card.pid) == (socket.gethostname(), os.getpid())
    assert card.who == f"balance east {card.host}:{card.pid}"
    assert card.version
