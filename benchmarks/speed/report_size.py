"""Size, time to build, time to first view and frame times of reports.

    python -m benchmarks.speed.report_size coco flickr8k [--save]

coco: 5,000 captions of each of four systems, text metrics; flickr8k: 1,000 test photos, one human caption each against
the other four, the set `recommended`.
Needs the data folder (VERICAP_DATA); the browser's figures need chromium and the group `browser`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.library.data import ROOT, data_folder
from benchmarks.library.results import add_save, tell
from vericap.core.table import Number, Table

SYSTEMS = ("blip2", "llava15_brief", "llava15_default", "m2_transformer")
TEXT, IMAGE = "bleu-4,rouge-l,meteor,cider-d", "recommended"
COLUMNS = (
    "", "captions", "MB", "kB each", "scored and written s", "of processor s", "first view s", "all s",
    "a frame while scrolling ms", "the script's part of it ms",
)  # fmt: skip
TITLES = {
    "coco": f"COCO Karpathy test, four systems, {TEXT.replace(',', ', ')}",
    "flickr8k": f"Flickr8k test, the set {IMAGE}, thumbnails",
}


def flickr8k(folder: Path) -> list[str]:
    """The first caption of each test photo as candidate, the other four as references."""
    own = data_folder() / "flickr8k"
    wanted = (own / "Flickr_8k.testImages.txt").read_text().split()
    captions: dict[str, list[str]] = {name: [] for name in wanted}
    for line in (own / "Flickr8k.token.txt").read_text("utf-8").splitlines():
        key, text = line.split("\t")
        if key.split("#")[0] in captions:
            captions[key.split("#")[0]].append(text)
    file = folder / "flickr8k.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        for name, (first, *rest) in captions.items():
            print(json.dumps({"id": name, "image": name, "candidate": first, "references": rest}), file=stream)
    return [str(file), "--images", str(own / "Images"), "--metrics", IMAGE]


def coco(folder: Path) -> list[str]:
    """Four systems on the Karpathy test part."""
    files = [f"{name}={data_folder() / 'coco' / f'karpathy_test_{name}.json'}" for name in SYSTEMS]
    return [*files, "--references", str(data_folder() / "coco" / "karpathy_test_references.json"), "--metrics", TEXT]


def looked_at(page: Path, work: Path) -> tuple[int, list[str | Number]]:
    """Captions, and what a browser needs to show them: seconds to the scores and to all, milliseconds of a frame."""
    sys.path.insert(0, str(ROOT / "tests" / "browser"))
    import chromium

    browser = chromium.Browser(work)
    browser.driver.set_script_timeout(300)  # a busy machine paints slowly
    try:
        start = time.perf_counter()
        browser.driver.get(page.as_uri())
        first = 0.0
        while not browser.run("return document.body.dataset.ready"):
            if not first and browser.run("return Boolean(document.getElementById('summary'))"):
                first = time.perf_counter() - start
            time.sleep(0.005)
        whole = time.perf_counter() - start
        browser.driver.get(page.as_uri() + "#captions?sort=cider-d")
        time.sleep(2)
        frames, own = (sorted(times) for times in browser.driver.execute_async_script(SCROLL))
        rows = browser.run("return vericapReport.rows.count")
        shown = [times[int(len(times) * share)] for times in (frames, own) for share in (0.5, 0.95)]
        views = [Number(first or whole, digits=1), Number(whole, digits=1)]
        return int(rows), [*views, *(f"{half:.1f} (95 %: {most:.1f})" for half, most in (shown[:2], shown[2:]))]
    finally:
        browser.driver.quit()


SCROLL = """
const done = arguments[0], view = document.getElementById("viewport"), times = [], own = [];
const next = window.requestAnimationFrame.bind(window);
window.requestAnimationFrame = (work) => next((now) => {
  const start = performance.now(); work(now); own.push(performance.now() - start);
});
let last = performance.now(), step = 0;
const frame = (now) => {
  times.push(now - last); last = now; step += 1;
  view.scrollTop = step * view.scrollHeight / 300;
  if (step < 300) next(frame); else done([times.slice(2), own]);
};
next(frame);
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", choices=list(TITLES))
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the reports into this folder and keep them")
    add_save(parser)
    args = parser.parse_args()
    from vericap.cli import main as vericap

    table = Table(COLUMNS)
    for what in args.what:
        with tempfile.TemporaryDirectory() as work:
            words = {"coco": coco, "flickr8k": flickr8k}[what](Path(work))
            folder = (args.keep or Path(work)) / f"report-{what}"
            wall, own = time.perf_counter(), time.process_time()
            vericap(["report", *words, "--output", str(folder), "--quiet"])
            spent = [Number(time.perf_counter() - wall, digits=0), Number(time.process_time() - own, digits=0)]
            size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
            captions, seen = looked_at(folder / "index.html", Path(work))
            sizes = [Number(size / 1e6, digits=1), Number(size / 1e3 / captions, digits=1)]
            table.add(TITLES[what], captions, *sizes, *spent, *seen)
    tell("benchmarks.speed.report_size", {"reports": table}, save=args.save)


if __name__ == "__main__":
    main()
