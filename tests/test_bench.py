"""The laboratory: cells are measured, remembered, compared with the paper; failures stay in their cell."""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from quotientgraph.bench import (
    METRICS,
    Case,
    Job,
    Journal,
    downloads,
    find,
    history,
    journal,
    measure,
    pages,
    table_text,
    warm_up,
)  # fmt: skip
from quotientgraph.bench import runs as bench_runs
from quotientgraph.bench.catalogue import TABLES
from quotientgraph.bench.tables import Entry, Table, paper_figures, paper_job
from quotientgraph.cli import bench as cli_bench
from quotientgraph.cli import main
from quotientgraph.integration import METHODS, Method

SHARED = Path(os.environ.get("QUOTIENTGRAPH_DATA") or Path(__file__).parents[2] / "shared" / "data")
# The command line of the smallest run there is.
SMALLEST = [
    sys.executable,
    *["-m", "quotientgraph", "bench", "scene:plane?shape=8x9", "--methods", "fft", "--out", "out"],
]
needs_data = pytest.mark.usefixtures("data_dir")


def _bench(*arguments):
    return main(["bench", *map(str, arguments)])


@pytest.fixture
def plane():
    return find(["scene:plane?shape=16x20"])[0]


def test_a_record_holds_what_was_asked(plane):
    record = measure(Job(plane, "components", {"angle": 3.5}, repeat=3))
    assert record["status"] == "ok"
    assert set(METRICS) <= set(record)
    assert record["components"] == 1
    assert record["pixels"] == 320
    assert record["made"] == pytest.approx(0, abs=1e-9)
    assert record["least_made"] == pytest.approx(0, abs=1e-9)
    assert record["seconds_low"] <= record["seconds"] <= record["seconds_high"]
    assert {"graph", "components", "filling", "scales"} <= set(record["stages"])
    assert record["peak_bytes"] >= 0
    json.dumps(record)


def test_a_failing_method_stays_in_its_cell(plane, tmp_path, monkeypatch):
    def broken(graph, **settings):
        raise RuntimeError("no luck")

    monkeypatch.setitem(METHODS, "broken", Method(broken, "always fails"))
    records = bench_runs.run_jobs(
        [Job(plane, "broken"), Job(plane, "poisson")], Journal(tmp_path / "j.jsonl"), progress=False
    )
    assert [record["status"] for record in records] == ["failed", "ok"]
    assert records[0]["error"] == "RuntimeError: no luck"


def test_unknown_settings_fail_in_their_cell(plane):
    record = measure(Job(plane, "components", {"no_such_setting": 1}))
    assert record["status"] == "failed"
    assert "no_such_setting" in record["error"]


def test_finished_cells_are_not_redone(plane, tmp_path, monkeypatch):
    path = tmp_path / "j.jsonl"
    jobs = [Job(plane, "poisson"), Job(plane, "fft")]
    bench_runs.run_jobs(jobs[:1], Journal(path), progress=False)
    # A run that was killed while it wrote leaves half a line.
    with path.open("a") as file:
        file.write('{"key": "half a li')
    ran = []
    monkeypatch.setattr(bench_runs, "measure", lambda job: ran.append(job.method) or measure(job))
    records = bench_runs.run_jobs(jobs, Journal(path), progress=False)
    assert ran == ["fft"]
    assert [record["status"] for record in records] == ["ok", "ok"]
    bench_runs.run_jobs(jobs, Journal(path), progress=False)
    assert ran == ["fft"]


def test_failed_cells_and_other_code_are_redone(plane, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j.jsonl")
    job = Job(plane, "poisson")
    journal.add({**measure(job), "status": "failed", "error": "x"})
    assert Journal(journal.path).find(job) is None
    journal.add(measure(job))
    assert Journal(journal.path).find(job) is not None
    monkeypatch.setattr("quotientgraph.bench.journal.code_digest", lambda: "another")
    assert Journal(journal.path).find(job) is None
    assert Journal(journal.path, any_code=True).find(job) is not None


def test_a_cell_without_a_metric_is_redone(plane, tmp_path, monkeypatch):
    """A metric that a plugin adds later is measured for the cells that were finished before, with `any_code` too."""
    path, job = tmp_path / "j.jsonl", Job(plane, "poisson")
    bench_runs.run_jobs([job], Journal(path), progress=False)
    monkeypatch.setitem(METRICS, "spread", lambda result, maps: float(np.nanstd(result.depth)))
    assert Journal(path).find(job) is None
    assert Journal(path, any_code=True).find(job) is None
    (record,) = bench_runs.run_jobs([job], Journal(path), progress=False)
    assert record["spread"] >= 0
    assert Journal(path).find(job) == record


@pytest.mark.parametrize("shape", ["40", "40x", "x40", "40x50x60", "-4x5", "4.5x6"])
def test_a_shape_that_is_not_understood(shape):
    with pytest.raises(ValueError, match=f"boxes.*shape={shape} must be shape=HEIGHTxWIDTH"):
        find([f"scene:boxes?shape={shape}"])[0].maps  # noqa: B018


def test_a_killed_run_continues(tmp_path):
    """Kill a run after its first cells; the next one keeps them."""
    (tmp_path / "stuck.py").write_text(
        "import time\n"
        "from pathlib import Path\n"
        "from quotientgraph.integration import METHODS, Method\n"
        "done = Path('out/journal.jsonl')\n"
        "def run(graph):\n"
        "    while done.exists() and done.read_text().count('\"status\": \"ok\"') >= 3 and not Path('go on').exists():\n"
        "        time.sleep(0.02)\n"
        "    return METHODS['fft'].run(graph)\n"
        "METHODS['stuck'] = Method(run, 'waits after three cells until it may go on')\n"
    )
    scenes = [f"scene:plane?shape=16x{n}" for n in range(10, 22)]
    options = ["--plugin", "stuck", "--methods", "stuck", "--quiet", "--out", "out"]
    command = [sys.executable, "-m", "quotientgraph", "bench", *scenes, *options]
    journal = tmp_path / "out" / "journal.jsonl"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tmp_path)
    while process.poll() is None and (not journal.exists() or journal.read_text().count('"status": "ok"') < 3):
        time.sleep(0.02)
    process.kill()
    process.wait()
    finished = [line for line in journal.read_text().splitlines(keepends=True) if '"status": "ok"' in line]
    assert len(finished) == 3
    (tmp_path / "go on").touch()
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    after = [line for line in journal.read_text().splitlines(keepends=True) if '"status": "ok"' in line]
    assert after[: len(finished)] == finished
    assert len({json.loads(line)["key"] for line in after}) == len(after) == 12


def test_isolated_cells(plane, tmp_path, monkeypatch):
    journal = Journal(tmp_path / "j.jsonl")
    [record] = bench_runs.run_jobs([Job(plane, "poisson")], journal, isolate=True, progress=False)
    assert record["status"] == "ok"
    # A process that dies, and one that takes too long, cost their own cell only.
    (tmp_path / "deadly.py").write_text(
        "import os, signal\n"
        "from quotientgraph.integration import METHODS, Method\n"
        "METHODS['deadly'] = Method(lambda graph: os.kill(os.getpid(), signal.SIGKILL), 'dies')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    [dead] = bench_runs.run_jobs([Job(plane, "deadly")], journal, isolate=True, plugins=("deadly",), progress=False)
    assert "SIGKILL" in dead["error"]
    [late] = bench_runs.run_jobs([Job(plane, "fft")], journal, isolate=True, timeout=0.01, progress=False)
    assert "stopped after 0.01 s" in late["error"]


def test_command_writes_all_formats(tmp_path, capsys):
    what = ["scene:sphere?shape=24x30", "--methods", "components,fft", "--set", "angle=2,3.5"]
    status = _bench(*what, "--out", tmp_path, "--quiet", "--plots")
    assert status == 0
    text = capsys.readouterr().out
    assert "components" in text
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["machine"]["versions"]["numpy"] == np.__version__
    assert results["machine"]["threads"]["numba"] >= 1
    assert len(results["records"]) == 3  # the angle means nothing to fft
    lines = (tmp_path / "results.csv").read_text().splitlines()
    assert len(lines) == 4
    assert (tmp_path / "error-time.png").stat().st_size > 1000
    assert list(tmp_path.glob("error-map-*.png"))


def test_command_says_what_is_wrong(tmp_path, capsys):
    """One line in the form that all commands share; 2 for the command line, 1 for a cell that failed."""
    plane = "scene:plane?shape=8x9"
    for words, says in (
        ([], "name a folder with normal maps"),
        (["nowhere"], "nowhere: there is no such folder"),
        ([plane, "--methods", "magic"], "--methods: magic not known"),
        ([plane, "--table", "magic"], "--table: magic not known"),
        ([plane, "--table", "main"], "no use for"),
        ([plane, "--set", "angle"], "--set angle: expected NAME=VALUE"),
        ([plane, "--set", "merge_evry=3"], "--set merge_evry: components has no such setting"),
        (["--table", "unseen", "--vary", "faecs=joined"], "--vary faecs: components has no such setting"),
        ([plane, "--processes", "2", "--timeout", "3"], "--processes does not go with --timeout"),
        ([plane, "--plugin", "nowhere"], "--plugin: No module named 'nowhere'"),
        ([plane, "--repeat", "0"], "--repeat: 0 must be at least 1"),
    ):
        assert _bench(*words, "--out", tmp_path / "out") == 2
        [line] = capsys.readouterr().err.splitlines()
        assert line.startswith("quotientgraph: error: ")
        assert says in line
    assert not (tmp_path / "out").exists()
    assert _bench(plane, "--set", "angle=-1", "--out", tmp_path, "--quiet") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("quotientgraph: error: plane shape=8x9 components: ValueError: angle=-1")


def test_an_interrupt_says_how_to_go_on(tmp_path, capsys, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("quotientgraph.bench.command.run_jobs", stop)
    assert _bench("scene:plane?shape=8x9", "--out", tmp_path) == 130
    assert "continues where it stopped" in capsys.readouterr().err


def test_the_digest_of_the_code(monkeypatch, tmp_path):
    """A change of the command line, of a report or of a table keeps measured cells; a change of a scene does not."""
    read = Path.read_bytes

    def changed(name):
        journal.code_digest.cache_clear()
        monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.parts[-2:] == name))
        found = journal.code_digest()
        monkeypatch.setattr(Path, "read_bytes", read)
        journal.code_digest.cache_clear()
        return found

    now = journal.code_digest()
    for name in (("cli", "integrate.py"), ("report", "page.py"), ("bench", "table_text.py")):
        assert changed(name) == now
    for name in (
        ("scenes", "scene.py"),
        ("method", "scales.py"),
        ("beyond", "border_networks.json"),
        ("bench", "degrade.py"),
        ("laplacians", "system.py"),
    ):
        assert changed(name) != now


@pytest.mark.parametrize("method", METHODS)
def test_warming_up_is_short(method, monkeypatch):
    """Whatever the method, its warm-up makes few iterations; the measured run is not limited."""
    ran = []
    monkeypatch.setattr(warm_up, "_warm", set())
    monkeypatch.setattr(warm_up, "run_method", lambda job, maps: ran.append(job.settings))
    [case] = find(["scene:plane?shape=16x20"])
    warm_up.warm_up(Job(case, method, {"max_iterations": 100} if method != "fft" and method != "poisson" else {}))
    assert len(ran) == 2
    assert all(settings.get("max_iterations", 0) <= 7 for settings in ran)


def test_missing_matplotlib_is_noticed_before_measuring(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert _bench("scene:plane?shape=8x9", "--plots", "--out", tmp_path / "out") == 2
    assert "plots need matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_no_progress_bar_in_a_pipe(tmp_path):
    done = subprocess.run(SMALLEST, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""


def test_tables_on_a_terminal_without_unicode(tmp_path):
    """Rules, degrees and signs of a table have a form in ASCII."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(SMALLEST, capture_output=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert b"\\u" not in done.stdout
    assert b"----" in done.stdout


def test_small_errors_have_digits(tmp_path, capsys):
    """An error of a thousandth of a per cent is not printed as 0.000."""
    assert _bench("scene:sphere?shape=24x30", "--methods", "fft", "--out", tmp_path, "--quiet") == 0
    head, _, row = capsys.readouterr().out.splitlines()[:3]
    assert "RE, %" in head
    record = json.loads((tmp_path / "results.json").read_text())["records"][0]
    assert table_text.short_number(100 * record["relative_error"]) in row
    assert table_text.short_number(0.000123) == "0.000123"


def test_comparing_with_the_history(tmp_path, capsys, monkeypatch):
    """What was recorded is what the next run is compared with."""
    monkeypatch.setattr(history, "_WATCHED", {"flat": ("plane", "fft", {})})
    monkeypatch.setattr(history, "_SIZE", "16x20")
    monkeypatch.setattr(history, "HISTORY", tmp_path / "history.csv")
    for name in ("yardstick", "processor_yardstick"):
        monkeypatch.setattr(history, name, lambda height, width: 1e-3)
    words = ["--compare", "--out", tmp_path / "out", "--quiet"]
    assert _bench(*words, "--record", "first") == 0
    text = capsys.readouterr().out
    assert "stored" not in text.replace("stored history", "")
    assert history.stored(tmp_path / "history.csv")["flat"]["label"] == "first"
    assert _bench(*words) == 0
    text = capsys.readouterr().out
    assert "time, units of Y" in text
    assert "change, %" in text


def test_the_stored_history_is_complete():
    """Every watched case has stored figures, so that a contributor can compare."""
    known = history.stored()
    assert set(known) == {job.case.name for job in TABLES["watch"].jobs([])}
    assert all(float(row["units_of_y"]) > 0 for row in known.values())


def test_tables_are_written_into_pages(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:watch -->\nold\n<!-- end of bench:watch -->\nafter\n")
    entry = Entry("seconds", "fft", "plane", 0.5)
    pages.write_into(page, "watch", TABLES["watch"], [entry])
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| fft" in text
    assert "old" not in text
    pages.write_into(page, "watch", TABLES["watch"], [entry])
    assert page.read_text() == text
    words = ["scene:plane?shape=8x9", "--table", "large", "--into", page, "--out", tmp_path / "out"]
    assert _bench(*words) == 2
    assert "<!-- bench:large -->" in capsys.readouterr().err


def test_help_names_what_there_is():
    """The help is made without loading the laboratory, so its lists are compared with it here."""
    assert set(cli_bench.METHODS) == set(METHODS)
    assert list(cli_bench.TABLES) == list(TABLES)


def test_paper_facts():
    assert (
        len({(f["method"], f["theta_deg"], f["outlier_reweighting"]) for f in paper_figures("table1_diligent")}) == 12
    )
    assert {"main", "connectivity", "convergence", "reweighting", "components", "merging", "profile", "large"} <= set(
        TABLES
    )
    sizes = {"main": 108, "connectivity": 72, "convergence": 216, "reweighting": 144, "components": 27}
    nine = [Case(name, name) for name in {f["object"] for f in paper_figures("table1_diligent")}]
    for name, size in sizes.items():
        assert len(TABLES[name].jobs(nine)) == size
    # Cells that tables share are measured once.
    main = {job.key for job in TABLES["main"].jobs(nine)}
    assert len(main & {job.key for job in TABLES["convergence"].jobs(nine)}) == 36


def test_the_interchanged_rows_of_the_reweighting_table():
    """The row that is compared with L = 1e-5 has the main table's figures."""
    case = Case("buddha", "buddha")
    key = paper_job(case, "3.5").key
    records = [{"key": key, "case": {"name": "buddha", "source": "buddha", "frame": "opengl"}, "made": 0.11}]
    [entry] = [e for e in TABLES["reweighting"].entries(records) if e.ours is not None]
    assert (entry.row, entry.paper) == ("soft L=1e-5, θ 3.5°", 0.11)


def test_entries_are_judged_and_shown():
    near = Entry("MADE, mm", "row", "bear", 0.11, 0.1, "components")
    far = Entry("MADE, mm", "row", "cat", 0.5, 0.1, "components")
    gone = Entry("MADE, mm", "row", "cow", None, 0.1, "components", "ValueError: no")
    assert (near.within, far.within, gone.within) == (True, False, False)
    assert Entry("seconds", "row", "bear", 1.0, 0.1).within is None
    plain = table_text.grid([near, far, gone])
    assert "!0.500 (0.1)" in plain
    assert "failed" in plain
    coloured = table_text.grid([near, far], colour=True)
    assert "\x1b[32m+0.010" in coloured
    assert "\x1b[31m+0.400" in coloured
    assert "| row" in table_text.grid([near], markdown=True)
    assert "components: 1 of 3 cells" in table_text.summary([near, far, gone])
    assert table_text.to_csv([near]).splitlines()[1].startswith('"MADE, mm",row,bear,0.11,0.1,')


def test_folders_and_folders_of_folders(tmp_path):
    normals = np.tile(np.array([0.0, 0.0, 1.0], dtype=np.float32), (6, 7, 1))
    for name in ("a", "b"):
        (tmp_path / "set" / name).mkdir(parents=True)
        np.savez(tmp_path / "set" / name / "normals.npz", normals=normals)
    assert [case.name for case in find([str(tmp_path / "set")])] == ["a", "b"]
    assert [case.name for case in find([str(tmp_path)])] == ["a", "b"]
    [case] = find([str(tmp_path / "set" / "a")])
    record = measure(Job(case, "poisson"))
    assert (record["status"], record["made"]) == ("ok", None)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no normal map"):
        find([str(tmp_path / "empty")])


def test_own_methods_metrics_and_tables(plane, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(METHODS, "mine", Method(METHODS["poisson"].run, "a copy"))
    monkeypatch.setitem(METRICS, "steepest", lambda result, maps: float(np.nanmax(result.depth)))
    table = Table(
        "Mine",
        lambda cases: [Job(case, "mine") for case in cases],
        lambda records: [Entry("steepest", "mine", r["case"]["name"], r["steepest"]) for r in records],
    )
    monkeypatch.setitem(TABLES, "mine", table)
    assert _bench(plane.source, "--table", "mine", "--out", tmp_path, "--quiet") == 0
    assert "steepest" in capsys.readouterr().out


def test_data_helper(tmp_path, capsys, monkeypatch):
    assert main(["data"]) == 0
    assert "CC BY 4.0" in capsys.readouterr().out
    assert main(["data", "check", str(tmp_path)]) == 1
    assert "0 of 27 known files" in capsys.readouterr().out
    monkeypatch.delenv("QUOTIENTGRAPH_DATA", raising=False)
    assert main(["data", "check"]) == 2
    assert capsys.readouterr().err == "quotientgraph: error: name a folder, or set QUOTIENTGRAPH_DATA\n"
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert main(["data", "fetch", str(tmp_path)]) == 1
    assert capsys.readouterr().err.startswith("quotientgraph: error: fetching needs pooch; install it with: pip ")
    (tmp_path / "diligent" / "bear").mkdir(parents=True)
    (tmp_path / "diligent" / "bear" / "mask.png").write_bytes(b"x" * 2301)
    states = dict(downloads.check_files(tmp_path))
    assert states["diligent/bear/mask.png"] == "other content"
    assert states["diligent/bear/K.txt"] == "missing"


def test_fetching_says_what_it_cannot_check(tmp_path, monkeypatch, caplog):
    """Files with a known hash are held to it; the objects without one are named."""
    asked = {}

    def retrieve(url, known_hash, name, place):
        asked[f"{place.name}/{name}"] = known_hash
        place.mkdir(parents=True, exist_ok=True)
        return str(place / name)

    monkeypatch.setitem(sys.modules, "pooch", SimpleNamespace(retrieve=retrieve))
    assert len(downloads.fetch(tmp_path)) == 27
    assert asked["bear/normal_map.png"].startswith("sha256:")
    unknown = {path.split("/")[0] for path, known in asked.items() if known is None}
    assert unknown
    assert all(name in caplog.text for name in unknown)
    assert "bear" not in caplog.text


@needs_data
def test_the_local_copy_is_the_one_known():
    assert {state for _, state in downloads.check_files(SHARED)} == {"ok"}


@needs_data
def test_bini_has_its_authors_figures():
    [case] = find([str(SHARED / "diligent" / "bear")])
    [entry] = [e for e in TABLES["bini"].entries([measure(Job(case, "bini"))]) if e.quantity == "MADE, mm"]
    assert entry.within


@needs_data
def test_merging_falls_as_in_the_paper():
    [case] = find([str(SHARED / "diligent" / "bear")])
    records = [measure(job) for job in TABLES["merging"].jobs([case])]
    entries = TABLES["merging"].entries(records)
    counts = [entry for entry in entries if entry.quantity == "components" and entry.paper]
    assert [entry.paper for entry in counts] == [1900, 361, 47, 7]
    assert counts[0].within
    assert all(4 * b.ours < a.ours for a, b in itertools.pairwise(counts))
    ends = [entry.ours for entry in entries if entry.quantity == "MADE at the end, mm"]
    assert abs(ends[0] - ends[1]) < 0.02


@needs_data
@pytest.mark.parametrize("method", ["logdepth", "logdepth-d"])
def test_logdepth_rows_of_the_main_table(method):
    cases = find([str(SHARED / "diligent" / name) for name in ("bear", "buddha")])
    jobs = [j for j in TABLES["main"].jobs(cases) if j.method == method and j.settings["reweighting"] == "soft"]
    assert len(jobs) == 2
    entries = TABLES["main"].entries([measure(job) for job in jobs])
    judged = [entry for entry in entries if entry.within is not None]
    assert len(judged) == 2
    assert all(entry.within for entry in judged)
