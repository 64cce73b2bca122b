"""Registry: every screen of a key has a first page that imports no Textual."""

import subprocess
import sys

import pytest

from tui.console.keys import SCREENS
from tui.console.registry import PAGES, first_page


def test_every_screen_has_a_first_page():
    assert tuple(PAGES) == SCREENS


@pytest.mark.parametrize("screen", SCREENS)
def test_a_first_page_belongs_to_its_screen(screen):
    assert first_page(screen).name == screen


def test_pages_import_neither_textual_nor_clients():
    code = (
        "import sys; from tui.console.registry import PAGES, first_page\n"
        "for name in PAGES: first_page(name)\n"
        "heavy = ('textual', 'pydantic', 'aiokafka', 'redis', 'numpy', 'confluent_kafka')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
