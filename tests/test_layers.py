"""The architecture: imports run downwards through the layers, lazy or not, never in a circle; modules are short."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# From the bottom up. A module may import its own layer and those before it. docs/architecture.md draws the same list.
LAYERS = [
    "laplacians", "settings", "geometry", "metrics", "graph", "method", "beyond", "baselines", "io", "analysis", "report",
    "result", "quotient_graph", "integration", "rehearsal", "scenes", "bench", "cli", "campaign", "__main__",
]  # fmt: skip


def _name(path, root):
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {
    _name(path, root): path
    for root, package in ((ROOT, "quotientgraph"), (ROOT / "solvers", "laplacians"))
    for path in (root / package).rglob("*.py")
}


def layer(module):
    """`quotientgraph.io.decode` is in the layer `io`, `laplacians.system` in `laplacians`."""
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] if top == "quotientgraph" else top


def statements(module, for_types=False):
    """All import statements of a module; those that only a type checker sees are left out unless asked for."""
    waiting = [ast.parse(PATHS[module].read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not for_types:
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


@cache
def front_door():
    """Where the names that `quotientgraph` itself offers come from."""
    found = {"solvers": "laplacians"}
    for node in statements("quotientgraph", for_types=True):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname or a.name: target for a, target in targets("quotientgraph", node) if target}
    return found


def targets(module, node):
    """The pairs of alias and module of this project that one import statement asks for; None for other packages."""
    package = module if PATHS[module].name == "__init__.py" else module.rpartition(".")[0]
    for alias in node.names:
        if isinstance(node, ast.Import):
            target = alias.name
        else:
            above = ".".join(package.split(".")[: len(package.split(".")) - node.level + 1]) if node.level else ""
            origin = ".".join(filter(None, [above, node.module or ""]))
            target = f"{origin}.{alias.name}" if f"{origin}.{alias.name}" in PATHS else origin
            if origin == "quotientgraph" and target == origin and module != origin:
                target = front_door().get(alias.name)
        yield alias, target if target in PATHS else None


def imported(module):
    """Every module of this project that a module imports. The front door itself is a list of names, not a layer."""
    if module == "quotientgraph":
        return set()
    found = {target for node in statements(module) for _, target in targets(module, node) if target}
    return found - {module, "quotientgraph"}


@pytest.mark.parametrize("module", sorted(PATHS.keys() - {"quotientgraph"}))
def test_imports_run_downwards(module):
    """A module imports from its own layer and from those below it, lazily or not; `laplacians` from itself alone."""
    assert layer(module) in LAYERS, f"put the layer of {module} into LAYERS and into docs/architecture.md"
    rank = LAYERS.index(layer(module))
    upwards = [other for other in imported(module) if LAYERS.index(layer(other)) > rank]
    assert not upwards, f"{module} is below what it imports: {upwards}"


def test_no_import_cycle():
    """No module imports itself by way of others, not even lazily. Only the command line defers imports, to start fast."""
    try:
        TopologicalSorter({module: imported(module) for module in PATHS}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize("module", sorted(PATHS))
def test_a_module_holds_one_idea(module):
    """A module of more than 300 lines hides a second idea; divide it."""
    assert len(PATHS[module].read_text(encoding="utf-8").splitlines()) <= 300


def test_the_page_of_the_architecture_lists_the_layers():
    """The table in docs/architecture.md has a line for each layer, in the same order."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert [*re.findall(r"^\| `(\w+)` \|", page.split("## Hooks")[0], re.M), "__main__"] == LAYERS


def test_the_layers_are_seen():
    """The test reads what it should: known imports are found, also inside functions."""
    assert "quotientgraph.geometry.camera" in imported("quotientgraph.geometry.normals")
    assert "laplacians.system" in imported("laplacians")
    assert {layer(module) for module in PATHS} - {""} <= set(LAYERS)
