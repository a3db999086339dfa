"""What the packages offer can be seen: by `dir`, in the reference, and when it is printed."""

import ast
import dataclasses
import importlib
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import quotientgraph
from quotientgraph import QuotientGraph, scenes
from quotientgraph.geometry.mesh import Mesh
from quotientgraph.geometry.normals import NormalMap
from quotientgraph.graph.pixels import PixelGraph

ROOT = Path(__file__).resolve().parents[1]


def test_dir_shows_the_public_names():
    """`dir(quotientgraph)` lists what there is to use, and nothing of the machinery that loads it."""
    public = [name for name in dir(quotientgraph) if not name.startswith("_")]
    assert set(quotientgraph.__all__) <= set(public)
    submodules = {path.stem for path in (ROOT / "quotientgraph").iterdir()}
    assert set(public) <= set(quotientgraph.__all__) | submodules


def _load_reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_lists_every_public_name():
    """Each public function and class has an entry, under the path of its module or of a package that offers it."""
    page = _load_reference()
    listed = {line.split(":: ")[1] for line in page.reference().splitlines() if line.startswith(".. auto")}
    for package in ("quotientgraph", "laplacians"):
        front = importlib.import_module(package)
        for name in front.__all__:
            assert f"{package}.{name}" in listed or f"{package}.{name}" in page.modules() or name == "solvers"
    found = {(path.rpartition(".")[2], id(_value(path))) for path in listed}
    for module in map(importlib.import_module, page.modules()):
        tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
        offered = getattr(module, "__all__", None)
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                if hasattr(getattr(module, node.name), "_compiled") or (offered and node.name not in offered):
                    continue  # kernels are private, whatever their name
                assert (node.name, id(getattr(module, node.name))) in found, f"{module.__name__}.{node.name}"


def _value(path):
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.fixture(scope="module")
def solved():
    scene = scenes.make("spheres", shape=(40, 50))
    graph = QuotientGraph.from_normals(scene.normals, scene.mask, scene.camera, "opencv")
    return graph, graph.optimize()


def test_graphs_and_results_print_a_few_lines(solved):
    """`repr` is for a person: what it is, how large, how it went; no array is written out."""
    graph, result = solved
    for value, facts in ((graph, [str(graph.n_components)]), (result, [str(len(result.history)), "onverged"])):
        lines = repr(value).splitlines()
        assert type(value).__name__ in lines[0]
        assert len(lines) <= 8
        assert max(map(len, lines)) <= 120
        assert "array(" not in repr(value)
        assert all(fact in repr(value) for fact in facts), repr(value)


def test_everything_can_be_compared_and_hashed(solved):
    """`==` and `hash` do not raise: objects go into sets and dictionaries."""
    graph, result = solved
    other = graph.optimize(preset="paper")
    assert (result == result, result == other, graph == graph.contract(graph.cut[:1])) == (True, False, False)
    assert len({graph, graph, graph.pixels, result, other, other.history[0]}) == 5


def _classes_of_arrays():
    page = _load_reference()
    fronts = [importlib.import_module(name) for _, name, _ in page.FRONT]
    offered = {id(getattr(front, name)): getattr(front, name) for front in fronts for name in page.public_names(front)}
    for kind in [*offered.values(), Mesh, NormalMap, PixelGraph]:
        fields = dataclasses.fields(kind) if inspect.isclass(kind) and dataclasses.is_dataclass(kind) else ()
        if any(re.match(r"(np\.)?ndarray", str(field.type)) for field in fields):
            yield kind


@pytest.mark.parametrize("kind", list(_classes_of_arrays()), ids=lambda kind: kind.__name__)
def test_classes_of_arrays_are_equal_to_themselves_only(kind):
    """The `==` of a dataclass would compare arrays, which raises; so such a class says ``@dataclass(eq=False)``."""
    assert kind.__eq__ is object.__eq__
    assert kind.__hash__ is object.__hash__
