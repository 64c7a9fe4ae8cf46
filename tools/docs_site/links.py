"""What a built site refers to: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlparse

# Elements that load what they name, and the attribute that names it.
_LOADED = {
    "script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src",
    "object": "data", "image": "href", "use": "href", "input": "src", "track": "src",
}  # fmt: skip
_LOADING = {
    "stylesheet",
    "icon",
    "preload",
    "preconnect",
    "prefetch",
    "dns-prefetch",
    "modulepreload",
    "manifest",
}
_CSS = re.compile(r"url\(\s*['\"]?([^)'\"]+)|@import\s+['\"]([^'\"]+)")


class Reader(HTMLParser):
    """Anchors, links and loaded files of one page."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & _LOADING:
            self.loaded.append(given.get("href", ""))
        if given.get(_LOADED.get(tag, "")):
            self.loaded.append(given[_LOADED[tag]])
        if "srcset" in given:
            self.loaded += [part.split()[0] for part in given["srcset"].split(",") if part.strip()]


@cache
def read(file: Path) -> Reader:
    found = Reader()
    found.feed(file.read_text("utf-8"))
    return found


def mistakes(site: Path) -> list[str]:
    """Dead links, missing files and what would be loaded from elsewhere."""
    found = []
    for file in sorted(site.rglob("*.html")):
        page = read(file)
        name = file.relative_to(site).as_posix()
        found += [f"{name}: {text}" for text in _of_page(file, page, site)]
    for file in sorted(site.rglob("*.css")):
        for first, second in _CSS.findall(file.read_text("utf-8")):
            if _elsewhere(first or second):
                found.append(f"{file.relative_to(site)}: loads {first or second}")
    return found


def _of_page(file: Path, page: Reader, site: Path) -> Iterator[str]:
    for address in page.loaded:
        if _elsewhere(address):
            yield f"loads {address} from elsewhere"
        elif not address.startswith("data:") and not _target(file, address, site).is_file():
            yield f"loads {address}, which does not exist"
    for address in page.links:
        if _elsewhere(address) or address.startswith(("mailto:", "javascript:")):
            continue
        target, anchor = _target(file, address, site), urlparse(address).fragment
        if not target.is_file():
            yield f"dead link {address}"
        elif anchor and target.suffix == ".html" and unquote(anchor) not in read(target).anchors:
            yield f"dead link {address}: no such place on that page"


def _elsewhere(address: str) -> bool:
    return bool(urlparse(address).netloc) or address.startswith("//")


def _target(file: Path, address: str, site: Path) -> Path:
    path = unquote(urlparse(address).path)
    if not path:
        return file
    found = (site / path.lstrip("/")) if path.startswith("/") else (file.parent / path)
    return (found / "index.html" if found.is_dir() else found).resolve()
