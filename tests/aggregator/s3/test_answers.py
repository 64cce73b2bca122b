"""Errors of object stores are told apart by what has to be done."""

import pytest

from aggregator.s3.answers import Answer, meaning


@pytest.mark.parametrize(
    ("code", "status", "answer"),
    [
        ("404", 404, Answer.ABSENT),  # HEAD has no body
        ("NoSuchBucket", 404, Answer.NO_BUCKET),
        ("NoSuchUpload", 404, Answer.UPLOAD_GONE),
        ("InvalidPart", 400, Answer.UPLOAD_GONE),
        ("PreconditionFailed", 412, Answer.TAKEN),
        ("ConditionalRequestConflict", 409, Answer.CONFLICT),
        ("AccessDenied", 403, Answer.DENIED),
        ("ExpiredToken", 400, Answer.DENIED),
        ("NotImplemented", 501, Answer.UNSUPPORTED),
        ("SlowDown", 503, Answer.BUSY),
        ("RequestTimeout", 400, Answer.BUSY),
        ("", 408, Answer.BUSY),
        ("InsufficientStorage", 507, Answer.BUSY),
        ("InternalError", 200, Answer.BUSY),
        ("SomethingNew", 200, Answer.BUSY),
        ("EntityTooSmall", 400, Answer.REFUSED),
        ("BadDigest", 400, Answer.REFUSED),
        ("400", 400, Answer.DENIED),  # HEAD of an expired session token, as AWS answers it
        ("401", 401, Answer.DENIED),
        ("403", 403, Answer.DENIED),
        ("InvalidToken", 400, Answer.DENIED),
        ("TokenRefreshRequired", 400, Answer.DENIED),
        ("SomethingNew", 400, Answer.DENIED),
    ],
)
def test_an_error_means_what_its_code_says_and_else_what_its_status_says(code, status, answer):
    assert meaning(code, status) is answer
