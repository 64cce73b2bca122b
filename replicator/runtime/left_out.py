"""Leaving pandas out: pyarrow imports it, where it is installed, to recognize its types.

No process of Sluice has such values, and each would take 0.4 CPU s and 40 MB for them.
"""

from __future__ import annotations

import sys
from collections.abc import MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from typing_extensions import override

PANDAS = "pandas"


class LeftOut(MetaPathFinder, Loader):
    """Finder of pandas, whose import then fails as if it were not installed."""

    @override
    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname == PANDAS else None

    @override
    def exec_module(self, module: ModuleType) -> None:
        raise ImportError(f"{module.__name__} is left out", name=module.__name__)


def leave_out_pandas(finders: MutableSequence[Any] = sys.meta_path) -> None:
    """Has every later import of pandas in this process fail, so that pyarrow goes without it."""
    if not any(isinstance(finder, LeftOut) for finder in finders):
        finders.insert(0, LeftOut())
