"""A campaign's folder: what is drawn, what the page holds and what it must not hold, how photos are written."""

from __future__ import annotations

import json
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from vericap.core import shipped
from vericap.core.errors import InputError, UnknownName, VericapError
from vericap.core.samples import Sample
from vericap.report import annotation
from vericap.report.annotation import questions_of, write_campaign
from vericap.report.annotation.campaign import Campaign, Caption, drawn, rater_names, read_campaign
from vericap.vision import images

PHOTOS = shipped.ROOT / "demo" / "photos"
SOURCES = Path(annotation.__file__).parent
BAD = '</script><script>alert(1)</script><img src=x onerror="alert(2)"> & $data "'


def sample(id: str, candidate: str, image: str | None = None, references: tuple[str, ...] = ("a reference",)) -> Sample:
    return Sample(id, candidate, references, image)


CATS = [sample("cat", "a cat", "chelsea.jpg"), sample("dog", "a dog", "chelsea.jpg"), sample("cup", "a cup", "coffee")]


class Page(HTMLParser):
    """Tags with their attributes, and the text of the data block."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag == "script" and dict(attrs).get("id") == "campaign"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.data += data

    def handle_endtag(self, tag: str) -> None:
        self._inside = False


def page_of(folder: Path) -> tuple[Page, dict[str, Any]]:
    page = Page((folder / "index.html").read_text("utf-8"))
    return page, json.loads(page.data)


def test_the_folder(tmp_path: Path) -> None:
    found = write_campaign({"mine": CATS}, tmp_path / "c", images=PHOTOS, title="Cats & cups", seed=3)
    names = {path.relative_to(tmp_path / "c").as_posix() for path in (tmp_path / "c").rglob("*") if path.is_file()}
    photos = {"photos/chelsea.jpg", "photos/coffee.jpg"}
    assert names == {"index.html", "rating.js", "script.js", "style.css", "campaign.json", *photos}
    kept = read_campaign(tmp_path / "c")
    assert kept["campaign"] == found.digest
    assert [one["candidate"] for one in kept["captions"]] == ["a cat", "a dog", "a cup"]
    assert kept["captions"][2]["references"] == ["a reference"]
    _, data = page_of(tmp_path / "c")
    assert data["campaign"] == found.digest
    assert data["questions"] == ["fidelity", "adequacy", "fluency"]
    assert [item["text"] for item in data["items"]] == ["a cat", "a dog", "a cup"]
    assert data["items"][0]["caption"] == kept["captions"][0]["caption"]


def test_the_page_has_no_inline_code_and_asks_no_network(tmp_path: Path) -> None:
    write_campaign({"mine": [sample("x", BAD, "chelsea.jpg")]}, tmp_path / "c", images=PHOTOS, title=BAD, note=BAD)
    page, data = page_of(tmp_path / "c")
    assert data["items"][0]["text"] == BAD
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name.startswith("on") or name == "style"], (tag, attributes)
        if tag == "script" and attributes.get("type") != "application/json":
            assert attributes["src"] in ("rating.js", "script.js")
    assert {tag for tag, _ in page.tags}.isdisjoint({"iframe", "object", "style", "base"})
    (policy,) = [
        a["content"] or "" for tag, a in page.tags if tag == "meta" and "Policy" in (a.get("http-equiv") or "")
    ]
    assert policy.startswith("default-src 'none'; script-src 'self' file:;")
    assert "unsafe" not in policy
    for name in ("index.html", "rating.js", "script.js", "style.css"):
        text = (tmp_path / "c" / name).read_text("utf-8")
        assert not re.search(r"https?://|@import|url\(|innerHTML|insertAdjacent|document\.write|eval\(", text), name


def test_raters_cannot_see_systems_and_references(tmp_path: Path) -> None:
    systems = {
        name: [sample("cat", f"a cat by {name[-1]}", "chelsea.jpg", ("secret words",))] for name in ("sysA", "sysB")
    }
    found = write_campaign(systems, tmp_path / "c", images=PHOTOS)
    assert [caption.id for caption in found.captions] == ["cat/sysA", "cat/sysB"]
    text = (tmp_path / "c" / "index.html").read_text("utf-8")
    assert "sysA" not in text
    assert "secret" not in text
    assert [one["system"] for one in read_campaign(tmp_path / "c")["captions"]] == ["sysA", "sysB"]


def test_keys_that_leave_the_folder_are_refused_and_the_rest_is_written(tmp_path: Path) -> None:
    (tmp_path / "secret.jpg").write_bytes((PHOTOS / "coffee.jpg").read_bytes())
    inside = tmp_path / "photos"
    inside.mkdir()
    (inside / "good.jpg").write_bytes((PHOTOS / "chelsea.jpg").read_bytes())
    (inside / "broken.jpg").write_bytes(b"no photo")
    keys = [
        "good.jpg",
        "../secret.jpg",
        str(tmp_path / "secret.jpg"),
        "sub/../../secret",
        "a\0b",
        "absent",
        "broken.jpg",
    ]
    samples = [sample(str(number), "a cat", key) for number, key in enumerate(keys)]
    samples.append(sample("8", "another", "broken.jpg"))
    found = write_campaign({"mine": samples}, tmp_path / "c", images=inside)
    assert [caption.id for caption in found.captions] == ["0"]
    reasons = [str(problem) for problem in found.problems]
    assert len(reasons) == 7
    assert "points outside" in reasons[0]
    assert "points outside" in reasons[1]
    assert "not an image" in reasons[5]
    assert all("left out" in reason for reason in reasons)
    assert [path.name for path in (tmp_path / "c" / "photos").iterdir()] == ["good.jpg"]


def test_photos_are_small_without_metadata_and_found_by_their_key(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub dir").mkdir(parents=True)
    large = Image.open(PHOTOS / "coffee.jpg").resize((1600, 1000))
    exif = Image.Exif()
    exif[0x010E] = "home address"
    exif[0x0112] = 6  # lies on its side
    large.save(folder / "sub dir" / "50% #1?.jpg", exif=exif)
    large.resize((300, 200)).save(folder / "COCO_val2014_000000000042.jpg", exif=exif)
    large.convert("RGBA").resize((640, 400)).save(folder / "clear.png")
    (folder / "same.jpeg").write_bytes((PHOTOS / "chelsea.jpg").read_bytes())
    keys = ["sub dir/50% #1?.jpg", "42", str(folder / "clear.png"), "same.jpeg"]
    found = write_campaign(
        {"mine": [sample(str(n), "text", key) for n, key in enumerate(keys)]}, tmp_path / "c", images=folder
    )
    assert [caption.image for caption in found.captions] == ["sub dir/50% #1?.jpg", "42", "clear.png", "same.jpeg"]
    sizes = []
    for caption in found.captions:
        path = images.find(caption.image, tmp_path / "c" / "photos")
        assert path == tmp_path / "c" / caption.photo
        assert b"home address" not in path.read_bytes()
        sizes.append(Image.open(path).size)
    assert sizes == [(400, 640), (200, 300), (640, 400), (451, 300)]
    assert (tmp_path / "c" / "photos" / "same.jpeg").read_bytes() == (PHOTOS / "chelsea.jpg").read_bytes()
    _, data = page_of(tmp_path / "c")
    assert data["items"][0]["photo"].startswith("photos/sub%20dir/50%25%20%231%3F.jpg")


def test_captions_are_drawn_with_all_systems_of_an_image() -> None:
    systems = {name: [sample(str(n), f"{name} {n}") for n in range(20)] for name in ("a", "b")}
    found = drawn(systems, 10, seed=1)
    assert [caption.id for caption in found] == [caption.id for caption in drawn(systems, 10, seed=1)]
    assert [caption.id for caption in found] != [caption.id for caption in drawn(systems, 10, seed=2)]
    assert Counter(caption.system for caption in found) == {"a": 5, "b": 5}
    assert len({caption.image for caption in found}) == 5
    assert [caption.id for caption in drawn({"a": systems["a"]})] == [str(n) for n in range(20)]


def test_equal_captions_of_a_photo_are_rated_once(tmp_path: Path) -> None:
    systems = {name: [sample("cat", "a cat", "chelsea.jpg"), sample("cup", name, "coffee")] for name in ("a", "b")}
    found = write_campaign(systems, tmp_path / "c", images=PHOTOS)
    assert len(found.captions) == 4
    assert [item["text"] for item in page_of(tmp_path / "c")[1]["items"]] == ["a cat", "a", "b"]


def test_captions_are_shared_evenly_between_raters() -> None:
    captions = [Caption(str(n), f"text {n}", "x") for n in range(50)]
    names = ("ana", "ben", "eva", "kim")
    shared = Campaign(captions, questions_of("fluency"), raters=names, each=2).assignments()
    load = Counter(name for own in shared.values() for name in own)
    assert load == dict.fromkeys(names, 25)
    pairs = Counter(frozenset(own) for own in shared.values())
    assert len(pairs) == 6  # everybody meets everybody, so that raters can be compared
    assert Campaign(captions, questions_of("fluency"), raters=names, each=4).assignments() == {}


def test_the_digest_knows_what_is_rated_and_nothing_else() -> None:
    def digest(text: str = "a cat", asked: str = "fidelity", content: str = "1", **more: Any) -> str:
        return Campaign(
            [Caption("1", text, "x", photo="p")], questions_of(asked), contents={"p": content}, **more
        ).digest

    others = {digest("a dog"), digest(asked="fluency"), digest(content="2")}
    assert len(others) == 3
    assert digest() not in others
    assert digest(title="Other", seed=4, repeats=2, raters=("ana",)) == digest()


def test_refusals(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'fluency'"):
        questions_of("fidelity,fluence")
    with pytest.raises(UnknownName, match="no question"):
        questions_of(" , ")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "ratings-ana.json").write_text("{}")
    with pytest.raises(InputError, match="not empty"):
        write_campaign({"mine": CATS}, tmp_path / "old", images=PHOTOS)
    with pytest.raises(InputError, match="is a file"):
        write_campaign({"mine": CATS}, tmp_path / "old" / "ratings-ana.json", images=PHOTOS)
    with pytest.raises(InputError, match="does not exist"):
        write_campaign({"mine": CATS}, tmp_path / "new", images=tmp_path / "absent")
    assert not (tmp_path / "new").exists()
    with pytest.raises(InputError, match=r"no caption can be shown.*'nothing'"):
        write_campaign({"mine": [sample("nothing", "a cat")]}, tmp_path / "new2", images=PHOTOS)
    with pytest.raises(VericapError, match="`raters=NAMES`"):
        write_campaign({"mine": CATS}, tmp_path / "new3", images=PHOTOS, each=2)
    with pytest.raises(VericapError, match="more than the 1 rater"):
        write_campaign({"mine": CATS}, tmp_path / "new3", images=PHOTOS, each=2, raters=["ana"])
    with pytest.raises(VericapError, match="longer than"):
        rater_names(["x" * 61])
    assert rater_names(["  ana   maria ", "", "ana maria"]) == ("ana maria",)


def luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, two: str) -> float:
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1])
def test_colours_can_be_read(scheme: int) -> None:
    """WCAG 2: 4.5 for text, 3 for frames and marks, in the light and in the dark colours."""
    blocks = re.findall(r":root \{(.*?)\}", (SOURCES / "style.css").read_text("utf-8"), re.DOTALL)
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", blocks[scheme]))
    for paper in ("page", "panel", "chosen", "notice"):
        assert contrast(colours["ink"], colours[paper]) > 7
    for paper in ("page", "panel"):
        assert contrast(colours["faint"], colours[paper]) > 4.5
        assert contrast(colours["mark"], colours[paper]) > 3
        assert contrast(colours["line"], colours[paper]) > 2.8
    assert contrast(colours["accent"], colours["on-accent"]) > 4.5
