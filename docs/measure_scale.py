"""Measure integration in tiles: make a synthetic map of any size in a Zarr store, integrate it, compare with the truth.

    python docs/measure_scale.py make 8192 8192 map.zarr
    python docs/measure_scale.py run map.zarr out.zarr [--workers 2] [--preset paper]
    python docs/measure_scale.py whole map.zarr out.zarr
    python docs/measure_scale.py kills map.zarr folder --every 20
    python docs/measure_scale.py workers
    python docs/measure_scale.py groups 32768
    python docs/measure_scale.py table docs/scale.md out/measured.json [...]

The surface is smooth on scales from 300 to 5000 pixels, with a tear in every square of 1024 pixels. In every square of 512
pixels a shell stands on it. It is generated tile by tile, and every pixel is a formula of its place.
"""

import argparse
import contextlib
import hashlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import zarr

TILE = 2048
_MARKS = ("<!-- growth, written by measure_scale.py table -->", "<!-- end of growth -->")
_WAVES = [(2.0, 300, 0.3), (3.0, 450, 1.9), (12.0, 1100, 4.0), (15.0, 1700, 2.6), (80.0, 5000, 5.3), (60.0, 4100, 0.9)]


def surface(top, left, height, width, every=1):
    """Depth (z away from the camera) and its slopes along u and v, in some rows of a box of the endless map."""
    v, u = np.mgrid[top : top + height : every, left : left + width].astype(np.float64)
    z, p, q = np.zeros_like(u), np.zeros_like(u), np.zeros_like(u)
    for amplitude, length, turn in _WAVES:
        a, b = 2 * np.pi / length * np.cos(turn), 2 * np.pi / length * np.sin(turn)
        across, down = a * u[:1], b * v[:, :1] + 7 * turn  # sines of sums are made of those of rows and of columns
        z += amplitude * (np.sin(across) * np.cos(down) + np.cos(across) * np.sin(down))
        slope = amplitude * (np.cos(across) * np.cos(down) - np.sin(across) * np.sin(down))
        p += a * slope
        q += b * slope
    _add_tears(u, v, z, p, q)
    _add_shells(u, v, z, p, q)
    return z, p, q


def _add_tears(u, v, z, p, q):
    """A flap in every square of 1024 pixels: its upper edge is a tear that closes at both ends, below it fades out.

    Flaps stand up and sink in turn, like the squares of a chessboard. A least-squares filling that crosses tears takes a
    slope from each of them. If all of them had the same sign, these would add up to a ramp over the whole map, whose height
    grows with the map.
    """
    side = 1024
    s, t = np.mod(u, side) / side, np.mod(v, side) / side
    inside = (s > 0.1) & (s < 0.9) & (t > 0.4) & (t < 0.9)
    height = np.where((u // side + v // side)[inside] % 2 == 0, 40.0, -40.0)
    x, y = np.pi * (s[inside] - 0.1) / 0.8, np.pi * (t[inside] - 0.4) / 0.5
    along, down = np.sin(x) ** 2, 0.5 * (1 + np.cos(y))
    z[inside] += height * along * down
    p[inside] += height * np.sin(2 * x) * np.pi / (0.8 * side) * down
    q[inside] -= height * along * 0.5 * np.sin(y) * np.pi / (0.5 * side)


def _add_shells(u, v, z, p, q):
    """A shell in every square of 512 pixels: it stands on the ground with its lower border and hides what is above it.

    So its depth is determined, by half of its border; the other half is a depth jump.
    """
    side = 512
    row, column = np.floor(v[:, :1] / side), np.floor(u[:1] / side)

    def random(k):
        return np.mod(np.sin(row * 12.9898 + column * 78.233 + k) * 43758.5453, 1.0)

    radius = 60 + 60 * random(0)
    du = (u - (column + 0.3 + 0.4 * random(1)) * side) / radius
    dv = (v - (row + 0.3 + 0.4 * random(2)) * side) / radius
    foot = 0.8 * (1 - du**2)
    shell = np.abs(dv) < foot
    du, dv, foot, radius = du[shell], dv[shell], foot[shell], radius[shell]
    rise = foot - dv  # 0 where it stands on the ground, 2·foot at its upper border
    z[shell] -= radius * (0.9 * rise - 0.2 * rise**2)
    slope = 0.9 - 0.4 * rise
    p[shell] += 1.6 * slope * du
    q[shell] += slope


def masked(top, left, height, width, whole):
    """The pixels to use: without a disc in the middle of the map, and without a column near its right border."""
    v, u = np.mgrid[top : top + height, left : left + width]
    disc = (v - whole[0] // 2) ** 2 + (u - whole[1] // 3) ** 2 < (min(whole) // 12) ** 2
    return ~disc & (u != whole[1] - whole[1] // 7)


def boxes(shape):
    for top in range(0, shape[0], TILE):
        for left in range(0, shape[1], TILE):
            yield top, left, min(TILE, shape[0] - top), min(TILE, shape[1] - left)


def make(args):
    shape = (args.height, args.width)
    group = zarr.open_group(args.path, mode="w")
    options = {"chunks": (512, 512, 3), "shards": (TILE, TILE, 3), "dtype": "uint16" if args.coded else "float32"}
    normals = group.create_array("normals", shape=(*shape, 3), **options)
    mask = group.create_array("mask", shape=shape, chunks=(512, 512), shards=(TILE, TILE), dtype="bool")
    for top, left, height, width in boxes(shape):
        _, p, q = surface(top, left, height, width)
        n = np.stack([p, -q, np.ones_like(p)], axis=-1)
        n /= np.linalg.norm(n, axis=-1, keepdims=True)
        n += args.noise * np.random.default_rng([1, top, left]).standard_normal(n.shape)
        part = np.s_[top : top + height, left : left + width]
        normals[part] = np.rint((n.clip(-1, 1) + 1) * 32767.5).astype(np.uint16) if args.coded else n.astype(np.float32)
        mask[part] = masked(top, left, height, width, shape) if args.mask else True


def errors(path, shape):
    """Mean and median distance from the truth after the median offset of each is taken out, from every 16th row."""
    depth = zarr.open_array(path, mode="r")
    differences = []
    for top, left, height, width in boxes(shape):
        z, _, _ = surface(top, left, height, width, every=16)
        found = depth[top : top + height, left : left + width][::16]
        differences.append((found - z).ravel())
    every = np.concatenate(differences)
    every = np.abs(every[np.isfinite(every)] - np.nanmedian(every))
    return {"mean error": float(every.mean()), "median error": float(np.median(every))}


def run(args):
    from quotientgraph import scale

    began = time.perf_counter()
    group = zarr.open_group(args.path, mode="r")

    most, scratch = 0, Path(args.out.removesuffix(".zarr") + ".work")

    def show(stage, done, total):
        nonlocal most
        if done == total:
            most = max(most, sum(file.stat().st_size for file in scratch.rglob("*") if file.is_file()))
        if args.verbose:
            print(f"{time.perf_counter() - began:8.1f} s {stage} {done}/{total}", flush=True)

    with _cluster(args.workers) if args.cluster else contextlib.nullcontext() as client:
        _, report = scale.integrate(
            group["normals"], group["mask"], out=args.out, tile=args.tile, workers=args.workers, preset=args.preset,
            resume=args.resume, overwrite=True, progress=show, keep=args.keep, client=client,
        )  # fmt: skip
    peaks = {name: round(value / 1e9, 2) for name, value in report.peaks.items()}
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    total = sum(one.ru_utime + one.ru_stime for one in used)
    known = {
        "shape": report.shape, "tile": report.tile, "preset": args.preset, "components": report.n_components,
        "cut edges": report.n_edges, "rounds": report.rounds, "iterations": len(report.history), "peaks GB": peaks,
        "seconds": {name: round(value, 1) for name, value in report.seconds.items()},
        "processor seconds": {name: [n, round(value, 1)] for name, (n, value) in report.tasks.items()},
        "busy": {name: round(value, 1) for name, value in report.busy.items()}, "critical": round(report.critical, 1),
        "per pixel": round(1e6 * sum(report.busy.values()) / (report.shape[0] * report.shape[1]), 2),
        "processor seconds of all processes": round(total, 1), "workers": args.workers, "reused": report.reused,
        "scratch bytes per pixel": round(most / (report.shape[0] * report.shape[1]), 1),
        "warnings": report.warnings, **errors(report.depth, report.shape),
    }  # fmt: skip
    print(json.dumps(known, indent=1))
    Path(args.out).with_name("measured.json").write_text(json.dumps(known, indent=1), encoding="utf-8")


@contextlib.contextmanager
def _cluster(n):
    """A client of n worker processes of one thread each, also if n is 1."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=n, threads_per_worker=1, memory_limit=0, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


def whole(args):
    """The same map in memory, and how far the tiles are from it."""
    from laplacians import Multigrid
    from quotientgraph import QuotientGraph
    from quotientgraph.method import filling
    from quotientgraph.scale.sources import Source
    from quotientgraph.scale.tiling import Box

    group = zarr.open_group(args.path, mode="r")
    depth = zarr.open_array(args.out, mode="r")[:]
    normals, mask = Source.from_arrays(group["normals"], group["mask"]).read(Box(0, 0, *depth.shape))
    graph = QuotientGraph.from_normals(normals, mask, preset=args.preset, check=False)
    labels = zarr.open_array(args.out.replace("depth.zarr", "components.zarr"), mode="r")[:]
    print("same components:", bool(np.array_equal(labels, graph.label_image())), flush=True)
    solvers = {"usual": filling._MULTIGRID, "exact": Multigrid(rtol=1e-12, maxiter=100)}
    for name in args.filling.split(","):
        filling._MULTIGRID = solvers[name]
        began = time.perf_counter()
        result = graph.optimize(preset=args.preset)
        found = result.depth
        size = np.ptp(found[np.isfinite(found)])
        worst = np.nanmax(np.abs(found - depth)) / size
        seconds = time.perf_counter() - began
        print(f"filling {name}: {seconds:.1f} s, largest difference {worst:.3g} of the range", flush=True)


def kills(args):
    """Run once undisturbed; then kill a worker ten times and the driver three times, and compare the stored bytes."""
    folder = Path(args.out)
    calm = Path(args.undisturbed) if args.undisturbed else folder / "undisturbed"
    random = np.random.default_rng(args.seed)
    program = [sys.executable, __file__, "run", args.path]
    options = ["--preset", args.preset, "--tile", str(args.tile), "--workers", "2", "--resume"]
    if not args.undisturbed:
        subprocess.run([*program, str(calm / "depth.zarr"), *options], check=True)
    events = ["driver"] * 3 + ["worker"] * 10
    random.shuffle(events)
    driver, done = None, []
    while events:
        if driver is None or driver.poll() is not None:
            assert driver is None or driver.returncode != 0, (
                f"the run ended before all kills; use a shorter --every ({done})"
            )
            command = [*program, str(folder / "disturbed" / "depth.zarr"), *options]
            driver = subprocess.Popen(command, start_new_session=True)
        time.sleep(args.every * random.uniform(0.5, 1.5))
        if driver.poll() is not None:
            continue
        if events[-1] == "driver":
            os.killpg(driver.pid, signal.SIGKILL)
            driver.wait()
        else:
            workers = _workers(driver.pid)
            if not workers:
                continue
            os.kill(int(random.choice(workers)), signal.SIGKILL)
        done.append(events.pop())
        print("killed:", done[-1], flush=True)
    assert driver.poll() is None or driver.returncode != 0 or not events
    if driver.wait() != 0:
        subprocess.run(command, check=True)
    print("killed:", ", ".join(done))
    same = _bytes(calm) == _bytes(folder / "disturbed")
    print("the same bytes:", same)


def workers(args):
    """One worker process of Dask and two, of one thread each, on the same map in turn: the ratio of their least times."""
    began, found = time.perf_counter(), {1: [], 2: []}
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        program, at = [sys.executable, __file__], Path(folder)
        for side in (1024, args.side):  # the small map is there to have everything compiled and in the cache
            subprocess.run([*program, "make", str(side), str(side), str(at / f"{side}.zarr"), "--coded"], check=True)
        options = ["--preset", args.preset, "--tile", str(args.side // 4), "--cluster"]
        for n in (1, 2):
            _measured([*program, "run", str(at / "1024.zarr"), str(at / f"warm{n}" / "depth.zarr"), *options], n)
        while not found[2] or time.perf_counter() - began < 100:
            for n in (1, 2):
                place = at / f"run{n}.{len(found[n])}"
                found[n].append(
                    _measured([*program, "run", str(at / f"{args.side}.zarr"), str(place / "depth.zarr"), *options], n)
                )
                shutil.rmtree(place)
    one, two = (min(found[n], key=lambda known: known["seconds"]["total"]) for n in (1, 2))
    for n, known in ((1, one), (2, two)):
        busy, passed = known["busy"], known["seconds"]
        tasks = sum(value for name, value in busy.items() if name not in ("driver", "beside"))
        work = passed["total"] - passed["cluster"]
        print(
            f"{n}: {passed['total']:.1f} s, of which {passed['cluster']:.1f} s before the first task; processor time of "
            f"tasks {tasks:.1f} s, of the driver between stages {busy['driver']:.1f} s and while tasks run "
            f"{busy['beside']:.1f} s; workers busy {tasks / n / work:.0%} of the time"
        )
    ratio = one["seconds"]["total"] / two["seconds"]["total"]
    print(
        f"two workers are {ratio:.2f} times as fast as one; by processor time {one['critical'] / two['critical']:.2f}"
    )


def _measured(command, n):
    """What a run has measured."""
    subprocess.run([*command, "--workers", str(n)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(Path(command[4]).with_name("measured.json").read_text(encoding="utf-8"))


def groups(args):
    """Settle the spanning forest of made-up tables, as long as those of a map of this side, and print what groups take."""
    from types import SimpleNamespace

    from quotientgraph.scale import forest
    from quotientgraph.scale.groups import SIDE, Tree
    from quotientgraph.scale.tiling import Tiling
    from quotientgraph.scale.work import Work

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        tiling = Tiling((args.side, args.side), TILE, 128)
        work, tree = Work(Path(folder), tiling), Tree(tiling, SIDE)
        for k in range(tiling.n_tiles):
            _write_forest(work, k)
        job, began = SimpleNamespace(work=work, tiling=tiling, tree=tree), time.process_time()
        up = [(forest.grow, level) for level in range(1, tree.height + 1)]
        for task, level in [*up, *((forest.descend, level) for level in range(tree.height - 1, 0, -1))]:
            for g in range(tree.n_groups(level)):
                task(job, g, level)
            most = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9
            used = time.process_time() - began
            print(
                f"{task.__name__} {level}: {tree.n_groups(level)} groups, {most:.3f} GB so far, {used:.1f} s",
                flush=True,
            )


def _write_forest(work, k):
    """Tables of a tile that is one component: a tree that has all pixels of its ring, and all edges to other tiles."""
    core, side = work.tiling.core(k), work.tiling.shape[1]
    ring = np.zeros(core.shape, dtype=bool)
    ring[[0, -1]], ring[:, [0, -1]] = True, True
    row, column = np.nonzero(ring)
    row, column = row + core.top, column + core.left
    position, edges = row * side + column, []
    for step, (down, right) in enumerate(((0, 1), (1, -1), (1, 0), (1, 1))):
        below, beside = row + down, column + right
        exists = (below < side) & (beside >= 0) & (beside < side)
        tail, head = position[exists], (below * side + beside)[exists]
        out = work.tiling.tile_of(head) != k
        edges.append((tail[out], head[out], 4 * tail[out] + step))
    tail, head, key = (np.concatenate(column) for column in zip(*edges))
    at = np.arange(len(position))
    work.write_table("labels", k, ring=position)
    work.write_table(
        "forest", k, open_tail=at[:-1], open_head=at[1:], open_jump=np.zeros(len(at) - 1), open_key=4 * position[:-1] + 3,
        tail=tail, head=head, jump=np.zeros(len(tail)), key=key, steady=np.ones(len(tail), dtype=bool),
    )  # fmt: skip


def table(args):
    """Write the table of growth, from files measured.json, between two marks of a page."""
    rows = []
    for file in args.files:
        known = json.loads(Path(file).read_text(encoding="utf-8"))
        height, width = known["shape"]
        total, peaks = known["processor seconds of all processes"], known["peaks GB"]
        most = max([peak for name, peak in peaks.items() if name != "driver"], default=peaks["driver"])
        rows.append(
            f"| {height}{'²' if height == width else f' × {width}'} | {known['preset']} | {known['workers']} "
            f"| {height * width / 1e6:,.0f} million | {total:,.0f} s | {1e6 * total / height / width:.2f} µs "
            f"| {len(known['rounds'])} | {most:.2f} GB | {peaks['driver']:.2f} GB | {known['mean error']:.2f} "
            f"| {known['components']:,} | {known['scratch bytes per pixel']:.0f} |"
        )
    head = "| map | preset | processes | pixels | processor time | per pixel | rounds | largest memory of a worker "
    head += "| of the driver | mean error | components | bytes of intermediate files a pixel |"
    text = "\n".join([head, "|" + "---|" * 12, *rows])
    page = Path(args.page)
    before, rest = page.read_text(encoding="utf-8").split(_MARKS[0])
    after = rest.split(_MARKS[1])[1]
    page.write_text(f"{before}{_MARKS[0]}\n{text}\n{_MARKS[1]}{after}", encoding="utf-8")


def _workers(parent):
    """Process numbers of the workers of a driver."""
    listed = subprocess.run(["ps", "--ppid", str(parent), "-o", "pid=,args="], capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in listed.splitlines() if "spawn_main" in line]


def _bytes(folder):
    """Checksums of all results by name; the two files that state times are left out."""
    files = [f for f in folder.rglob("*") if f.is_file() and f.name not in ("report.json", "measured.json")]
    return {f.relative_to(folder).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("make")
    one.add_argument("height", type=int)
    one.add_argument("width", type=int)
    one.add_argument("path")
    one.add_argument("--noise", type=float, default=0.002)
    one.add_argument("--mask", action="store_true")
    one.add_argument("--coded", action="store_true", help="store normals as 16-bit numbers")
    one.set_defaults(do=make)
    for name, do in (("run", run), ("whole", whole)):
        one = commands.add_parser(name)
        one.add_argument("path")
        one.add_argument("out")
        one.add_argument("--preset", default="best")
        one.add_argument("--tile", type=int, default=TILE)
        one.add_argument("--workers", type=int, default=1)
        one.add_argument("--filling", default="usual,exact")
        one.add_argument("--resume", action="store_true")
        one.add_argument("--keep", action="store_true")
        one.add_argument("--cluster", action="store_true", help="workers of one thread each, also if there is one")
        one.add_argument("--verbose", action="store_true")
        one.set_defaults(do=do)
    one = commands.add_parser("kills")
    one.add_argument("path")
    one.add_argument("out")
    one.add_argument("--preset", default="best")
    one.add_argument("--tile", type=int, default=TILE)
    one.add_argument("--every", type=float, default=20.0, help="seconds between kills, on average")
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--undisturbed", help="folder of results of an undisturbed run, to compare with")
    one.set_defaults(do=kills)
    one = commands.add_parser("workers")
    one.add_argument("folder", nargs="?", help="where to put the maps; by default where temporary files go")
    one.add_argument("--preset", default="paper")
    one.add_argument("--side", type=int, default=4096)
    one.set_defaults(do=workers)
    one = commands.add_parser("groups")
    one.add_argument("side", type=int)
    one.add_argument("folder", nargs="?", help="where to put the tables; by default where temporary files go")
    one.set_defaults(do=groups)
    one = commands.add_parser("table")
    one.add_argument("page")
    one.add_argument("files", nargs="+")
    one.set_defaults(do=table)
    given = parser.parse_args()
    given.do(given)
