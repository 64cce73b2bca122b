"""Steps of a dialogue with a server: each question with the answer that is to come."""

from __future__ import annotations


class Steps:
    """Answers that were not as expected."""

    def __init__(self) -> None:
        self.differences: list[str] = []

    def step(self, text: str, expected: object, answer: object) -> None:
        """Compares one answer with the contract."""
        if answer != expected:
            self.differences.append(f"{text}: {answer}, not {expected}")

    def assert_none(self) -> None:
        """Raises AssertionError with all differences."""
        assert not self.differences, "\n".join(self.differences)
