"""The report in a browser: what several test files use."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chromium
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from vericap.core import shipped
from vericap.core.settings import Settings
from vericap.io import load_systems
from vericap.metrics.registry import resolve
from vericap.report.site import of_run, write_site
from vericap.run.engine import Run

DEMO = shipped.ROOT / "demo"
SYSTEMS = ("careful", "terse", "inventive")


class Browser(chromium.Browser):
    """A browser that knows the report."""

    def open(self, folder: Path, address: str = "") -> None:
        self.driver.get("about:blank")
        self.driver.get((folder / "index.html").as_uri() + address)
        self.until(lambda: self.run("return document.body.dataset.ready"))

    def until(self, done: Callable[[], Any]) -> Any:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            try:
                found = done()
            except (StaleElementReferenceException, NoSuchElementException):
                found = None  # the page drew itself anew in between
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError("nothing happened within 20 seconds")

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        return list(self.run("return [...document.querySelectorAll(arguments[0])].map(n => n.textContent)", selector))

    def text(self, name: str) -> str:
        """In one step: the page may draw itself anew between finding an element and reading it."""
        return str(
            self.run("const n = document.getElementById(arguments[0]); return n ? n.innerText.trim() : ''", name)
        )

    def choose(self, name: str, option: str) -> None:
        """Choose an option of a list by its text; typing it would hang on how fast the browser is."""
        self.until(lambda: Select(self[name]).select_by_visible_text(option) or True)

    @property
    def focused(self) -> WebElement:
        return self.driver.switch_to.active_element

    def hash(self) -> str:
        return str(self.run("return decodeURIComponent(location.hash)"))

    def screen(self, width: int, height: int, scheme: str = "light") -> None:
        wide = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", wide)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def demo_report(folder: Path) -> Path:
    """Captions of three systems on bundled photos: the verdict, words, regions, transport, graphs, n-grams."""
    files = load_systems([DEMO / f"{name}.jsonl" for name in SYSTEMS], [DEMO / "references.jsonl"])
    settings = Settings(images=DEMO / "photos", cache=folder / "cache")
    run = Run(resolve("fidelity,adequacy,fluency,verdict,chair,spice,vifidel,rouge-l,bleu-4"), settings)
    systems = {name: run.name_images(found.samples) for name, found in zip(SYSTEMS, files)}
    write_site(of_run(systems, run), folder / "report", title="Demo", copy_photos=True)
    return folder / "report"
