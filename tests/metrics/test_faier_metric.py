"""The metric FAIEr on a tiny model: against the network's own equations, invariants, columns, problems, reasons."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.errors import VericapError
from vericap.graphs.scene_graph import SceneGraph
from vericap.meta.grounding import grounded
from vericap.metrics import faier as metric
from vericap.metrics.faier_reasons import NO_TRIPLETS
from vericap.metrics.registry import make
from vericap.models.faier import EMPTY, UNKNOWN, VARIANTS, Config, Faier, load, reading
from vericap.models.faier_batch import Encodings
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample
from vericap.vision.store import Regions

WIDTH = 7
WORDS = [UNKNOWN, EMPTY, "a", "dog", "cat", "on", "grass", "red", "runs", "the", "two", "men"]


def tiny(**options: object) -> Faier:
    config = Config(width=WIDTH, d=8, words=5, fingerprint="f", **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    shapes = config.shapes(len(WORDS))
    weights = {name: rng.normal(size=shape).astype(np.float32) * 0.5 for name, shape in shapes.items()}
    return Faier(config, weights, WORDS, "tiny")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("faier")
    for variant in VARIANTS:
        tiny(variant=variant).save(root / variant, storage="float32")
    return {variant: str(root / variant) for variant in VARIANTS}


def graph(text: str) -> SceneGraph:
    """ "x on y" holds one triplet."""
    first, sign, second = text.partition(" on ")
    return SceneGraph.of([(first.split()[-1], "on", second.split()[-1])] if sign else [])


def batch_of(samples: list[Sample], *, explain: bool = False, fingerprint: str = "f", lost: int = -1) -> Batch:
    batch = Batch.of(samples, Settings(explain=explain))
    items = []
    for image, name in enumerate(batch.image_keys):
        rng = np.random.default_rng(sum(map(ord, name)))
        count = 3 + len(name) % 2
        items.append(None if image == lost else (rng.normal(size=(count, WIDTH)), rng.random((count, 4))))
    batch.provide("regions", Regions.of(items, fingerprint, {lost: "image lost"} if lost >= 0 else {}))
    batch.provide("graphs", [graph(text) for text in batch.texts])
    return batch


SAMPLES = [
    Sample(id="a", candidate="a dog on the grass", references=("the dog runs", "a red dog on grass"), image="1"),
    Sample(id="b", candidate="two men", references=("men on grass",), image="22"),
    Sample(id="c", candidate="a dog on the grass", references=(), image="22"),
    Sample(id="d", candidate="a cat", references=("the dog runs", "a red dog on grass"), image="1"),
]


def one_by_one(model: Faier, batch: Batch, row: int, *, references: bool = True) -> dict[str, float]:
    """Level scores of one sample by the network's single-image functions."""
    regions = batch.analysis("regions")
    image = int(batch.images[row])
    inside = regions.mask[image]
    visual = model.regions(regions.features[image : image + 1], regions.boxes[image : image + 1], inside[None])
    texts = [batch.texts[i] for i in (batch.candidates[row], *(batch.references(row) if references else ()))]
    nodes = model.captions(*zip(*(reading(text, graph(text)) for text in texts)))
    found = {}
    for level in model.levels:
        candidate, *others = nodes.level(level)
        best = model.matched(model.sides(level, visual[level][0][inside], others), candidate)
        found[level] = float(best.mean()) if best.size else 0.0
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_to_one_sample_at_a_time(variant: str, folders: dict[str, str]) -> None:
    batch = batch_of(SAMPLES)
    found = metric.Faier(model=folders[variant]).statistics(batch)
    model = load(folders[variant])
    for row in range(len(SAMPLES)):
        expected = one_by_one(model, batch, row)
        for level, value in expected.items():
            assert found.columns[level][row] == pytest.approx(value, abs=1e-5)
        assert found.values[row, 0] == pytest.approx(sum(expected.values()), abs=1e-5)
        if "fidelity" in found.columns:
            alone = sum(one_by_one(model, batch, row, references=False).values())
            assert found.columns["fidelity"][row] == pytest.approx(alone, abs=1e-5)
            assert found.columns["gain"][row] == pytest.approx(sum(expected.values()) - alone, abs=1e-5)
    assert ("gain" in found.columns) == (variant not in ("fier", "aier"))


def test_references_can_be_left_aside(folders: dict[str, str]) -> None:
    both = metric.Faier(model=folders["faier"]).statistics(batch_of(SAMPLES))
    alone = metric.Faier(model=folders["faier"], references="none").statistics(batch_of(SAMPLES))
    np.testing.assert_allclose(alone.values[:, 0], both.columns["fidelity"], atol=1e-6)
    assert both.columns["gain"][2] == pytest.approx(0.0, abs=1e-6)  # it has no references
    assert "gain" not in alone.columns


CAPTIONS = st.lists(st.sampled_from(WORDS[2:]), min_size=1, max_size=6).map(" ".join)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(CAPTIONS, st.lists(CAPTIONS, max_size=3), st.sampled_from("12")), min_size=1, max_size=6),
    st.randoms(),
)
def test_batching_and_the_order_of_regions_change_nothing(folders, rows, random) -> None:
    samples = [Sample(id=str(i), candidate=c, references=tuple(r), image=k) for i, (c, r, k) in enumerate(rows)]
    whole = batch_of(samples)
    scores = metric.Faier(model=folders["faier"]).statistics(whole).values[:, 0]
    assert np.isfinite(scores).all()
    alone = [metric.Faier(model=folders["faier"]).statistics(batch_of([sample])).values[0, 0] for sample in samples]
    np.testing.assert_allclose(scores, alone, atol=1e-5)
    turned = batch_of(samples)
    regions = turned.analysis("regions")
    order = list(range(regions.features.shape[1]))
    random.shuffle(order)
    if regions.mask.all():
        regions.features, regions.boxes = regions.features[:, order], regions.boxes[:, order]
        again = metric.Faier(model=folders["faier"]).statistics(turned).values[:, 0]
        np.testing.assert_allclose(scores, again, atol=1e-5)


def test_what_cannot_be_judged_is_named(folders: dict[str, str]) -> None:
    samples = [
        Sample(id="empty", candidate=" ", references=("a dog",), image="1"),
        Sample(id="marks", candidate="!!!", references=("a dog",), image="1"),
        Sample(id="lost", candidate="a dog", references=("a dog",), image="22"),
        Sample(id="none", candidate="a dog", references=("a dog",), image=None),
        Sample(id="fine", candidate="a dog", references=("a dog", " "), image="1"),
    ]
    found = metric.Faier(model=folders["faier"]).statistics(batch_of(samples, lost=1))
    assert found.problems == {
        0: "the candidate is empty",
        1: "the candidate has no word",
        2: "image lost",
        3: "no image is named",
    }
    assert np.isnan(found.values[:4, 0]).all()
    assert np.isfinite(found.values[4, 0])
    with pytest.raises(VericapError, match=r"fingerprint other.*tiny.*fingerprint f"):
        metric.Faier(model=folders["faier"]).statistics(batch_of(samples[4:], fingerprint="other"))
    wrong = batch_of(samples[4:])
    wrong.analysis("regions").features = np.zeros((1, 3, WIDTH + 1), np.float32)
    with pytest.raises(VericapError, match=f"width {WIDTH + 1}, this FAIEr model reads {WIDTH}"):
        metric.Faier(model=folders["faier"]).statistics(wrong)


def test_memory_is_bounded_and_changes_nothing(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    plenty = metric.Faier(model=folders["faier"]).statistics(batch_of(SAMPLES))
    monkeypatch.setattr(metric, "_BLOCK", 1)
    monkeypatch.setattr(metric, "Encodings", lambda model: Encodings(model, room=0))
    little = metric.Faier(model=folders["faier"]).statistics(batch_of(SAMPLES))
    np.testing.assert_allclose(plenty.values, little.values, atol=1e-6)
    np.testing.assert_allclose(plenty.columns["gain"], little.columns["gain"], atol=1e-6)


def test_fifty_references_and_two_hundred_words(folders: dict[str, str]) -> None:
    many = tuple(f"a dog {'red ' * i}on the grass" for i in range(50))
    samples = [Sample(id="x", candidate="a dog " * 100, references=many, image="1")]
    batch = batch_of(samples)
    found = metric.Faier(model=folders["faier"]).statistics(batch)
    expected = sum(one_by_one(load(folders["faier"]), batch, 0).values())
    assert found.values[0, 0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reasons(variant: str, folders: dict[str, str]) -> None:
    batch = batch_of(SAMPLES, explain=True)
    found = metric.Faier(model=folders[variant]).statistics(batch)
    first, second = found.explanations[0], found.explanations[1]
    json.dumps(first)
    assert first["words"] == ["a", "dog", "on", "the", "grass"]
    assert np.mean(first["word_scores"]) == pytest.approx(found.columns["object"][0], abs=1e-3)
    if variant != "aier":
        matrix = np.array(first["matrix"])
        assert matrix.shape == (4, 5) == (len(first["boxes"]), len(first["words"]))
        assert first["word_regions"] == matrix.argmax(axis=0).tolist()
        assert grounded(first, [""] * 4).scores.shape == (4, 5)
    if variant != "faier-norel":
        assert first["triplets"] == ["dog on grass"]
        assert np.mean(first["triplet_scores"]) == pytest.approx(found.columns["relation"][0], abs=1e-3)
        assert second["note"] == NO_TRIPLETS
        assert found.columns["relation"][1] == 0.0
    if variant in ("faier", "faier-norel"):
        assert [len(reference["words"]) for reference in first["references"]] == [3, 5]
        for reference in first["references"]:
            np.testing.assert_allclose(np.sum(reference["attention"], axis=1), 1.0, atol=1e-3)


def test_through_the_engine(folders: dict[str, str]) -> None:
    result = score_batch(batch_of(SAMPLES), [make(f"faier:model={folders['faier']}")])
    (score,) = result.corpus.values()
    for part in ("variant:faier", "similarity:dot", "features:f", "refs:0-2", "faier:tiny"):
        assert part in score.signature
