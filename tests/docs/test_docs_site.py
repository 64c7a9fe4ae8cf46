"""The site builds strictly and offline: no dead link, nothing loaded from elsewhere, every page as Markdown too."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

pytest.importorskip("material", reason="needs the group docs")
pytest.importorskip("griffe", reason="needs the group docs")
TOP = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "tools"))

from docs_site import commands, drawing, examples, figures, links, reference  # noqa: E402

import vericap.compat.coco  # noqa: E402
import vericap.integrations  # noqa: E402
from vericap.cli import COMMANDS, parser_for  # noqa: E402
from vericap.core.explanation import Explanation, MissingContent, Move, WordEvidence  # noqa: E402
from vericap.metrics.registry import METRICS, SETS  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # No network: a proxy that does not exist.
    shut = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    done = subprocess.run(
        [sys.executable, str(TOP / "tools" / "build_site.py"), "--output", str(folder)],
        capture_output=True,
        text=True,
        env={**os.environ, **shut},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_every_page_is_there_as_web_page_and_as_markdown(site: Path) -> None:
    wanted = {"index", "start", "which-metric", "api", "cli", "figures", "contributing", "changelog", "cards/index"}
    wanted |= {f"cards/{name}" for name in METRICS} | {f"cards/set-{name}" for name in SETS}
    wanted |= {file.stem for file in (TOP / "docs").glob("*.md")}
    for name in wanted:
        assert (site / f"{name}.html").is_file(), name
        assert (site / f"{name}.md").read_text("utf-8").startswith("# "), name


@pytest.mark.slow
def test_llms_txt_lists_the_pages(site: Path) -> None:
    text = (site / "llms.txt").read_text("utf-8")
    assert text.startswith("# vericap\n\n> ")
    addresses = re.findall(r"\]\(([^)]+)\)", text)
    assert len(addresses) > 30
    for address in addresses:
        assert (site / address).is_file(), address


@pytest.mark.slow
def test_llms_txt_says_what_metrics_tell_and_shows_no_code(site: Path) -> None:
    lines = (site / "llms.txt").read_text("utf-8").splitlines()
    assert "- [fluency](cards/fluency.md): does it read well? (en)" in lines
    assert not any("```" in line for line in lines)


@pytest.mark.slow
def test_cards_stand_in_the_navigation_and_links_show_titles(site: Path) -> None:
    page = (site / "cards" / "verdict.html").read_text("utf-8")
    assert all(f'href="{name}.html"' in page for name in METRICS if name != "verdict")
    shown = re.findall(r">([\w-]+\.md)</a>", "".join(file.read_text("utf-8") for file in site.glob("*.html")))
    assert shown == []


@pytest.mark.slow
def test_cards_have_a_snippet_what_it_printed_and_a_picture(site: Path) -> None:
    for name in METRICS:
        text = (site / "cards" / f"{name}.md").read_text("utf-8")
        assert "## Try it" in text
        if name not in ("clipscore", "refclipscore"):  # they need a model of the user's own
            assert "```python\nimport vericap" in text
            assert "undefined" not in text.split("## Try it")[1]
            assert (site / "cards" / "pictures" / f"{name}.svg").read_text("utf-8").startswith("<svg")


@pytest.mark.slow
def test_links_are_checked(site: Path) -> None:
    assert links.mistakes(site) == []
    page = site / "start.html"
    before = page.read_text("utf-8")
    more = '<a href="nowhere.html">a</a><a href="cli.html#no-such-place">b</a><script src="https://cdn.example/x.js"></script>'
    try:
        page.write_text(before.replace("</body>", f"{more}</body>"), encoding="utf-8")
        links.read.cache_clear()
        assert links.mistakes(site) == [
            "start.html: loads https://cdn.example/x.js from elsewhere",
            "start.html: dead link nowhere.html",
            "start.html: dead link cli.html#no-such-place: no such place on that page",
        ]
    finally:
        page.write_text(before, encoding="utf-8")
        links.read.cache_clear()


def test_the_command_line_page_names_every_option() -> None:
    text = commands.page()
    for name in COMMANDS:
        assert f"## vericap {name}\n" in text
        part = text.split(f"## vericap {name}\n")[1].split("\n## ")[0]
        for action in parser_for(name)._actions:
            if action.help is not argparse.SUPPRESS and action.dest != "help":
                assert all(option in part for option in action.option_strings), (name, action.dest)


def test_the_python_page_names_every_public_name_and_parameter() -> None:
    text = reference.page()
    for name in vericap.__all__:
        assert f"## vericap.{name}\n" in text
    part = text.split("## vericap.score\n")[1].split("\n## ")[0]
    assert "    metrics: str | Iterable[Wanted] = 'coco'," in part
    assert "- `candidates`, `references` *list, dict, table or path*: Lists of the same length;" in part
    assert "```pycon\n>>> import vericap" in part
    for name in (*vericap.integrations.__all__, *vericap.compat.coco.__all__, "vericap.testing.check_metric"):
        assert f"### {name}\n" in text


def test_figures_are_traced_to_commands() -> None:
    told = figures.commands(
        "By `python -m benchmarks.speed.startup --runs 3`.\n\n    vericap meta all --page x.md   # slow\n"
    )
    assert told == ["python -m benchmarks.speed.startup --runs 3", "vericap meta all --page x.md"]
    assert figures.scripts(told[0]) == "benchmarks/speed/startup.py"
    for page in (TOP / "docs").glob("*.md"):
        for command in figures.commands(page.read_text("utf-8")):
            script = figures.scripts(command)
            assert not script or (TOP / script).exists(), (page.name, command)


def test_a_picture_holds_everything_and_markup_is_text() -> None:
    caption = "a <b>cat</b> sits"
    reason = Explanation(
        "x",
        words=(WordEvidence("sits", 13, 17, 0.0, "image", (0.1, 0.1, 0.5, 0.5)),),
        missing=(MissingContent("<script>"),),
        transport=(Move("cat", "sits", 0.5, 0.2),),
    )
    drawn = drawing.picture([caption], [0.5], [reason], span=(0, 1), photo=examples.ROOT / "demo/photos/chelsea.jpg")
    assert "<b>" not in drawn
    assert "<script>" not in drawn
    assert "&lt;b&gt;cat&lt;/b&gt;" in drawn
    assert 'href="data:image/jpeg;base64,' in drawn
    assert "left out: &lt;script&gt;" in drawn
    assert "<line" in drawn


def test_labels_of_regions_do_not_cover_each_other() -> None:
    words = [WordEvidence(f"word{n}", 0, 1, 1.0, "image", (0.01 * n, 0.01 * n, 0.9, 0.9)) for n in range(4)]
    reason = Explanation("x", words=tuple(words))
    parts, _ = drawing._photo(examples.ROOT / "demo/photos/chelsea.jpg", reason)
    heights = [float(found) for found in re.findall(r'<text x="\d+" y="(\d+)"', "".join(parts))]
    assert len(heights) == 4
    assert min(after - before for before, after in pairwise(heights)) >= 12


@pytest.fixture
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    handler = partial(SilentHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class SilentHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.slow
def test_a_browser_asks_nobody_else_and_searches(served: str, tmp_path: Path) -> None:
    pytest.importorskip("selenium", reason="needs the group browser")
    sys.path.insert(0, str(TOP / "tests" / "browser"))
    import chromium

    if not (chromium.CHROMIUM and chromium.DRIVER):
        pytest.skip("no chromium with chromedriver")
    browser = chromium.Browser(tmp_path)
    try:
        for page in ("index", "start", "api", "cards/chair", "human-agreement"):
            browser.driver.get(f"{served}/{page}.html")
            asked = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)")
            assert asked
            assert [address for address in asked if not address.startswith((served, "data:", "blob:"))] == []
            assert browser.run("return Array.from(document.images).every(one => one.complete && one.naturalWidth > 0)")
        box = browser.driver.find_element("css selector", ".md-search__input")
        browser.run("arguments[0].focus()", box)
        box.send_keys("hallucination")
        for _ in range(100):
            results = browser.driver.find_elements("css selector", ".md-search-result__item")
            if results:
                break
            time.sleep(0.1)
        assert results
        assert [text for text in browser.complaints() if "favicon" not in text] == []
    finally:
        browser.driver.quit()
