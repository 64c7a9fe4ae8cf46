"""The served page in a browser: from a photo to reasons, examples, uploads, scores from disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from vericap import cli
from vericap.core.shipped import ROOT

pytest.importorskip("selenium", reason="selenium is not installed (pip install 'vericap[browser]')")
pytest.importorskip("fastapi", reason="fastapi is not installed (pip install 'vericap[serve]')")

import chromium
import report_pages
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

pytestmark = chromium.needed

PHOTOS = ROOT / "demo" / "photos"
CAPTION = "A cup of coffee next to a laptop."
BAD = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 2">'
DROP = """
const [kind, data] = arguments;
const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
const moved = new DataTransfer();
moved.items.add(new File([bytes], "dropped.jpg", { type: "image/jpeg" }));
document.dispatchEvent(kind === "drop" ? new DragEvent("drop", { dataTransfer: moved, cancelable: true })
  : new ClipboardEvent("paste", { clipboardData: moved, cancelable: true }));
"""


class Page(report_pages.Browser):
    """A browser that knows the served page."""

    address = ""

    def visit(self, place: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get(self.address + place)
        self.until(lambda: self.run("return document.body.dataset.ready"))

    def judged(self) -> int:
        return int(self.run("return Number(document.body.dataset.judged || 0)"))

    def after(self, act: object, *given: object) -> None:
        """Do something and wait for the next result; networks may be slow where others use the machine."""
        before, end = self.judged(), time.monotonic() + 60
        act(*given)  # type: ignore[operator]
        while self.judged() == before:
            assert time.monotonic() < end, self.text("notice") or "no result came"
            time.sleep(0.05)

    def press(self, *keys: str) -> None:
        """Keys wherever the focus is; an input of files would take a key that is sent to it for a path."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def weak(self) -> list[str]:
        return [text.split(" (")[0] for text in self.texts("#candidate .word.weak")]


def started(*words: str) -> tuple[subprocess.Popen[str], str]:
    """`vericap serve` in another process, ready to answer; the address it prints."""
    command = [sys.executable, "-m", "vericap", "serve", "--port", "0", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert process.stdout is not None
    address = process.stdout.readline().split()[1]
    health = f"{address.partition('?')[0]}health"  # a token may follow
    end = time.monotonic() + 240
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(health) as answer:
                if json.load(answer)["status"] == "ok":
                    return process, address
        except urllib.error.HTTPError:
            break  # its networks cannot be opened
        except OSError:
            pass
        time.sleep(0.2)
    process.kill()
    raise AssertionError("the server did not become ready")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that shows scores too; Ctrl-C ends it."""
    folder = tmp_path_factory.mktemp("served")
    words = ["--references", str(ROOT / "demo" / "references.jsonl"), "--images", str(PHOTOS), "--quiet"]
    words += ["--metrics", "rouge-l,spice", "--explain", "--columns", "all", "--output", str(folder / "scores.parquet")]
    assert cli.main(["score", str(ROOT / "demo" / "inventive.jsonl"), *words]) == 0
    process, address = started(str(folder / "scores.parquet"), "--images", str(PHOTOS))
    yield address
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (0, 130)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, served: str) -> Iterator[Page]:
    found = Page(tmp_path_factory.mktemp("browser"), **{"intl.accept_languages": "en"})
    found.address = served
    yield found
    found.driver.quit()


@pytest.fixture
def page(shared: Page) -> Iterator[Page]:
    shared.screen(1280, 900)
    yield shared
    complaints = shared.complaints()
    if shared.driver.current_url.startswith("http"):
        shared.run("localStorage.clear()")
    shared.driver.get("about:blank")
    assert not complaints


def test_from_a_photo_to_reasons(page: Page) -> None:
    page.visit("#check")
    assert "Results appear here" in page.text("result")
    page["photo-file"].send_keys(str(PHOTOS / "coffee.jpg"))
    page.until(lambda: page.all("#drop-shown img"))
    page.after(page["caption-text"].send_keys, CAPTION)
    page.until(lambda: page.weak() == ["laptop"])
    assert page.run("return document.getElementById('photo').naturalWidth") > 100
    cup = next(word for word in page.all("#candidate .word") if word.text == "cup")
    ActionChains(page.driver).move_to_element(cup).perform()
    page.until(lambda: page.all("#frames .region"))
    assert "cup" in page.text("evidence")
    assert "chair" in page.text("evidence")
    page["caption-text"].clear()
    page.after(page["caption-text"].send_keys, "A cup of coffee on a saucer.")
    page.until(lambda: page.weak() == [])
    page.after(page["references-text"].send_keys, "A red cup of espresso with a spoon.")
    assert "spoon" in page.texts("#gone-title ~ .chips .gone")
    assert "Judged in" in page.text("status")
    page.after(page["photo-remove"].click)
    assert not page.all("#photo")


def test_pasted_and_dropped_photos(page: Page) -> None:
    import base64

    page.visit("#check")
    page["caption-text"].send_keys("a cat")
    page.until(lambda: page.judged())
    for kind, name in (("drop", "coffee.jpg"), ("paste", "chelsea.jpg")):
        page.after(page.run, DROP, kind, base64.b64encode((PHOTOS / name).read_bytes()).decode())
        expected = ["cat"] if name == "coffee.jpg" else []
        page.until(lambda expected=expected: page.weak() == expected)


def test_what_is_no_photo_is_told(page: Page, tmp_path: Path) -> None:
    (tmp_path / "no.png").write_text("no image")
    page.visit("#check")
    page["photo-file"].send_keys(str(tmp_path / "no.png"))
    page.until(lambda: page.seen("notice"))
    assert "no image" in page.text("notice")


def test_a_refusal_is_told_and_forgotten(page: Page) -> None:
    page.visit("#check")
    page.run("document.getElementById('caption-text').value = 'word '.repeat(400)")
    page["caption-text"].send_keys("x")
    page.until(lambda: page.seen("notice"))
    assert "at most 150" in page.text("notice")
    page["caption-text"].clear()
    page.after(page["caption-text"].send_keys, "a dog runs")
    assert not page.seen("notice")
    assert any("422" in text for text in page.complaints())  # the browser's own line about the answer


def test_examples(page: Page) -> None:
    page.visit("#examples")
    assert len(page.all(".examples > li")) == 6
    assert page.run("return [...document.images].every((image) => image.loading === 'lazy' || image.complete)")
    link = next(node for node in page.all(".examples a") if "slice of cake" in node.text)
    page.after(link.click)
    assert "laptop" in page.weak()
    assert page.run("return document.getElementById('references-text').value").count("\n") == 4


def test_further_metrics(page: Page) -> None:
    page.visit("#check")
    page.after(page["caption-text"].send_keys, "a dog runs")
    page.all("#chooser summary")[0].click()
    assert not page["metric-sentence"].is_enabled()
    page.after(page["references-text"].send_keys, "a dog is running")
    assert page["metric-sentence"].is_enabled()
    page.after(page["metric-sentence"].click)
    assert "sentence" in page.texts(".scoreline .name")


def test_keyboard_alone(page: Page) -> None:
    page.visit("#check")
    page["to-check"].send_keys("")  # focus begins in the head of the page
    seen = []
    for _ in range(16):
        page.press(Keys.TAB)
        seen.append(page.focused.get_attribute("id"))
        if seen[-1] == "caption-text":
            page.after(page.press, *"a dog")
    assert {"photo-file", "caption-text", "references-text"} <= set(seen)
    for _ in range(20):
        if "word" in (page.focused.get_attribute("class") or ""):
            break
        page.press(Keys.TAB)
    assert page.focused.text in ("a", "dog")


def test_captions_are_text(page: Page) -> None:
    page.visit("#check")
    page["references-text"].send_keys(BAD)
    page.after(page["caption-text"].send_keys, BAD + " dog")
    assert page.run("return window.hit") is None
    assert page.run("return document.querySelectorAll('main script, main img[src=x]').length") == 0
    page.run("const s = document.createElement('script'); s.textContent = 'window.hit = 4'; document.body.append(s)")
    assert page.run("return window.hit") is None
    assert all("Content Security Policy" in text for text in page.complaints())


def test_many_captions(page: Page, tmp_path: Path) -> None:
    lines = [
        {"id": str(n), "candidate": f"a cup number {n}", "references": ["a cup of coffee"], "image": "coffee.jpg"}
        for n in range(20)
    ]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    page.visit("#batch")
    page["batch-send"].click()
    assert "Choose a file" in page.text("notice")
    page["batch-file"].send_keys(str(tmp_path / "mine.jsonl"))
    page["batch-photos"].send_keys(str(PHOTOS / "coffee.jpg"))
    page["batch-metrics"].send_keys("rouge-l,chair")
    page["batch-send"].click()
    page.until(lambda: page.all("#batch-scores tbody tr"))
    assert page.texts("#batch-scores tbody th") == ["rouge-l", "chairlower is better"]
    assert page["batch-progress"].get_attribute("value") == "20"
    page["download-jsonl"].click()
    rows = [json.loads(line) for line in page.saved("scores.jsonl").read_text("utf-8").splitlines()]
    assert [row["id"] for row in rows] == [str(n) for n in range(20)]


def test_scores_from_disk(page: Page) -> None:
    page.visit("#scores")
    assert page.text("score-found") == "12 of 12 captions"
    page.choose("score-sort", "rouge-l, worst first")
    page.until(lambda: "sort=rouge-l" in page.hash())
    values = page.until(lambda: [float(text) for text in page.texts(".score-list .minis .mini:first-child .value")])
    assert values == sorted(values)
    page["score-search"].send_keys("laptop")
    page.until(lambda: page.text("score-found") == "1 of 12 captions")
    page.all(".score-list a")[0].click()
    page.until(lambda: page.seen("score") and page.weak())
    assert "laptop" in page.weak()
    page.until(lambda: page.run("return document.getElementById('photo').naturalWidth") > 100)
    page["back"].click()
    page.until(lambda: page.text("score-found") == "1 of 12 captions")


def test_japanese(page: Page) -> None:
    page.visit("#check")
    page["language"].click()
    page.until(lambda: page.run("return document.documentElement.lang") == "ja")
    assert page.text("to-examples") == "例"
    page["caption-text"].send_keys("犬が芝生を走る。")
    page.until(lambda: "No metric fits" in page.text("result"))  # a hint, no error: references may follow
    page.after(page["references-text"].send_keys, "犬が走っている。")
    page.until(lambda: "cider-d" in page.texts(".scoreline .name"))
    assert page["candidate"].get_attribute("lang") == "ja"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("place", ["#check", "#check?example=coffee.inventive", "#examples", "#batch", "#scores"])
def test_no_fault_for_axe(page: Page, place: str, scheme: str) -> None:
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed (vericap[browser])")
    script = (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")
    page.screen(1280, 900, scheme)
    page.visit(place)
    if "example=" in place:
        page.until(page.judged)
        page.all("#chooser summary")[0].click()
    page.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})  # the page's policy allows no script
    found = page.driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {preload: false}).then(r => done(r.violations.map("
        "v => `${v.impact} ${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ').slice(0, 400)}`)))"
    )
    assert found == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_width_needs_sideways_scrolling(page: Page, width: int) -> None:
    page.screen(width, 800)
    for place in ("#check?example=coffee.inventive", "#examples", "#batch", "#scores"):
        page.visit(place)
        if "example=" in place:
            page.until(page.judged)
        assert page.run("return document.documentElement.scrollWidth") <= width, place


def test_a_report_with_a_token(page: Page, tmp_path: Path) -> None:
    report = report_pages.demo_report(tmp_path)
    token = "a-token-for-the-test"
    process, address = started(str(report), "--token", token)
    try:
        page.driver.get(address)  # the printed address holds the token, which goes into a cookie
        page.until(lambda: page.run("return document.body.dataset.ready"))
        assert token not in page.driver.current_url
        page["to-report"].click()
        page.until(lambda: page.run("return document.body.dataset.view") == "overview")
        page.until(lambda: page.all("#summary"))
        page.driver.get(page.driver.current_url.split("#")[0] + "#caption?row=2.chelsea")
        page.until(lambda: page.run("const p = document.getElementById('photo'); return p && p.naturalWidth > 100"))
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
