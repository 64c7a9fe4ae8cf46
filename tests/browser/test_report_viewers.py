"""The report for whoever looks: screen readers, narrow screens, Japanese, moved folders, printers, bad captions."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve
from vericap.report.site import of_run, write_site
from vericap.run.engine import Run

pytest.importorskip("selenium", reason="selenium is not installed (pip install 'vericap[browser]')")

import chromium
from report_pages import Browser
from selenium.webdriver.common.by import By

pytestmark = chromium.needed

BAD = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 2">'


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#overview", "#captions?weak=*", "#captions?as=grid", "#caption?row=2.chelsea"])
def test_no_fault_for_axe(browser: Browser, demo: Path, address: str, scheme: str) -> None:
    package = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed (vericap[browser])")
    script = (Path(package.__file__).parent / "axe.min.js").read_text("utf-8")
    browser.screen(1280, 900, scheme)
    browser.open(demo, address)
    browser.driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})  # the page's policy allows no script
    found = browser.driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {preload: false}).then(r => done(r.violations.map("
        "v => `${v.impact} ${v.id}: ${v.nodes.map(n => n.html.slice(0, 120)).join(' | ').slice(0, 400)}`)))"
    )
    assert found == []


@pytest.mark.parametrize("width", [320, 390, 768])
def test_no_width_needs_sideways_scrolling(browser: Browser, demo: Path, width: int) -> None:
    browser.screen(width, 800)
    for address in ("#overview", "#captions?weak=*", "#caption?row=2.coffee"):
        browser.open(demo, address)
        assert browser.run("return document.documentElement.scrollWidth") <= width, address
    entry = browser.all("#candidate .word")[1]
    entry.click()
    assert entry.text in browser.text("evidence")


def test_japanese(browser: Browser, tmp_path: Path) -> None:
    samples = [
        Sample("犬", "犬が芝生を走る。", ("犬が走っている。",)),
        Sample("猫", "猫が眠る。", ("犬が走っている。",)),
    ]
    run = Run(resolve("bleu-1,rouge-l"), Settings(lang="ja", tokenizer="char", cache="off"))
    write_site(of_run({"私の": samples}, run, resamples=10), tmp_path / "r")
    browser.open(tmp_path / "r", "#caption?row=0.猫")
    assert browser.run("return document.getElementById('candidate').textContent").startswith("猫")
    assert browser["candidate"].get_attribute("lang") == "ja"
    browser["language"].click()
    browser.until(lambda: browser.run("return document.documentElement.lang") == "ja")
    assert browser.text("to-overview") == "概要"
    browser["to-overview"].click()
    browser.until(lambda: browser.seen("overview"))
    assert "スコア" in browser.texts("#overview h2")
    browser.driver.refresh()
    browser.until(lambda: browser.run("return document.body.dataset.ready"))
    assert browser.text("to-captions") == "キャプション"  # the choice is kept


def test_captions_are_text(browser: Browser, tmp_path: Path) -> None:
    samples = [Sample(f"{BAD}{n}", f"{BAD} 🐕 dog {n}", (BAD, "a 🐕 dog"), "x.jpg") for n in range(3)]
    other = [Sample(sample.id, "a cat", sample.references) for sample in samples]
    run = Run(resolve("rouge-l,meteor,spice"), Settings(cache="off"))
    write_site(of_run({BAD: samples, "b": other}, run), tmp_path / "r", title=BAD)
    browser.open(tmp_path / "r")
    for address in ("#overview", "#captions", "#captions?as=grid", "#captions?weak=*"):
        browser.open(tmp_path / "r", address)
    browser.all(".entry a")[0].click()
    browser.until(lambda: browser.seen("caption"))
    assert browser.run("return window.hit") is None
    assert browser.run("return document.querySelectorAll('main script, main img[src=x]').length") == 0
    weak = [text.split(" (")[0] for text in browser.texts("#candidate .word")]
    assert "dog" in weak  # places count letters, not halves of them
    browser.run("const s = document.createElement('script'); s.textContent = 'window.hit = 4'; document.body.append(s)")
    browser.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert browser.run("return window.hit") is None
    refused = browser.complaints()
    assert len(refused) == 2
    assert all("Content Security Policy" in text for text in refused)


def test_a_moved_report_still_shows_thumbnails(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (600, 400), "green").save(tmp_path / "photos" / "x.jpg")
    run = Run(resolve("rouge-l"), Settings(images=tmp_path / "photos", cache="off"))
    write_site(of_run({"x": [Sample("1", "a dog", ("a dog",), "x.jpg")]}, run, resamples=10), tmp_path / "r")
    browser.open(tmp_path / "r", "#caption?row=0.1")
    width = "return document.getElementById('photo').naturalWidth"
    browser.until(lambda: browser.run(width) == 600)
    (tmp_path / "photos" / "x.jpg").unlink()
    browser.open(tmp_path / "r", "#caption?row=0.1")
    browser.until(lambda: browser.run(width) == 128)
    assert "thumbnail" in browser.driver.find_element(By.CSS_SELECTOR, ".photo").text
    assert all("ERR_FILE_NOT_FOUND" in text for text in browser.complaints())
    (tmp_path / "r" / "data" / "rows.js").unlink()
    browser.driver.refresh()
    browser.until(lambda: browser.seen("notice"))
    assert "Was the whole folder copied?" in browser.text("notice")
    browser.complaints()


def test_it_prints(browser: Browser, demo: Path) -> None:
    browser.open(demo, "#caption?row=2.coffee")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(printed) > 20_000
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert not browser["top"].is_displayed()
    assert browser["candidate"].is_displayed()
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
