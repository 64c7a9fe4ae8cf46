"""Debian's chromium for tests of pages: one browser with a profile of its own, and what it complains about."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
needed = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no chromium with chromedriver (apt-get install chromium chromium-driver)"
)

# fmt: off
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--window-size=1280,900",
)
# fmt: on


class Browser:
    """A browser with a profile and a folder of downloads of its own; `prefs` are Chromium's preferences."""

    def __init__(self, folder: Path, **prefs: Any) -> None:
        self.downloads = folder / "downloads"
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in (*FLAGS, f"--user-data-dir={folder / 'profile'}"):
            options.add_argument(flag)
        wanted = {"download.default_directory": str(self.downloads), "download.prompt_for_download": False, **prefs}
        options.add_experimental_option("prefs", wanted)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(DRIVER)))

    def __getitem__(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def text(self, name: str) -> str:
        return self[name].text

    def seen(self, name: str) -> bool:
        return self[name].is_displayed()

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def saved(self, name: str) -> Path:
        path = self.downloads / name
        for _ in range(100):
            if path.is_file():
                return path
            time.sleep(0.05)
        raise AssertionError(f"{name} was not saved; there are {list(self.downloads.glob('*'))}")

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]
