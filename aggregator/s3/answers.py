"""Answers of an object store: what an error means for what was asked.

No answer to a completion is believed: a HEAD of the key tells what is there (docs/s3.md).
"""

from __future__ import annotations

from enum import Enum


class Answer(Enum):
    """Meaning of an error."""

    ABSENT = "there is no such object"
    TAKEN = "the name is taken"
    UPLOAD_GONE = "the upload is completed, aborted or swept"
    CONFLICT = "another request for the same name runs"
    DENIED = "a right is missing, or the credentials are not valid (any more)"
    NO_BUCKET = "there is no such bucket"
    UNSUPPORTED = "the store does not know this"
    BUSY = "the store cannot answer now"
    REFUSED = "the store takes no such request"


class StoreProblem(Exception):
    """An answer that is an error, or none at all.

    Args:
        text: with the store's own words.
        code: of the answer's body; empty, or the status, where there is no body (HEAD).
    """

    def __init__(self, answer: Answer, text: str, code: str = "") -> None:
        super().__init__(f"{answer.value}: {text}")
        self.answer, self.text, self.code = answer, text, code

    @property
    def is_of_credentials(self) -> bool:
        """True if the store does not know who asks, or gives no reason that is known here: stores
        have words of their own for a session that has ended."""
        return self.answer is Answer.DENIED and self.code not in _OF_RIGHTS

    @property
    def is_forbidden(self) -> bool:
        """True if the store gives no reason, and mostly means that a right is missing."""
        return self.answer is Answer.DENIED and self.code in _FORBIDDEN


NO_CREDENTIALS = "NoCredentials"
"""Code of a request that could not be made, for want of credentials."""
_OF_RIGHTS = frozenset(
    {
        "",
        "AccessDenied",
        "AccountProblem",
        "AllAccessDisabled",
        "InvalidObjectState",
        "InvalidPayer",
        "NotSignedUp",
    }
)
"""Codes that no other credentials of the account would change."""
_FORBIDDEN = frozenset({"403", "Forbidden"})
"""Codes that give no reason. HEAD has no body: of an expired session token AWS says 400 only, and
403 of a key that was removed, or of a missing right."""
_OF_REQUESTS = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "BadDigest",
        "EntityTooLarge",
        "EntityTooSmall",
        "IllegalLocationConstraintException",
        "IncompleteBody",
        "InvalidArgument",
        "InvalidBucketName",
        "InvalidChecksum",
        "InvalidDigest",
        "InvalidEncryptionAlgorithmError",
        "InvalidPartNumber",
        "InvalidPartOrder",
        "InvalidRequest",
        "InvalidStorageClass",
        "InvalidTag",
        "InvalidTagError",
        "InvalidURI",
        "KeyTooLongError",
        "MalformedXML",
        "MaxMessageLengthExceeded",
        "MetadataTooLarge",
        "MissingRequestBodyError",
        "UnexpectedContent",
        "XAmzContentChecksumMismatch",
        "XAmzContentSHA256Mismatch",
    }
)
"""Codes of the status 400 that no other credentials would change."""
_BY_CODE = {
    "NoSuchKey": Answer.ABSENT,
    "NotFound": Answer.ABSENT,
    "PreconditionFailed": Answer.TAKEN,
    "NoSuchUpload": Answer.UPLOAD_GONE,
    # Some of its parts were swept.
    "InvalidPart": Answer.UPLOAD_GONE,
    "ConditionalRequestConflict": Answer.CONFLICT,
    "OperationAborted": Answer.CONFLICT,
    "NoSuchBucket": Answer.NO_BUCKET,
    "NotImplemented": Answer.UNSUPPORTED,
    "InternalError": Answer.BUSY,
    "SlowDown": Answer.BUSY,
    "RequestTimeout": Answer.BUSY,
    "ServiceUnavailable": Answer.BUSY,
    # Credentials that have just expired, and a clock that is wrong, pass by themselves.
    "ExpiredToken": Answer.DENIED,
    "InvalidAccessKeyId": Answer.DENIED,
    "SignatureDoesNotMatch": Answer.DENIED,
    "RequestTimeTooSkewed": Answer.DENIED,
    # versitygw's word for a key that it does not know, with the status 404.
    "XAdminUserNotFound": Answer.DENIED,
}
_BY_STATUS = {
    400: Answer.DENIED,
    401: Answer.DENIED,
    403: Answer.DENIED,
    404: Answer.ABSENT,
    408: Answer.BUSY,
    409: Answer.CONFLICT,
    412: Answer.TAKEN,
    429: Answer.BUSY,
    501: Answer.UNSUPPORTED,
}


def meaning(code: str, status: int) -> Answer:
    """Returns the meaning of an error.

    Args:
        code: of the answer's body; empty, or the status, where there is no body (HEAD).
        status: of HTTP; 200 for an error inside a success.
    """
    if status == 400 and code in _OF_REQUESTS:
        return Answer.REFUSED
    if found := _BY_CODE.get(code) or _BY_STATUS.get(status):
        return found
    # 507 is a disk that is full; a success with an unknown error inside has not succeeded.
    return Answer.BUSY if status >= 500 or status == 200 else Answer.REFUSED
