"""Take the pictures of the report and of the served page that the docs show, with the models that ship now.

    python tools/build_pictures.py [--only report] [--output docs/pictures]

Needs chromium with its driver and the groups `browser` and `serve`. Photos and captions are those of the demo.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "browser"))
sys.path.insert(0, str(TOP))

from PIL import Image  # noqa: E402
from report_pages import Browser  # noqa: E402
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402

from benchmarks.speed.serve_load import serving  # noqa: E402
from vericap.cli import main as vericap  # noqa: E402
from vericap.core.shipped import ROOT  # noqa: E402

WIDTH = 1165
COLOURS = 128  # a screenshot has few; the files stay small
DEMO = ROOT / "demo"


def report(browser: Browser, work: Path, output: Path) -> None:
    """The overview, the captions worst first, and one caption with a word pointed at."""
    systems = [str(DEMO / f"{name}.jsonl") for name in ("careful", "terse", "inventive")]
    inputs = [*systems, "--references", str(DEMO / "references.jsonl"), "--images", str(DEMO / "photos")]
    asked = ["--metrics", "recommended,vifidel", "--title", "Three systems, twelve captions each", "--quiet"]
    vericap(["report", *inputs, *asked, "--output", str(work / "report")])
    views = {"report-overview": ("", 900), "report-captions": ("#captions?sort=verdict", 700)}
    for name, (address, height) in views.items():
        browser.screen(WIDTH, height)
        browser.open(work / "report", address)
        taken(browser, output / f"{name}.png")
    browser.screen(WIDTH, 900)
    browser.open(work / "report", "#caption?row=2.astronaut")
    pointed_at(browser, "astronauts")
    taken(browser, output / "report-caption.png")


def serve(browser: Browser, work: Path, output: Path) -> None:
    """The served page with an example that ships."""
    browser.screen(WIDTH, 1000)
    with serving() as (port, _):
        browser.driver.get(f"http://127.0.0.1:{port}/#check?example=coffee.inventive")
        browser.until(lambda: browser.run("return document.body.dataset.judged"))
        pointed_at(browser, "cup")
        taken(browser, output / "serve.png")


def pointed_at(browser: Browser, word: str) -> None:
    """The pointer on a word of the caption, so that its region is shown."""
    found = browser.until(lambda: [node for node in browser.all("#candidate .word") if node.text.startswith(word)])
    ActionChains(browser.driver).move_to_element(found[0]).perform()


def japanese() -> bool:
    """Whether this machine has a font for the switch to Japanese; empty boxes in its place would puzzle."""
    found = shutil.which("fc-list")
    return bool(found) and bool(subprocess.run([str(found), ":lang=ja"], capture_output=True).stdout)


def taken(browser: Browser, file: Path) -> None:
    """Keep what the browser shows, without scroll bars."""
    browser.driver.execute_cdp_cmd("Emulation.setScrollbarsHidden", {"hidden": True})
    if not japanese():
        browser.run("document.getElementById('language').hidden = true")
    browser.run("return new Promise((done) => setTimeout(done, 300))")  # bars and regions are at rest
    browser.driver.save_screenshot(str(file))
    Image.open(file).convert("RGB").quantize(COLOURS).save(file, optimize=True)
    print(file)


PICTURES: dict[str, Callable[[Browser, Path, Path], None]] = {"report": report, "serve": serve}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=list(PICTURES), help="one page instead of both")
    parser.add_argument("--output", "-o", type=Path, default=TOP / "docs" / "pictures", metavar="DIR")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    for name in [args.only] if args.only else PICTURES:
        with tempfile.TemporaryDirectory() as work:
            browser = Browser(Path(work))
            try:
                PICTURES[name](browser, Path(work), args.output)
            finally:
                browser.driver.quit()
    return 0


if __name__ == "__main__":
    sys.exit(main())
