"""An error without a text has the name of its class."""

from replicator.runtime.error_text import error_text


def test_an_error_without_a_text_is_named_by_its_class():
    assert error_text(TimeoutError()) == "TimeoutError"
    assert error_text(OSError(111, "Connection refused")) == "[Errno 111] Connection refused"
