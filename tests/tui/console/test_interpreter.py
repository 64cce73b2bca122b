"""Settings of Python while the console runs."""

import gc
import sys
import threading

from tui.console.interpreter import SWITCH_SECONDS, keep_imported, screen_first


def test_the_settings_hold_for_the_run_only():
    before = gc.get_threshold(), sys.getswitchinterval()
    with screen_first():
        assert gc.get_threshold()[2] > 100_000
        assert sys.getswitchinterval() == SWITCH_SECONDS
    assert (gc.get_threshold(), sys.getswitchinterval()) == before


def test_garbage_is_collected_now_and_then():
    collected = threading.Event()

    def note(phase: str, about: dict[str, int]) -> None:
        if about["generation"] == 2 and threading.current_thread().name == "collector":
            collected.set()

    gc.callbacks.append(note)
    try:
        with screen_first(collection_seconds=0.001):
            assert collected.wait(10)
    finally:
        gc.callbacks.remove(note)


def test_what_was_imported_is_not_looked_at_again():
    before = gc.get_freeze_count()
    try:
        keep_imported()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()
