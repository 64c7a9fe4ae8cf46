"""The rating page in a real browser, from disk: by keyboard and by mouse, to files that `meta` reads.

Needs Debian's chromium and chromium-driver and the group `browser` (selenium); skipped with a reason without them.
Whatever the browser complains about (errors of the script, refused loads) fails the test.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vericap.core import shipped
from vericap.core.samples import Sample
from vericap.io import load
from vericap.meta.datasets.campaign import read
from vericap.meta.evaluation import evaluate
from vericap.report.annotation import write_campaign

pytest.importorskip("selenium", reason="selenium is not installed (pip install 'vericap[browser]')")

import chromium
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

pytestmark = chromium.needed

DEMO = shipped.ROOT / "demo"
QUESTIONS = ("fidelity", "adequacy", "fluency")


class Browser(chromium.Browser):
    """A browser that knows the rating page."""

    def open(self, campaign: Path, rater: str = "") -> None:
        self.driver.get((campaign / "index.html").as_uri())
        if rater:
            self["rater"].send_keys(rater, Keys.ENTER)

    def chosen(self) -> list[int | None]:
        """The answers on the screen, in the order of the questions."""
        script = (
            "return arguments[0].map(q => { const r = document.querySelector(`input[name=${q}]:checked`);"
            " return r && Number(r.value); })"
        )
        return list(self.driver.execute_script(script, list(QUESTIONS)))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.driver.quit()


@pytest.fixture
def browser(shared: Browser) -> Iterator[Browser]:
    shutil.rmtree(shared.downloads, ignore_errors=True)
    shared.driver.set_window_size(1280, 900)
    yield shared
    complaints = shared.complaints()
    if not shared.driver.current_url.startswith("data:"):
        shared.run("localStorage.clear()")
    shared.driver.get("about:blank")
    assert not complaints


def demo(folder: Path, **options: Any) -> Path:
    """Captions of three systems on bundled photos, with references."""
    systems = {
        name: load(DEMO / f"{name}.jsonl", [DEMO / "references.jsonl"]).samples
        for name in ("careful", "terse", "inventive")
    }
    write_campaign(systems, folder / "campaign", images=DEMO / "photos", **options)
    return folder / "campaign"


def small(folder: Path, *texts: str, **options: Any) -> Path:
    samples = [Sample(str(number), text, (), "chelsea.jpg") for number, text in enumerate(texts or ("a", "b", "c"))]
    write_campaign({"mine": samples}, folder / "campaign", images=DEMO / "photos", **options)
    return folder / "campaign"


def test_from_start_to_a_file_that_meta_reads(browser: Browser, tmp_path: Path) -> None:
    """Two raters, one by keyboard alone and one by mouse; what they chose is what `meta` gets."""
    campaign = demo(tmp_path, captions=9, repeats=1, seed=5)
    captions = json.loads((campaign / "campaign.json").read_text())["captions"]
    system = {one["candidate"]: one["system"] for one in captions}
    wanted: dict[str, dict[str, tuple[int, ...]]] = {"ana": {}, "ben": {}}

    browser.open(campaign, "ana")
    skipped = ""
    for place in range(10):
        assert browser.text("place") == f"Caption {place + 1} of 10"
        text = browser.text("caption")
        if place == 4:
            skipped = text
            browser.press("s")
            continue
        best = {"careful": 5, "terse": 4, "inventive": 1}[system[text]]
        answers = (best, max(1, best - 1), 3 + place % 3)
        wanted["ana"].setdefault(text, answers)  # the first time counts, not the repeat
        browser.press(*map(str, answers))
        assert browser.chosen() == list(answers)
        if place == 0:
            browser.press("c", "The spoon, 'é' & <b>.", Keys.ESCAPE)
        browser.press(Keys.ENTER)
    assert browser.text("summary") == "You rated 9 captions and skipped 1. Nothing is open."
    browser["save-end"].click()
    ana = browser.saved("ratings-ana.json")
    browser["save-lines"].click()
    lines = browser.saved("ratings-ana.jsonl")

    browser["leave"].click()
    browser["rater"].clear()
    browser["rater"].send_keys("  ben  van   Dyke ")
    browser["enter"].find_element(By.TAG_NAME, "button").click()
    for place in range(10):
        text = browser.text("caption")
        answers = (1 + place % 5, 5 - place % 5, 3)
        wanted["ben"].setdefault(text, answers)
        for question, answer in zip(QUESTIONS, answers):
            browser.driver.find_element(By.CSS_SELECTOR, f"input[name={question}][value='{answer}']").click()
        browser["next"].click()
    browser["save"].click()
    ben = browser.saved("ratings-ben-van-Dyke.json")

    document = json.loads(ana.read_text())
    assert document["rater"] == "ana"
    first = document["answers"][0]
    assert first["comment"] == "The spoon, 'é' & <b>."
    assert set(first) == {"id", "caption", "repeat", "skipped", "comment", "question", "rating", "seconds"}
    assert 0 < first["seconds"] < 60
    assert sum(answer["repeat"] for answer in document["answers"]) in (1, 3)  # 1: the skipped one was the repeat
    records = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [{key: record[key] for key in first} for record in records] == document["answers"]
    assert {record["campaign"] for record in records} == {document["campaign"]}

    for path in (ana, ben):
        shutil.move(path, campaign / path.name)
    found = read(campaign)
    assert not found.problems
    assert found.raters is not None
    assert {name for row in found.raters for name in row} - {""} == {"ana", "ben van Dyke"}
    for row, text in enumerate(found.candidates):
        given = [wanted["ana"].get(text, (np.nan,) * 3), wanted["ben"][text]]
        for place, question in enumerate(QUESTIONS):
            np.testing.assert_array_equal(found.aspect(question)[row], [answers[place] for answers in given], text)
    assert (skipped not in wanted["ana"]) == np.isnan(found.ratings[:, 0]).any()
    assert found.seconds is not None
    assert (found.seconds[~np.isnan(found.ratings)] > 0).all()
    table = evaluate(found, "rouge-l,chair", resamples=50)
    assert [line.metric for line in table.lines if line.value is not None]
    assert not [line.reason for line in table.lines if line.reason]


def test_the_state_survives_a_reload(browser: Browser, tmp_path: Path) -> None:
    campaign = small(tmp_path)
    browser.open(campaign, "ana")
    first = browser.text("caption")
    browser.press("5", "4", "3", Keys.ENTER, "2")
    browser["comment"].send_keys("half done")
    browser.driver.refresh()
    assert browser.text("place") == "Caption 2 of 3"
    assert browser.text("done") == "1 of 3 done"
    assert browser.chosen() == [2, None, None]
    assert browser["comment"].get_attribute("value") == "half done"
    browser.press("u")  # history is kept as well
    assert browser.chosen() == [None, None, None]
    browser.press("u")
    assert browser.text("caption") == first
    assert browser.chosen() == [5, 4, None]
    browser["leave"].click()
    browser.driver.refresh()
    assert browser.seen("start")
    assert browser.text("resumable") == "Begun on this computer: ana (0 of 3 done). The same name goes on there."
    browser["rater"].send_keys("ana", Keys.ENTER)
    assert browser.chosen() == [5, 4, None]


def test_keys(browser: Browser, tmp_path: Path) -> None:
    browser.open(small(tmp_path), "ana")
    browser.press(Keys.ENTER)
    assert browser.text("place") == "Caption 1 of 3"
    assert browser.text("open") == "3 questions still open: answer, or skip the caption."
    browser.press(Keys.ARROW_DOWN, "4")  # the second question; then the first one is open again
    assert browser.chosen() == [None, 4, None]
    browser.press("2", "7", "0", "x", "5")
    assert browser.chosen() == [2, 4, 5]
    assert browser.driver.switch_to.active_element.get_attribute("id") == "next"
    browser.press(Keys.ARROW_RIGHT)
    assert browser.text("place") == "Caption 2 of 3"
    browser.press("s")
    assert browser.text("place") == "Caption 3 of 3"
    assert browser.text("done") == "2 of 3 done"
    browser.press(Keys.ARROW_LEFT)
    assert browser.text("skip") == "Skipped"
    browser.press("s")
    assert browser.text("skip") == "Skip"
    assert browser.text("done") == "1 of 3 done"
    browser.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert browser.text("summary") == "You rated 1 caption. 2 captions are still open."
    browser["first-open"].click()
    assert browser.text("place") == "Caption 2 of 3"
    # Inside a group of answers the arrow keys choose among them, as everywhere.
    radio = browser.driver.find_element(By.CSS_SELECTOR, "input[name=adequacy][value='1']")
    radio.send_keys(Keys.SPACE, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert browser.chosen() == [None, 3, None]
    browser.press("4")  # a digit answers the question that has the focus, and goes on to the first open one
    assert browser.chosen() == [None, 4, None]
    assert browser.driver.switch_to.active_element.get_attribute("id") == "question-fidelity"
    browser["comment"].send_keys("a 5 s u c")
    assert browser.chosen() == [None, 4, None]
    assert browser["comment"].get_attribute("value") == "a 5 s u c"
    browser.press(Keys.ESCAPE)
    browser["shortcuts"].click()
    browser.run("document.activeElement.blur()")
    browser.press("1")
    assert browser.chosen() == [None, 4, None]


def test_orders(browser: Browser, tmp_path: Path) -> None:
    """Random for each rater, equal for the same rater, repeats far from the first time."""
    browser.open(small(tmp_path))
    items = [{"id": str(number)} for number in range(40)]
    order = "return Rating.order({seed: arguments[0], repeats: 4, items: arguments[2]}, arguments[1])"
    ana, ben = (browser.run(order, 1, name, items) for name in ("ana", "ben"))
    assert ana == browser.run(order, 1, "ana", items)
    assert ana != ben
    assert ana != browser.run(order, 2, "ana", items)
    firsts = {entry["item"]: place for place, entry in enumerate(ana) if not entry["repeat"]}
    assert sorted(firsts) == list(range(40))
    again = {entry["item"]: place for place, entry in enumerate(ana) if entry["repeat"]}
    assert len(again) == 4
    assert all(place - firsts[item] >= 20 for item, place in again.items())
    # Over many raters every caption comes at every place about equally often.
    places = np.zeros((5, 5))
    for name in range(400):
        for place, entry in enumerate(browser.run(order.replace("repeats: 4", "repeats: 0"), 1, str(name), items[:5])):
            places[entry["item"], place] += 1
    assert places.min() > 50
    assert places.max() < 115


def test_raters_by_name_get_their_share(browser: Browser, tmp_path: Path) -> None:
    campaign = small(tmp_path, *"abcdef", raters=["Ana María", "ben"], each=1)
    browser.open(campaign)
    options = [option.text for option in browser["rater"].find_elements(By.TAG_NAME, "option")]
    assert options == ["choose", "Ana María", "ben"]
    seen = []
    for name in options[1:]:
        browser["rater"].send_keys(name)
        browser["enter"].find_element(By.TAG_NAME, "button").click()
        assert browser.text("place") == "Caption 1 of 3"
        for _ in range(3):
            seen.append(browser.text("caption"))
            browser.press(Keys.ARROW_RIGHT)
        browser["save"].click()
        browser["leave"].click()
    assert sorted(seen) == list("abcdef")
    assert json.loads(browser.saved("ratings-Ana-María.json").read_text())["rater"] == "Ana María"


def test_captions_are_text(browser: Browser, tmp_path: Path) -> None:
    bad = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 2"> ${1} <!-- '
    browser.open(small(tmp_path, bad, title=bad, note=bad), '<img src=x onerror="window.hit=3">')
    assert browser.text("caption").strip() == bad.strip()
    assert browser.run("return document.querySelectorAll('#caption *, #who *, h1 *').length") == 0
    browser.press("1", "2", "3", Keys.ENTER)
    assert browser.run("return window.hit") is None
    browser["save-end"].click()
    browser.saved("ratings-img-src-x-onerror-window-hit-3.json")
    # The policy holds: code put into the page does not run, and nothing is loaded from outside.
    browser.run("const s = document.createElement('script'); s.textContent = 'window.hit = 4'; document.body.append(s)")
    browser.run("new Image().src = 'http://127.0.0.1:9/x.png'")
    assert browser.run("return window.hit") is None
    refused = browser.complaints()
    assert len(refused) == 2
    assert all("Content Security Policy" in text for text in refused)


def test_odd_captions_and_photos(browser: Browser, tmp_path: Path) -> None:
    campaign = small(tmp_path, "   ", "猫が眠っている。", "word " * 400, lang="ja")
    browser.open(campaign, "猫")
    seen = []
    for _ in range(3):
        seen.append(browser.text("caption"))
        browser.press(Keys.ARROW_RIGHT)
    assert {"(empty caption)", "猫が眠っている。"} < set(seen)
    assert browser["caption"].get_attribute("lang") == "ja"
    browser["save-end"].click()
    browser.saved("ratings-猫.json")
    (campaign / "photos" / "chelsea.jpg").unlink()
    browser.driver.refresh()
    browser["return"].click()
    time.sleep(0.3)
    assert "photo cannot be shown" in browser.text("notice")
    assert all("ERR_FILE_NOT_FOUND" in text for text in browser.complaints())


def test_two_windows(browser: Browser, tmp_path: Path) -> None:
    campaign = small(tmp_path)
    browser.open(campaign, "ana")
    first = browser.driver.current_window_handle
    browser.driver.switch_to.new_window("tab")
    browser.open(campaign)
    browser.press("5", "5", "5", Keys.ENTER)
    assert browser.text("place") == "Caption 2 of 3"
    browser.driver.close()
    browser.driver.switch_to.window(first)
    assert browser.text("place") == "Caption 2 of 3"
    assert browser.text("done") == "1 of 3 done"


def test_a_damaged_state_begins_anew(browser: Browser, tmp_path: Path) -> None:
    campaign = small(tmp_path)
    digest = json.loads((campaign / "campaign.json").read_text())["campaign"]
    for damaged in ("{", "[]", '{"rater": "ana", "order": [], "entries": [], "history": [], "place": 0}'):
        browser.open(campaign)
        browser.run("localStorage.setItem(`vericap-ratings/${arguments[0]}/rater/ana`, arguments[1])", digest, damaged)
        browser.open(campaign, "ana")
        assert browser.text("place") == "Caption 1 of 3"
        browser["leave"].click()


def test_a_browser_that_keeps_nothing(tmp_path: Path) -> None:
    found = Browser(tmp_path, **{"profile.default_content_setting_values.cookies": 2})
    try:
        found.open(small(tmp_path), "ana")
        assert "keeps nothing" in found.text("notice")
        found.press("1", "2", "3", Keys.ENTER)
        assert found.text("place") == "Caption 2 of 3"
        assert "keeps nothing" in found.text("notice")
        found["save"].click()
        answers = json.loads(found.saved("ratings-ana.json").read_text())["answers"]
        assert [answer["rating"] for answer in answers] == [1, 2, 3]
        assert not found.complaints()
    finally:
        found.driver.quit()


def test_names_and_roles(browser: Browser, tmp_path: Path) -> None:
    """What a screen reader is told: every control has a name, groups their question and hint, changes are said."""
    browser.open(small(tmp_path))
    assert browser["rater"].accessible_name == "Your name or initials"
    browser["rater"].send_keys("ana", Keys.ENTER)
    for control in browser.driver.find_elements(By.CSS_SELECTOR, "button, input, textarea, progress, summary, img"):
        if control.is_displayed():
            assert control.accessible_name, control.get_attribute("outerHTML")
    group = browser["question-fidelity"]
    assert group.aria_role == "group"
    assert group.accessible_name == "Is the caption true to the image?"
    radios = group.find_elements(By.TAG_NAME, "input")
    assert [radio.aria_role for radio in radios] == ["radio"] * 5
    assert radios[3].accessible_name == "4 Nearly true: only a small detail is wrong or cannot be seen"
    assert browser.driver.switch_to.active_element.get_attribute("id") == "caption"
    assert browser["told"].get_attribute("role") == "status"
    browser.press("4")
    assert browser["told"].get_attribute("textContent") == "fidelity: 4."
    assert browser.driver.switch_to.active_element.get_attribute("id") == "question-adequacy"
    # With Tab alone: every control of the page can be reached, in the order of the page.
    browser.run("window.scrollTo(0, 0); document.getElementById('leave').focus()")
    reached = []
    for _ in range(12):
        browser.press(Keys.TAB)
        at = browser.driver.switch_to.active_element
        reached.append(at.get_attribute("id") or at.get_attribute("name") or at.tag_name)
    assert reached[:8] == ["save", "fidelity", "adequacy", "fluency", "comment", "undo", "skip", "next"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 768, 1280])
def test_no_width_needs_sideways_scrolling(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    wide = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", wide)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        browser.open(small(tmp_path, "Donaudampfschifffahrtsgesellschaft" * 5), "a" * 60)
        for view in ("rate", "end"):
            assert browser.seen(view)
            assert browser.run("return document.documentElement.scrollWidth") <= width
            browser.press(Keys.ARROW_RIGHT)
        dark = browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"
        assert dark == (scheme == "dark")
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
