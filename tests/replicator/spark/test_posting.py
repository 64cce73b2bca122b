"""Claims about postings: the reader sees one whole, and the one that was posted."""

from balancer.plan import CarrierId, Plan, TopicPartition
from replicator.ledger.word import Term
from replicator.spark.posting import Posting, PostingFile

TERM = Term(4000, 1)
PLAN = Plan(7, {CarrierId("west.east", 0): (TopicPartition("orders", 3),)})


def test_a_posting_is_read_as_it_was_written(tmp_path):
    file = PostingFile(tmp_path / "posting.json")
    assert file.read() is None
    for posting in (Posting(PLAN, 2, TERM), Posting(PLAN, 2, TERM, {"orders": 2048}, stop=True)):
        file.write(posting)
        assert file.read() == posting


def test_a_posting_half_written_is_never_seen(tmp_path):
    file = PostingFile(tmp_path / "posting.json")
    posting = Posting(PLAN, 2, TERM)
    file.write(posting)
    (tmp_path / "posting.new").write_text('{"plan": "')
    assert file.read() == posting
