"""The report's folder: what is written, what it says, what it refuses. How it looks and works: tests/browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import vericap
from vericap.cli import main
from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.core.explanation import Explanation, Graph, HeatMap, Match, MissingContent, Move, WordEvidence
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import resolve, sets
from vericap.report.doubts import unsupported
from vericap.report.site import default_metrics, of_run, write_site
from vericap.report.site.chunks import read_chunk
from vericap.report.site.reasons import compact, evidence
from vericap.run.engine import Run

DEMO = shipped.ROOT / "demo"
BAD = '</script><script>window.hit = 1</script><img src=x onerror="window.hit = 2">'


def word(text: str, start: int, support: float | None, source: str = "image") -> WordEvidence:
    return WordEvidence(text, start, start + len(text), support, source, (0.1, 0.2, 0.5, 1.0))


def spans(text: str, *words: str) -> tuple[tuple[int, int], ...]:
    return tuple((text.index(one), text.index(one) + len(one)) for one in words)


def written(folder: Path, systems: dict[str, list[Sample]], metrics: str = "rouge-l,bleu-4", **options: Any) -> Path:
    run = Run(resolve(metrics), Settings(images=options.pop("images", None), cache="off"))
    write_site(of_run(systems, run, resamples=50), folder / "report", **options)
    return folder / "report"


def two_systems(count: int = 3) -> dict[str, list[Sample]]:
    references = ("a dog runs on grass", "the dog is running")
    good = [Sample(f"id {n}", "a dog runs on grass", references) for n in range(count)]
    bad = [Sample(f"id {n}", "a cat sleeps" if n else "a dog runs on grass", references) for n in range(count)]
    return {"good": good, "bad": bad}


# --- words -------------------------------------------------------------------------------------------------------


def test_who_is_believed_about_a_word() -> None:
    text = "a small dog sleeps on a red couch"
    chair = Explanation("chair", words=(word("dog", 8, 0.0), word("couch", 28, 1.0)))
    graded = Explanation(
        "faier-plus",
        words=(
            word("small", 2, 0.1), word("dog", 8, 0.9), word("sleeps", 12, 0.2),
            word("on", 19, 0.0), word("red", 24, 0.6),
        ),
    )  # fmt: skip
    reader = Explanation("bleu-4", words=(word("sleeps", 12, 1.0, "references"), word("red", 24, 0.0, "references")))
    found = evidence({"bleu-4": reader, "faier-plus": graded, "chair": chair})
    # chair decides on the dog; a reference has "sleeps"; "on" is no content; "red" is seen, references do not matter.
    assert found.weak == spans(text, "small", "dog")
    assert found.judges == ("chair", "faier-plus")
    assert evidence({"bleu-4": reader}).weak == spans(text, "red")  # nobody looked at the image
    assert evidence({"lm": Explanation("lm", words=(word("dog", 8, 0.0, "language"),))}).weak == ()


def test_a_metric_with_a_threshold_of_its_own_is_believed() -> None:
    words = (word("small", 2, 0.4), word("dog", 8, 0.2), word("on", 19, 0.1), word("red", 24, 0.6))
    verdict = Explanation("verdict", words=words, facts={"doubted": [2, 19]})
    chair = Explanation("chair", words=(word("dog", 8, 0.0), word("couch", 28, 0.0)))
    found = evidence({"chair": chair, "verdict": verdict})
    assert found.weak == ((2, 7), (19, 21), (28, 33))  # the verdict lets the dog pass, chair alone judges the couch
    graded = Explanation("faier-plus", words=(word("sleeps", 12, 0.1),))
    assert (
        evidence({"verdict": verdict, "chair": chair, "faier-plus": graded}) == found
    )  # what the verdict leaves alone
    (own, _) = compact({"verdict": verdict, "chair": chair})
    assert [entry[0] for entry in own["words"] if len(entry) == 6] == [2, 19]
    assert "facts" not in own
    assert unsupported(verdict) == ["small", "on"]


def test_claims_and_marks_are_drawn() -> None:
    claims = [
        {"kind": "relation", "text": "on", "subject": "dog", "object": "couch", "support": 0.25},
        {"kind": "attribute", "text": "red", "subject": "couch", "object": "", "support": 0.5},
    ]
    marks = [{"text": "dogs", "start": 2, "end": 6, "reason": "wrong form", "chance": 0.912}]
    (one, two) = compact({
        "verdict": Explanation("verdict", facts={"claims": claims, "fidelity": 0.5, "doubted": []}),
        "fluency": Explanation("fluency", facts={"lowered_by": marks}, notes=("'dogs': wrong form",)),
    })  # fmt: skip
    assert one["claims"] == [["dog on couch", "relation", 0.25], ["red couch", "attribute", 0.5]]
    assert two["marks"] == [[2, 6, "wrong form", 0.91]]
    assert "facts" not in one
    assert "facts" not in two


def test_regions_without_an_area_are_none() -> None:
    flat = Explanation("verdict", words=(WordEvidence("in", 0, 2, 0.5, "image", (0.0, 0.0, 0.0, 0.0)),))
    assert compact({"verdict": flat})[0]["words"] == [[0, 2, 0.5, "i", 0]]


def test_words_of_any_reference_are_known() -> None:
    reader = Explanation("meteor", words=(word("dog", 2, 0.0, "references"), word("cow", 8, 0.0, "references")))
    assert evidence({"meteor": reader}, ["a tree", "The Dog!"]).weak == ((8, 11),)


def test_function_words_are_not_left_out() -> None:
    found = Explanation(
        "meteor", missing=(MissingContent("with", 0.9), MissingContent("on a"), MissingContent("on Grass", 0.1))
    )
    assert evidence({"meteor": found}).gone == ("on grass",)


def test_a_verdict_comes_first_when_there_is_one() -> None:
    chair = Explanation("chair", words=(word("dog", 8, 0.0),))
    verdict = Explanation("verdict", words=(word("dog", 8, 0.9),), missing=(MissingContent("Tree", 0.2),))
    left = Explanation("reo-omission", missing=(MissingContent("grass"),))
    found = evidence({"chair": chair, "reo-omission": left, "verdict": verdict})
    assert found.weak == ()
    assert found.gone == ("tree",)


def test_reasons_are_small_and_said_once() -> None:
    matrix = np.random.default_rng(0).random((20, 3))
    heat = HeatMap("regions", ("a", "b", "c"), tuple(map(tuple, matrix.tolist())), ((0.0, 0.0, 0.5, 1.0),) * 20)
    one = Explanation(
        "m",
        words=(word("dog", 2, 0.123456), WordEvidence("a", 0, 1)),
        missing=(MissingContent("cat", 0.5, "image"),),
        matches=(Match(("dog",), ("dogs", "run"), 0.5, "stem"),),
        transport=(Move("dog", "cat", 0.25, 0.333333),),
        heatmaps=(heat, heat),
        graphs=(Graph("g", ("dog",), ((0, "big"),), ()),),
        notes=("note",),
        facts={"matched": [4, 1], "vector": list(range(400)), "share": 0.123456},
    )
    (found,) = compact({"m": one, "m2": one})
    assert found["by"] == ["m", "m2"]
    assert found["words"] == [[2, 5, 0.12, "i", [100, 200, 500, 1000], 1]]
    assert found["missing"] == [["cat", 0.5, "i", 0]]
    assert found["matches"] == [["dog", "dogs run", 0.5, "stem", 0]]
    assert found["moves"] == [["dog", "cat", 0.25, 0.333]]
    assert found["graphs"] == [["g", ["dog"], [[0, "big"]], []]]
    assert found["facts"] == [["matched", "4, 1"], ["share", "0.123"]]  # a list of 400 says nothing to a reader
    (title, columns, values, boxes, low, high) = found["heat"][0]
    assert (title, columns, len(values), len(boxes)) == ("regions", ["a", "b", "c"], 6, 6)
    assert max(map(max, values)) == 100
    assert (low, high) == (round(matrix.min(), 3), round(matrix.max(), 3))
    other = compact({"m": one, "m3": Explanation("m3", graphs=one.graphs, notes=("other",))})
    assert "graphs" not in other[1]  # the same picture is drawn once


# --- the folder --------------------------------------------------------------------------------------------------


def test_the_folder_says_what_the_results_say(tmp_path: Path) -> None:
    systems = two_systems()
    folder = written(tmp_path, systems)
    head, rows = read_chunk(folder, "head"), read_chunk(folder, "rows")
    found = vericap.compare(
        {name: [s.candidate for s in own] for name, own in systems.items()},
        [list(s.references) for s in systems["good"]],
        "rouge-l,bleu-4",
    )
    rouge = head["metrics"][0]
    assert rouge["name"] == "rouge-l"
    assert rouge["signature"] == found.signatures["rouge-l"]
    assert [one["value"] for one in rouge["systems"]] == [
        round(float(found.results[name].corpus["rouge-l"]), 4) for name in ("good", "bad")
    ]
    assert rouge["systems"][1]["wins"] == [0, 1, 2]
    assert rouge["systems"][1]["p"] == pytest.approx(found.p_values["bad", "rouge-l"], abs=1e-6)
    assert sum(rouge["systems"][1]["bins"]) == 3
    assert rows["scores"]["rouge-l"] == [round(v, 4) for name in systems for v in found.results[name]["rouge-l"]]
    assert rows["text"][3:] == ["a dog runs on grass", "a cat sleeps", "a cat sleeps"]
    assert rows["ids"] == ["id 0", "id 1", "id 2"]
    assert head["weak"] == [["cat", [0, 2]], ["sleeps", [0, 2]]]
    assert head["flawed"] == [0, 2]
    assert head["test"]["baseline"] == "good"
    details = read_chunk(folder, "why-00000")
    assert details[4]["references"] == ["a dog runs on grass", "the dog is running"]


def test_aspects_are_named_where_their_columns_are(tmp_path: Path) -> None:
    def fidelity(candidates: list[str], references: list[list[str]], images: list[str]) -> list[float]:
        return [float(len(text)) for text in candidates]

    def fluency(candidates: list[str], references: list[list[str]], images: list[str]) -> list[float]:
        return [1.0 for _ in candidates]

    run = Run(resolve(["rouge-l", fidelity, fluency]), Settings(cache="off"))
    write_site(of_run(two_systems(), run), tmp_path / "r")
    aspects = {one["name"]: one["aspect"] for one in read_chunk(tmp_path / "r", "head")["metrics"]}
    assert aspects == {"rouge-l": "references", "fidelity": "fidelity", "fluency": "fluency"}


def test_metrics_that_disagree(tmp_path: Path) -> None:
    samples = [
        Sample("short", "a dog", ("a dog",)),  # the best by the one, the worst by the other
        Sample("middle", "a dog on grass", ("a dog runs over grass",)),
        Sample("other", "a dog on some grass", ("a dog runs over grass",)),
        Sample("long", "trees and hills and nothing more than that", ("a dog",)),
    ]

    def longest(candidates: list[str], references: list[list[str]], images: list[str]) -> list[float]:
        return [float(len(text)) for text in candidates]

    run = Run(resolve(["rouge-l", longest]), Settings(cache="off"))
    write_site(of_run({"x": samples}, run), tmp_path / "r")
    found = {row: rest for row, *rest in read_chunk(tmp_path / "r", "head")["disagree"]}
    assert found[0] == ["rouge-l", 1, "longest", 0]
    assert found[3] == ["longest", 1, "rouge-l", 0]
    assert not {1, 2} & set(found)


def test_problems_are_kept_and_named(tmp_path: Path) -> None:
    samples = [
        Sample("a", "a dog", ("a dog",), "no.jpg"),
        Sample("b", "", problem="the candidate is missing"),
        Sample("c", "a cat on a mat", ("a cat",), "yes.png"),
    ]
    Image.new("RGBA", (300, 200), "green").save(tmp_path / "yes.png")
    folder = written(tmp_path, {"x": samples}, "rouge-l", images=tmp_path)
    rows, head = read_chunk(folder, "rows"), read_chunk(folder, "head")
    assert "the candidate is missing" in rows["problem"]["1"]
    assert rows["scores"]["rouge-l"][1] is None
    assert any("no.jpg" in text for text in head["problems"])
    photos = read_chunk(folder, "photos")
    assert photos["sizes"][rows["photo"][2]] == [300, 200]
    assert photos["links"][rows["photo"][2]] == "../yes.png"
    assert read_chunk(folder, "why-00000")[1] == {"references": [], "reasons": []}


def test_photos_can_be_copied(tmp_path: Path) -> None:
    Image.new("RGB", (1200, 900), "green").save(tmp_path / "a b#.jpg")
    samples = [Sample("a", "a dog", ("a dog",), "a b#.jpg")]
    folder = written(tmp_path, {"x": samples}, "rouge-l", images=tmp_path, copy_photos=True)
    assert Image.open(folder / "photos" / "00000.webp").size == (640, 480)
    assert read_chunk(folder, "photos")["links"] == ["photos/00000.webp"]
    folder = written(tmp_path, {"x": samples}, "rouge-l", images=tmp_path)  # an older report is replaced
    assert not list((folder / "photos").glob("*"))
    assert read_chunk(folder, "photos")["links"] == ["../a%20b%23.jpg"]


def test_no_caption_becomes_markup(tmp_path: Path) -> None:
    samples = [Sample(BAD, BAD, (BAD,), BAD)]
    folder = written(tmp_path, {BAD: samples}, "rouge-l", title=BAD)
    page = (folder / "index.html").read_text("utf-8")
    assert "<script>" not in page
    assert "onerror" not in page.replace("onerror=&quot;", "")
    assert re.findall(r"<script[^>]*>", page) == [f'<script defer src="{name}">' for name in
        ("words.js", "data.js", "draw.js", "overview.js", "captions.js", "caption.js", "main.js")]  # fmt: skip
    assert "unsafe" not in page
    for chunk in (folder / "data").glob("*.js"):
        assert re.fullmatch(r'vericapReport\.put\("[a-z0-9-]+","[A-Za-z0-9+/=]*"\);\n', chunk.read_text("ascii"))
    assert read_chunk(folder, "rows")["text"] == [BAD]
    for name in ("draw.js", "overview.js", "captions.js", "caption.js", "main.js", "data.js"):
        script = (folder / name).read_text("utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|https?://(?!www\.w3)", script
        )


def test_a_report_that_was_cut_off_is_replaced_and_another_site_is_not(tmp_path: Path) -> None:
    folder = written(tmp_path, two_systems())
    (folder / "data" / "head.js").unlink()
    (folder / "index.html").unlink()
    assert (written(tmp_path, two_systems()) / "index.html").is_file()
    for chunk in (folder / "data").iterdir():
        chunk.unlink()
    with pytest.raises(InputError, match="holds other files"):  # an index.html with scripts may be anybody's
        written(tmp_path, two_systems())


def test_folders_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "thesis.tex").write_text("x")
    with pytest.raises(InputError, match="holds other files"):
        written(tmp_path, two_systems())
    assert (tmp_path / "report" / "thesis.tex").read_text() == "x"
    (tmp_path / "file").write_text("x")
    run = Run(resolve("rouge-l"), Settings(cache="off"))
    with pytest.raises(InputError, match="is a file"):
        write_site(of_run(two_systems(), run), tmp_path / "file")


def test_size_of_many_captions(tmp_path: Path) -> None:
    """At most 12 kB per caption with thumbnail."""
    image = Image.effect_noise((500, 375), 60).convert("RGB")  # noise is the worst a thumbnail can meet
    image.save(tmp_path / "x.jpg")
    systems = {
        "x": [
            Sample(str(n), f"a dog number {n} runs on the grass beside a house", ("a dog runs on grass",) * 5, "x.jpg")
            for n in range(200)
        ]
    }
    run = Run(resolve("bleu-4,rouge-l,meteor,cider-d,spice"), Settings(images=tmp_path, cache="off"))
    found = write_site(of_run(systems, run, resamples=50), tmp_path / "r")
    thumbs = (tmp_path / "r" / "data" / "thumbs-0000.js").stat().st_size
    assert thumbs < 9_000
    assert found.bytes / 200 + thumbs < 12_000
    on_disk = sum(file.stat().st_size for file in (tmp_path / "r").rglob("*") if file.is_file())
    assert found.bytes == on_disk


# --- command line and Python ---------------------------------------------------------------------------------------


def test_default_metrics_follow_the_input() -> None:
    with_references = [Sample("1", "a dog", ("a dog",), "x.jpg")]
    names, said = default_metrics(with_references, lang="en", images=True)
    assert set(names.split(",")) == set(sets()["recommended"]) - {"jaspice"}
    assert "the set recommended" in said
    alone, _ = default_metrics([Sample("1", "a dog")], lang="en", images=False)
    assert all("references" not in m.needs and "image" not in m.needs for m in resolve(alone))
    named = [metric.label for metric in resolve("recommended", lang="en")]
    assert ",".join(named) == names  # a set that is named leaves out what does not read the language
    japanese, _ = default_metrics([Sample("1", "犬", ("犬",))], lang="ja", images=False)
    assert "jaspice" in japanese.split(",")
    assert "spice" not in japanese.split(",")


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["report", f"one={DEMO / 'careful.jsonl'}", f"two={DEMO / 'inventive.jsonl'}", "-q"]
    words += ["-r", str(DEMO / "references.jsonl"), "--images", str(DEMO / "photos"), "-m", "rouge-l,meteor"]
    assert main([*words, "-o", str(tmp_path / "r"), "--title", "Two"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^24 captions, .* kB each\), written in .* s\. Open .*index\.html in a browser\.$", said.strip())
    head = read_chunk(tmp_path / "r", "head")
    assert (head["title"], head["systems"], head["captions"]) == ("Two", ["one", "two"], 24)
    assert min(read_chunk(tmp_path / "r", "rows")["photo"]) == 0  # photos are shown though no metric looks at them


def test_what_score_wrote_is_shown_without_scoring_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {}
    shared = ["-r", str(DEMO / "references.jsonl"), "-q"]
    for name in ("careful", "inventive"):
        files[name] = str(tmp_path / f"{name}.jsonl")
        words = ["score", str(DEMO / f"{name}.jsonl"), *shared, "-m", "rouge-l,meteor", "--explain", "-o", files[name]]
        assert main(words) == 0
    for ending, reasons in (("jsonl", True), ("csv", True)):
        if ending == "csv":
            words = ["score", str(DEMO / "careful.jsonl"), *shared, "-m", "rouge-l,meteor", "--explain"]
            files = {"careful": str(tmp_path / "careful.csv")}
            assert main([*words, "-o", files["careful"]]) == 0
        assert main(["report", *files.values(), *shared, "-o", str(tmp_path / ending)]) == 0
        rows = read_chunk(tmp_path / ending, "rows")
        stored = [json.loads(line) for line in (tmp_path / "careful.jsonl").read_text("utf-8").splitlines()]
        assert rows["scores"]["meteor"][:12] == [round(record["meteor"], 4) for record in stored]
        assert rows["ids"] == [record["id"] for record in stored]
        detail = read_chunk(tmp_path / ending, "why-00000")[0]
        assert bool(detail["reasons"]) == reasons
        assert len(detail["references"]) == 5
        assert "means over captions" in read_chunk(tmp_path / ending, "head")["notes"][0]
    capsys.readouterr()


def test_results_report_and_show_themselves(tmp_path: Path) -> None:
    result = vericap.score([f"a dog {BAD}", "a cat"], [["a dog"], ["a cat"]], "rouge-l", confidence=True)
    assert result.report(tmp_path / "one", title="Mine") == tmp_path / "one" / "index.html"
    assert read_chunk(tmp_path / "one", "head")["title"] == "Mine"
    assert "rouge-l" in str(result)
    assert f"{float(result.corpus['rouge-l']):.4f}" in result._repr_html_()
    found = vericap.compare({"<b>": ["a dog", "a cat"], "b": ["a cow", "a cat"]}, [["a dog"], ["a cat"]], "rouge-l")
    assert "&lt;b&gt;" in found._repr_html_()
    assert '<td align="left"><b>' not in found._repr_html_()  # the best value is bold, a system's name is a text
    assert str(found).startswith("system")
    assert found.report(tmp_path / "two").is_file()
    assert read_chunk(tmp_path / "two", "head")["systems"] == ["<b>", "b"]
    result.reporter = None
    with pytest.raises(VericapError, match="does not hold its captions"):
        result.report(tmp_path / "three")
