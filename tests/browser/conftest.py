"""A browser for tests of the report, and the report of the demo; other pages have a browser of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # selenium may not be installed; then the tests skip
    from report_pages import Browser


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    from report_pages import Browser

    found = Browser(tmp_path_factory.mktemp("browser"), **{"intl.accept_languages": "en"})
    yield found
    found.driver.quit()


@pytest.fixture
def browser(shared: Browser) -> Iterator[Browser]:
    """As if newly opened; what a page complains of fails its test."""
    shared.screen(1280, 900)
    yield shared
    complaints = shared.complaints()
    if not shared.driver.current_url.startswith(("data:", "about:")):
        shared.run("localStorage.clear()")
    shared.driver.get("about:blank")
    assert not complaints


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import report_pages

    return report_pages.demo_report(tmp_path_factory.mktemp("demo"))
