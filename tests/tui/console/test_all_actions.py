"""Actions of all screens, as the palette lists them."""

from tests.tui.console import snapshots
from tui.console.all_actions import PLACES, elsewhere
from tui.pages.topics import TopicsPage

SNAPSHOT = snapshots.lagging()


def test_every_action_of_every_screen_is_found_once():
    found = [each.action for each in elsewhere(SNAPSHOT, snapshots.NOW, ())]
    identities = [(each.key, each.label, each.words[:2]) for each in found]
    assert len(set(identities)) == len(identities)
    labels = {each.label for each in found}
    assert {"plan failover", "apply", "pause", "freeze", "acknowledge", "pin", "accept loss"} <= (
        labels
    )


def test_those_of_the_page_are_left_out():
    here = TopicsPage("east>west").actions(SNAPSHOT, None, snapshots.NOW)
    found = elsewhere(SNAPSHOT, snapshots.NOW, here)
    assert not {"routes"} & {each.screen for each in found}


def test_an_action_is_on_a_screen_that_a_key_leads_to():
    assert {page.name for _, page in PLACES} == {
        "routes",
        "groups",
        "failover",
        "balance",
        "alerts",
        "feeds",
    }
