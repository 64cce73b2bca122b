"""Widget of lines: an unchanged line is not drawn again."""

from textual.geometry import Region

from tests.tui.console import snapshots
from tests.tui.console.running import running
from tui.console.line_widget import LineWidget
from tui.console.styled_text import StyledText


class Watched(LineWidget):
    """Widget that notes which parts of it are drawn anew."""

    def __init__(self) -> None:
        self.regions: list[Region] = []
        super().__init__()

    def refresh(self, *regions: Region, **more):
        self.regions += regions
        return super().refresh(*regions, **more)


async def test_only_changed_parts_of_a_line_are_refreshed():
    async with running(snapshots.healthy()) as console:
        widget = Watched()
        await console.app.main.mount(widget)
        await console.until(lambda: widget.size.width)
        regions = widget.regions
        widget.show_lines([(StyledText("aa"), StyledText("bb"))])
        regions.clear()
        widget.show_lines([(StyledText("aa"), StyledText("bb"))])
        assert regions == []
        widget.show_lines([(StyledText("aa"), StyledText("cc"))])
        assert [tuple(region) for region in regions] == [(2, 0, 2, 1)]


async def test_lines_that_are_gone_are_drawn_blank():
    async with running(snapshots.healthy()) as console:
        widget = console.app.main.query_one("#page", LineWidget)
        widget.show_lines([])
        assert widget.render_line(0).text.strip() == ""
