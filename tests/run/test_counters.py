"""Each photo is decoded once, each network opened once, each text analysed once: in score, compare and meta."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import vericap
from vericap.core import onnx
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.shipped import ROOT
from vericap.metrics.registry import resolve
from vericap.run import photos, plan, runtime
from vericap.run.analyses import Graphs, NGrams, Sentences, Tokens
from vericap.run.engine import Run

PHOTOS = ROOT / "demo" / "photos"
SAMPLES = [
    Sample("1", "a cup of coffee", ("a cup", "a white cup of coffee"), "coffee.jpg"),
    Sample("2", "a cat on a sofa", ("a cat", "a striped cat"), "chelsea.jpg"),
    Sample("3", "a red flower", ("a flower", "a cat"), "flower.jpg"),
]


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many texts each analysis of texts was given."""
    found: Counter[str] = Counter()
    for key in (Tokens, NGrams, Graphs, Sentences):

        def counting(self: Any, batch: Any, runtime: Any, *, original: Any = key.compute) -> Any:
            found[type(self).__name__] += len(batch.texts)
            return original(self, batch, runtime)

        monkeypatch.setattr(key, "compute", counting)
    return found


@pytest.fixture
def fresh() -> None:
    """Nothing is open, nothing was decoded."""
    runtime.forget()
    onnx.opened.clear()
    photos.decoded = 0


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("workers", [1, 2])
def test_score_decodes_and_opens_once(tmp_path: Path, workers: int) -> None:
    metrics = "vifidel,chair,vse,faier-plus,reo-relevance,sentence,spice-soft"
    settings = Settings(images=PHOTOS, cache=tmp_path, workers=workers)
    Run(resolve(metrics), settings).score(SAMPLES)
    assert photos.decoded == 3
    assert max(Counter(onnx.opened).values()) == 1
    assert len(onnx.opened) == 3  # caption encoder, detector, backbone
    Run(resolve(metrics), settings).score(SAMPLES)  # everything is kept
    assert photos.decoded == 3
    assert len(onnx.opened) == 3


@pytest.mark.usefixtures("fresh")
def test_a_warm_cache_opens_no_network(tmp_path: Path) -> None:
    settings = Settings(images=PHOTOS, cache=tmp_path)
    Run(resolve("vse,chair"), settings).score(SAMPLES)
    runtime.forget()
    onnx.opened.clear()
    Run(resolve("vse,chair"), settings).score(SAMPLES)
    assert onnx.opened == []


@pytest.mark.usefixtures("fresh")
def test_signatures_open_nothing(tmp_path: Path) -> None:
    names = "vse,faier-plus,faier,reo-relevance,tiger,vifidel,chair,sentence,spice-soft,lm"
    found = Run(resolve(names), Settings(images=PHOTOS, cache=tmp_path)).signatures(SAMPLES)
    assert onnx.opened == []
    for name in ("vse", "faier-plus", "reo-relevance", "tiger", "sentence", "spice-soft"):
        assert "|encoder:" in found[name]


def test_texts_are_analysed_once(computed: Counter[str]) -> None:
    texts = {text for sample in SAMPLES for text in (sample.candidate, *sample.references)}
    Run(resolve("coco,spice,sentence,spice-soft:encoder=captions,wmd"), Settings()).score(SAMPLES)
    assert computed == dict.fromkeys(("Tokens", "NGrams", "Graphs", "Sentences"), len(texts))


def test_compare_analyses_references_once(computed: Counter[str]) -> None:
    references = {sample.id: list(sample.references) for sample in SAMPLES}
    systems = {name: {"1": f"a {name} cup", "2": "a cat", "3": f"{name} flowers"} for name in ("red", "blue", "tall")}
    vericap.compare(systems, references, "cider-d,bleu-4,spice", resamples=10)
    texts = {text for own in systems.values() for text in own.values()}
    texts |= {text for own in references.values() for text in own}
    assert computed == dict.fromkeys(("Tokens", "NGrams", "Graphs"), len(texts))


def test_shards_are_analysed_once(computed: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where document frequencies have to be known before the first caption is scored."""
    monkeypatch.setattr(plan, "BUDGET", 1)
    apart = [Sample(str(n), f"dog {n}", (f"cat {n}", f"bird {n}")) for n in range(4)]
    Run(resolve("cider-d,bleu-4"), Settings()).score(apart)
    assert computed == {"Tokens": 12, "NGrams": 12}


def test_meta_analyses_all_draws_once(computed: Counter[str]) -> None:
    draws = {f"run {k}": [Sample(s.id, s.candidate, s.references[k : k + 1]) for s in SAMPLES] for k in range(2)}
    Run(resolve("cider-d,rouge-l"), Settings()).score_parts(draws)
    texts = {text for sample in SAMPLES for text in (sample.candidate, *sample.references)}
    assert computed == dict.fromkeys(("Tokens", "NGrams"), len(texts))
