"""An insert has the settings that make it one block, as far as the server knows them."""

from __future__ import annotations

from aggregator.store.insertion import InsertOptions, insert_settings
from aggregator.store.server_features import ASKED, TOKEN, ServerFeatures

OLD = ServerFeatures(
    (18, 16, 1),
    frozenset(ASKED) - {TOKEN, "async_insert", "insert_quorum_parallel"},
)
NEW = ServerFeatures((26, 3, 0), frozenset(ASKED))


def settings(features: ServerFeatures, quorum: int):
    options = InsertOptions(query_id="id", quorum=quorum, token="token", timeout_seconds=10.0)
    return insert_settings(features, options, 5000)


def test_an_old_server_is_not_told_what_it_does_not_know():
    assert settings(OLD, 2) == {
        "insert_deduplicate": 1,
        "max_insert_block_size": 5000,
        "insert_quorum": 2,
        "insert_quorum_timeout": 8000,
        "receive_timeout": 10,
        "send_timeout": 10,
    }


def test_a_new_server_waits_with_the_answer_and_gets_the_token():
    assert settings(NEW, 2) == {
        **settings(OLD, 2),
        "async_insert": 0,
        "insert_quorum_parallel": 0,
        TOKEN: "token",
    }


def test_without_a_quorum_nobody_waits_for_one():
    assert settings(OLD, 0) == settings(OLD, 1)
    assert "insert_quorum" not in settings(OLD, 1)


def test_the_server_gives_up_the_quorum_before_the_client_gives_up_the_server():
    assert settings(OLD, 2)["insert_quorum_timeout"] < 10_000
