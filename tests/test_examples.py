"""Every example runs, and comes to a number that is checked."""

import ast
import importlib
import importlib.util
import runpy
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("[a-z]*.py"))
SCRIPTS = [*EXAMPLES, *sorted((ROOT / "docs").glob("*.py"))]

# example -> what must hold of the names it defines
CLAIMS = {
    "01_first_depth": lambda names: names["error"] < 0.02,
    "02_cameras": lambda names: max(names["errors"].values()) < 1e-12 and len(names["errors"]) == 5,
    "03_look_at_the_graph": lambda names: (
        names["net"].number_of_nodes() == names["ig"].vcount() == names["graph"].n_components > 1000
        and abs(names["torn"][0][2]["residual"]) > 0.1
    ),
    "04_merging_levels": lambda names: (
        names["error"] < 0.002 and [level.n_components for level in names["result"].levels][-1] == 1
    ),
    "05_own_solver": lambda names: (
        names["difference"] < 1e-9
        and {"superlu", "direct", "scipy"} <= {t.backend for t in names["timings"] if t.converged}
    ),
    "06_networkx_communities": lambda names: names["error"] < 0.04 and 2 < len(names["communities"]) < 200,
    "07_igraph_minimum_cut": lambda names: names["lossless"] and names["cut"].value > 0 and names["strength"] > 0,
    "08_higra_saliency": lambda names: names["contrast"] > 10,
    "09_scikit_image_rag": lambda names: names["error"] < 0.12 and 1 < len(set(names["regions"].ravel())) < 400,
    "10_napari_layer": lambda names: 0 < names["doubtful"].sum() < names["graph"].n_components,
    "11_pandas_tables": lambda names: len(names["files"]) == 5 and names["back"].n_edges == len(names["borders"]),
    "12_own_decompositions": lambda names: (
        names["same"] and 3 * names["absorbed"].n_components < names["graph"].n_components
    ),
    "13_merge_tree": lambda names: names["exact"] and names["ten"].n_components == 10,
    "14_what_could_sit_elsewhere": lambda names: (
        names["error"](names["taken"]) < 0.7 * names["error"](names["result"])
        and abs(names["error"](names["touching"]) - names["error"](names["taken"])) < 0.5
    ),
}
# Libraries of the extras; an example that needs one is skipped where it is missing.
OPTIONAL = {"pandas", "pyarrow", "higra", "skimage", "napari"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, monkeypatch, tmp_path):
    """The example runs from any folder, in under 60 lines, and its claim holds."""
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("laplacians.registry._registered", {})  # what an example registers stays its own
    try:
        names = runpy.run_path(str(path), run_name="__main__")
    except ImportError as error:
        missing = error if error.name else error.__cause__  # our own message has the library's as its cause
        if getattr(missing, "name", None) not in OPTIONAL:
            raise
        pytest.skip(f"{path.name} needs {missing.name}")
    assert path.stem in CLAIMS, f"say in CLAIMS what {path.name} comes to"
    assert CLAIMS[path.stem](names)


# notebook -> what must hold of the names it defines
STORIES = {
    "photometric_stereo": lambda names: (
        names["error"] < 0.02 and names["light"].deviation <= 0.25 and len(names["few"].faces) <= 2000
    ),
    "network_normals": lambda names: (
        names["off"](names["both"].depth) < 0.5 * names["off"](names["prior"]) < names["off"](names["alone"].depth)
    ),
    "tileable_texture": lambda names: (
        (names["found"].source.green, names["found"].source.tile) == ("opengl", "both")
        and names["error"] < 1e-3
        and names["difference"] < 1e-6
        and names["steps"][-1] <= 1.05 * names["steps"][:-1].max()
        and len(names["mesh"].faces) <= 6000
    ),
    "graph_research": lambda names: (
        0 < names["silhouettes"] < names["net"].number_of_edges() / 4
        and names["errors"]["squares"] > 2 * names["errors"]["by angle"]
    ),
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, monkeypatch, tmp_path):
    """The notebook runs from its first cell to its last, as plain Python, and what it tells is true."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "ipykernel", types.SimpleNamespace())  # no window, as in a notebook
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# %% [markdown]\n# # ")
    names = runpy.run_path(str(path), run_name="__main__")
    assert path.stem in STORIES, f"say in STORIES what {path.name} comes to"
    assert STORIES[path.stem](names)


def test_every_claim_has_its_example():
    """No claim is left over from an example that is gone."""
    assert set(CLAIMS) <= {path.stem for path in EXAMPLES}
    assert set(STORIES) <= {path.stem for path in NOTEBOOKS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_what_a_script_imports_exists(path):
    """The scripts that make tables and pictures of the docs run for long; that they find their names is checked here."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("quotientgraph", "laplacians"):
            module = importlib.import_module(node.module)
            for alias in node.names:
                found = hasattr(module, alias.name) or importlib.util.find_spec(f"{node.module}.{alias.name}")
                assert found, f"{node.module} has no {alias.name}"
