"""A store is asked again for all that it cannot do now, and not for what it never can."""

import logging

import pytest

from aggregator.loader.store_retry import StoreRetry, UploadLost
from aggregator.s3.answers import Answer, StoreProblem
from balancer.topic_partition import TopicPartition

PLACE = TopicPartition("flights", 0)
PAUSES = (0.0001, 0.001)


class Store:
    """Counts how often its credentials are to be read anew."""

    renewed = 0

    def renew(self):
        self.renewed += 1


def answering(*answers):
    """Returns something that meets these answers, and then succeeds."""
    left = list(answers)

    async def act():
        if left:
            raise StoreProblem(left.pop(0), "PutObject")
        return "done"

    return act


async def test_it_is_asked_until_it_has_answered_and_the_log_has_one_line_for_each_trouble(caplog):
    caplog.set_level(logging.INFO)
    store = Store()
    retry = StoreRetry("feed=lake", store, PAUSES)
    act = answering(Answer.BUSY, Answer.BUSY, Answer.DENIED, Answer.DENIED)
    assert await retry.until_done(PLACE, "a", act) == "done"
    events = [record.getMessage().split()[0] for record in caplog.records]
    assert events == ["event=store-waits", "event=store-waits", "event=store-works"]
    assert store.renewed == 2, "credentials are read anew each time that they are refused"


async def test_an_upload_that_is_gone_is_lost():
    retry = StoreRetry("feed=lake", Store(), PAUSES)
    with pytest.raises(UploadLost):
        await retry.until_done(PLACE, "a", answering(Answer.UPLOAD_GONE))
