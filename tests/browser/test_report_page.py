"""The report in a real browser, from disk: by mouse and by keyboard, wide and narrow, light and dark.

Needs Debian's chromium and chromium-driver and the group `browser` (selenium, axe-core-python); skipped with a reason
without them. Whatever the browser complains about (errors of the script, refused loads) fails the test.
"""

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
from report_pages import SYSTEMS, Browser
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = chromium.needed


def many(folder: Path, count: int) -> Path:
    """A large report of small captions on a few photos."""
    for number in range(4):
        Image.new("RGB", (160, 120), (40 * number, 90, 120)).save(folder / f"{number}.jpg")
    samples = [
        Sample(f"n{n}", f"a dog number {n} runs" if n % 3 else "a cat", ("a dog runs",), f"{n % 4}.jpg")
        for n in range(count)
    ]
    run = Run(resolve("rouge-l"), Settings(images=folder, cache="off"))
    write_site(of_run({"x": samples}, run, resamples=10), folder / "many")
    return folder / "many"


# --- overview ----------------------------------------------------------------------------------------------------


def test_the_overview_shows_scores_tests_and_findings(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    assert browser.texts("#overview h1") == ["Demo"]
    assert browser.texts("#summary thead th") == ["Metric", *SYSTEMS, "Captions"]
    aspects = browser.texts("#summary tr.aspect th")
    assert [text.split("Is it")[0].split("Does it")[0] for text in aspects] == [
        "Verdict",
        "Fidelity",
        "Adequacy",
        "Fluency",
        "Agreement with references",
    ]
    (chair,) = [row for row in browser.all("#summary tbody tr") if row.text.startswith("chair")]
    assert [cell.text for cell in chair.find_elements(By.CSS_SELECTOR, ".value")] == ["0.000", "0.000", "0.806"]
    (mark,) = chair.find_elements(By.CSS_SELECTOR, ".down")
    assert mark.accessible_name == "significantly worse than careful"
    assert len(browser.all("svg.histogram")) == 9
    (duel, *_) = [row for row in browser.all(".duels tbody tr") if row.text.startswith("chair")]
    assert duel.find_element(By.CSS_SELECTOR, ".duel").get_attribute("aria-label") == "0 wins, 12 ties, 0 losses"
    assert browser.texts(".stat:first-child .mini .name") == ["Verdict", "Fidelity", "Adequacy", "Fluency"]
    words = browser.texts("#overview .ranking .weak")
    assert "dog" in words
    signature = chair.find_element(By.TAG_NAME, "summary")
    signature.click()
    assert "metric:chair|" in chair.find_element(By.TAG_NAME, "code").text


def test_a_finding_leads_to_its_captions(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    link = next(node for node in browser.all("#overview .ranking a") if node.text.startswith("dog"))
    link.click()
    browser.until(lambda: browser.seen("captions"))
    assert browser.hash() == "#captions?weak=dog"
    shown = browser.until(lambda: browser.texts(".entry .text"))
    assert all("dog" in text for text in shown)
    assert browser.text("found") == f"{len(shown)} of 36 captions"
    browser["clear"].click()
    browser.until(lambda: browser.text("found") == "36 of 36 captions")


@pytest.mark.parametrize("address", ["#overview", "#captions", "#captions?as=grid", "#caption?row=2.coffee"])
def test_nothing_unsaid_is_shown(browser: Browser, demo: Path, address: str) -> None:
    """No `null`, `undefined` or `NaN` of the script reaches the screen."""
    browser.open(demo, address)
    if "row" in address:
        for word in browser.all("#candidate .word"):
            word.click()
            assert not {"null", "undefined", "NaN"} & set(browser.text("evidence").split())
    shown = set(browser.run("return document.body.innerText").split())
    assert not {"null", "undefined", "NaN", "[object"} & shown


# --- captions ----------------------------------------------------------------------------------------------------


def test_sort_filter_and_search(browser: Browser, demo: Path) -> None:
    browser.open(demo, "#captions")
    first = browser.texts(".entry .text")[0]
    assert first.startswith("A smiling woman")
    browser.choose("sort", "chair, worst first")
    browser.until(lambda: "sort=chair" in browser.hash())
    browser.until(lambda: browser.texts(".entry .meta .key")[0] == "inventive")
    scores = [float(text) for text in browser.texts(".entry .mini:first-child .value")]
    assert scores == sorted(scores, reverse=True)  # lower is better: the worst is the highest
    assert browser.texts(".entry:first-child .mini .name") == ["chair", "verdict", "fidelity", "adequacy"]
    browser.choose("system-filter", "careful")
    browser.until(lambda: browser.text("found") == "12 of 36 captions")
    browser["search"].send_keys("spoon")
    browser.until(lambda: browser.text("found") == "2 of 36 captions")
    assert browser.focused.get_attribute("id") == "search"  # typing goes on
    kept = browser.driver.current_url
    browser.driver.get("about:blank")
    browser.driver.get(kept)  # the address holds the state
    browser.until(lambda: browser.run("return document.body.dataset.ready"))
    assert browser.text("found") == "2 of 36 captions"
    assert browser["search"].get_attribute("value") == "spoon"
    assert browser["sort"].get_attribute("value") == "chair"
    browser.driver.back()


def test_ranges_problems_and_differences(browser: Browser, demo: Path) -> None:
    browser.open(demo, "#captions")
    browser["more"].find_element(By.TAG_NAME, "summary").click()
    field = browser["from-chair"]
    assert field.accessible_name == "chair at least"
    field.send_keys("0.5", Keys.TAB)
    browser.until(lambda: "range.chair=0.5~" in browser.hash())
    assert browser.text("found") == "12 of 36 captions"
    assert set(browser.texts(".entry .meta .key")) == {"inventive"}
    browser.open(demo, "#captions?problem=1")
    assert browser.text("found") == "12 of 36 captions"
    browser.open(demo, "#captions?system=inventive&sort=gap:0:2:rouge-l")
    ids = browser.texts(".entry .meta span:nth-child(2)")
    rows = browser.run("return vericapReport.rows.scores['rouge-l']")
    order = browser.run("return vericapReport.rows.ids")
    gaps = [rows[24 + order.index(name)] - rows[order.index(name)] for name in ids]
    assert gaps == sorted(gaps, reverse=True)
    browser.open(demo, "#captions?as=grid")
    assert len({round(node.location["x"]) for node in browser.all(".entry")}) > 3
    browser.open(demo, "#captions?q=nothing-has-this")
    assert "No caption fits" in browser.text("viewport")


def test_ten_thousand_captions_stay_smooth(browser: Browser, tmp_path: Path) -> None:
    browser.open(many(tmp_path, 10_000), "#captions?sort=rouge-l")
    assert browser.text("found") == "10000 of 10000 captions"
    assert len(browser.all(".entry")) < 30  # rows that nobody sees do not exist
    spent = browser.driver.execute_async_script(
        """
        const done = arguments[0], view = document.getElementById("viewport"), times = [];
        const next = window.requestAnimationFrame.bind(window);  // the page's own work in a frame, without the painting
        window.requestAnimationFrame = (work) => next((now) => {
          const start = performance.now(); work(now); times.push(performance.now() - start);
        });
        let step = 0;
        const frame = () => {
          step += 1;
          view.scrollTop = step * view.scrollHeight / 60;
          if (step < 62) next(frame); else done(times);
        };
        next(frame);
        """
    )
    assert len(spent) > 30
    assert sorted(spent)[len(spent) // 2] < 16, spent  # a frame of 60 a second; 3 ms where nobody else computes
    assert len(browser.all(".entry")) < 30
    ends = browser.run("return [...document.querySelectorAll('.entry')].map(n => n.getAttribute('aria-posinset'))")
    assert "10000" in ends
    browser.until(lambda: all(node.get_attribute("src") for node in browser.all(".entry img")))


# --- one caption ---------------------------------------------------------------------------------------------------


def test_a_word_shows_its_region_and_who_judged_it(browser: Browser, demo: Path) -> None:
    browser.open(demo, "#captions?q=sleep+together")
    browser.all(".entry a")[0].click()
    browser.until(lambda: browser.seen("caption"))
    words = {node.text: node for node in browser.all("#candidate .word")}
    assert "couch" in [text.split(" (")[0] for text in browser.texts("#candidate .weak")]
    assert browser.all("#frames rect") == []
    ActionChains(browser.driver).move_to_element(words["cat"]).perform()
    (frame,) = browser.until(lambda: browser.all("#frames rect"))
    box = [float(frame.get_attribute(name)) for name in ("x", "y", "width", "height")]
    assert box[2] > 300  # the cat fills the photo
    assert box[3] > 300
    photo, drawn = browser["photo"].rect, frame.rect
    assert photo["x"] - 3 <= drawn["x"]
    assert drawn["x"] + drawn["width"] <= photo["x"] + photo["width"] + 3
    assert "chair1.00image" in "".join(browser.text("evidence").split())
    ActionChains(browser.driver).move_to_element(browser.all("#candidate .word.weak")[-1]).perform()
    browser.until(lambda: "not supported" in browser.text("evidence"))
    assert browser.run("return document.getElementById('photo').naturalWidth") > 300
    style = browser.run(
        "const word = document.querySelector('#candidate .weak');"
        "return [getComputedStyle(word).textDecorationStyle, getComputedStyle(word, '::after').content]"
    )
    assert style == ["wavy", '"✗"']  # a mark, not colour alone


def test_reasons_of_every_kind(browser: Browser, demo: Path) -> None:
    browser.open(demo, "#caption?row=2.coffee")
    titles = browser.texts("#caption .panel h2")
    for wanted in ("Scores", "Word by word", "Transport · vifidel", "Scene graphs · spice", "What was matched · spice"):
        assert wanted in titles
    assert any(title.startswith("Words in a row shared") for title in titles)
    assert "cup → cup" in browser.all("svg.transport")[0].get_attribute("aria-label")
    matched = browser.run("return document.querySelectorAll('svg.graph .node.matched').length")
    alone = browser.run("return document.querySelectorAll('svg.graph .node.alone').length")
    assert matched > 0
    assert alone > 0
    green = browser.texts(".reference-list mark.gone")
    assert "spoon" in green
    assert "cup" not in green  # the caption says it
    for name in ("verdict", "fidelity", "adequacy", "fluency", "chair", "vifidel", "spice", "rouge-l", "bleu-4"):
        (line,) = [node for node in browser.all(".scoreline") if node.text.startswith(name)]
        line.find_element(By.TAG_NAME, "summary").click()
        assert f"metric:{name}|" in line.text
    assert browser.texts("#bars dt") == ["Verdict", "Fidelity", "Adequacy", "Fluency"]
    assert all(0 <= float(text) <= 1 for text in browser.texts("#bars .value"))
    assert "What it says of things · fidelity, adequacy, verdict" in titles
    assert browser.texts(".graded li span:first-child")
    chosen = [node.text for node in browser.all("#judge option")]
    assert "verdict" in chosen
    assert "adequacy" not in chosen  # it says of every word what the verdict says
    assert len(browser.texts("#caption .plain li")) == 2  # the other two systems
    browser.choose("judge", "rouge-l")
    browser.until(lambda: len(browser.all("#candidate .weak")) > 3)


def test_by_keyboard_alone(browser: Browser, demo: Path) -> None:
    browser.open(demo)
    browser.press(Keys.TAB)
    assert browser.focused.text == "Skip to content"
    browser.press(Keys.ENTER)
    assert browser.focused.get_attribute("id") == "main"
    browser.press("/")
    browser.until(lambda: browser.focused.get_attribute("id") == "search")
    browser.press("cat")
    browser.until(lambda: "of 36" in browser.text("found") and browser.text("found") != "36 of 36 captions")
    found = int(browser.text("found").split()[0])
    browser.press(Keys.ESCAPE)
    for _ in range(20):
        browser.press(Keys.TAB)
        if browser.run("return Boolean(document.activeElement.closest('.entry'))"):
            break
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    text = browser.run("return document.activeElement.querySelector('.text').textContent")
    browser.press(Keys.ENTER)
    browser.until(lambda: browser.seen("caption"))
    assert browser.text("place") == f"3 of {found}"
    assert browser.run("return document.getElementById('told').textContent").endswith(text)
    browser.press(Keys.ARROW_RIGHT)
    browser.until(lambda: browser.text("place") == f"4 of {found}")
    browser.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    browser.until(lambda: browser.text("place") == f"2 of {found}")
    for _ in range(20):
        browser.press(Keys.TAB)
        if "word" in (browser.focused.get_attribute("class") or "").split():
            break
    word = browser.focused.text
    assert word in browser.text("evidence")
    browser.press(Keys.ESCAPE)
    browser.until(lambda: browser.seen("captions"))
    browser.until(lambda: browser.run("return Boolean(document.activeElement.closest('.entry'))"))
    place = browser.run("return document.activeElement.closest('.entry').getAttribute('aria-posinset')")
    assert place == "2"  # back where one was
