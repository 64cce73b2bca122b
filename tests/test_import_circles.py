"""Import circles: no module imports, by way of others, itself; imports of types count too."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.statements import statements

PACKAGES = ("balancer", "replicator", "aggregator", "tui", "deploy", "bench")


def modules(root: Path) -> dict[str, Path]:
    """Returns the file of each module, by the module's full name."""
    found = {}
    for path in (each for package in PACKAGES for each in (root / package).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(text: str, known: dict[str, Path]) -> set[str]:
    """Returns the modules that a text imports: at its top, in functions, for types."""
    names = set()
    for node in statements(text):
        if isinstance(node, ast.Import):
            names |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                names.add(inner if inner in known else node.module)
    return names & known.keys()


def circle(imports: dict[str, set[str]]) -> list[str]:
    """Returns the modules of a circle in the order of their imports; none where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])[::-1]
    return []


def test_no_module_imports_itself_by_way_of_others():
    known = modules(Path(__file__).parents[1])
    assert len(known) > 800
    imports = {name: imported(path.read_text(), known) - {name} for name, path in known.items()}
    assert circle(imports) == []


def test_an_import_for_types_closes_a_circle():
    known = {"tui.a": Path(), "tui.b": Path()}
    text = "if TYPE_CHECKING:\n    from tui.b import B\n"
    imports = {"tui.a": imported(text, known), "tui.b": imported("from tui import a", known)}
    assert set(circle(imports)) == {"tui.a", "tui.b"}
