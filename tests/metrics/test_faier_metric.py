"""The metric FAIEr on a tiny model: against the network's own equations, invariants, columns, problems, reasons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.graphs.scene_graph import SceneGraph
from vericap.metrics.faier import judge
from vericap.metrics.faier.explanation import NO_PLACE, NO_TRIPLETS, support_of
from vericap.metrics.faier.metric import Faier
from vericap.models.faier import EMPTY, UNKNOWN, VARIANTS, FaierConfig, FaierModel, load, reading
from vericap.models.faier.together import Encodings
from vericap.run.analyses import FaierWeights, Graphs, Regions
from vericap.run.plan import analysed
from vericap.vision.store import RegionTable

WIDTH = 7
WORDS = [UNKNOWN, EMPTY, "a", "dog", "cat", "on", "grass", "red", "runs", "the", "two", "men"]


def tiny(**options: object) -> FaierModel:
    config = FaierConfig(width=WIDTH, d=8, words=5, fingerprint="f", **options)  # type: ignore[arg-type]
    rng = np.random.default_rng(0)
    shapes = config.shapes(len(WORDS))
    weights = {name: rng.normal(size=shape).astype(np.float32) * 0.5 for name, shape in shapes.items()}
    return FaierModel(config, weights, WORDS, "tiny")


BETTER = {"right": 0.6, "chance": 0.3, "cases": 500}  # of the pointing game


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("faier")
    for variant in VARIANTS:
        pointing = dict.fromkeys(("candidate", "references", "relation"), BETTER)
        tiny(variant=variant).save(root / variant, storage="float32", pointing=pointing)
    return {variant: str(root / variant) for variant in VARIANTS}


def graph(text: str) -> SceneGraph:
    """ "x on y" holds one triplet."""
    first, sign, second = text.partition(" on ")
    return SceneGraph.of([(first.split()[-1], "on", second.split()[-1])] if sign else [])


def batch_of(samples: list[Sample], *, fingerprint: str = "f", lost: int = -1) -> Batch:
    batch = Batch.of(samples, Settings())
    items = []
    for image, name in enumerate(batch.image_keys):
        rng = np.random.default_rng(sum(map(ord, name)))
        count = 3 + len(name) % 2
        items.append(None if image == lost else (rng.normal(size=(count, WIDTH)), rng.random((count, 4))))
    batch.put(Regions(), RegionTable.of(items, fingerprint, {lost: "image lost"} if lost >= 0 else {}))
    batch.put(Graphs(), [graph(text) for text in batch.texts])
    return batch


def ready(batch: Batch, model: str) -> Batch:
    return analysed(batch, FaierWeights(model))


def judged(batch: Batch, model: str, **options: str) -> Statistics:
    return Faier(model=model, **options).statistics(ready(batch, model))


SAMPLES = [
    Sample(id="a", candidate="a dog on the grass", references=("the dog runs", "a red dog on grass"), image="1"),
    Sample(id="b", candidate="two men", references=("men on grass",), image="22"),
    Sample(id="c", candidate="a dog on the grass", references=(), image="22"),
    Sample(id="d", candidate="a cat", references=("the dog runs", "a red dog on grass"), image="1"),
]


def one_by_one(model: FaierModel, batch: Batch, row: int, *, references: bool = True) -> dict[str, float]:
    """Level scores of one sample by the network's single-image functions."""
    regions = batch[Regions()]
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
    found = judged(batch, folders[variant])
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
    both = judged(batch_of(SAMPLES), folders["faier"])
    alone = judged(batch_of(SAMPLES), folders["faier"], references="none")
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
    scores = judged(whole, folders["faier"]).values[:, 0]
    assert np.isfinite(scores).all()
    alone = [judged(batch_of([sample]), folders["faier"]).values[0, 0] for sample in samples]
    np.testing.assert_allclose(scores, alone, atol=1e-5)
    turned = batch_of(samples)
    regions = turned[Regions()]
    order = list(range(regions.features.shape[1]))
    random.shuffle(order)
    if regions.mask.all():
        regions.features, regions.boxes = regions.features[:, order], regions.boxes[:, order]
        again = judged(turned, folders["faier"]).values[:, 0]
        np.testing.assert_allclose(scores, again, atol=1e-5)


def test_what_cannot_be_judged_is_named(folders: dict[str, str]) -> None:
    samples = [
        Sample(id="empty", candidate=" ", references=("a dog",), image="1"),
        Sample(id="marks", candidate="!!!", references=("a dog",), image="1"),
        Sample(id="lost", candidate="a dog", references=("a dog",), image="22"),
        Sample(id="none", candidate="a dog", references=("a dog",), image=None),
        Sample(id="fine", candidate="a dog", references=("a dog", " ", "!!"), image="1"),
    ]
    found = judged(batch_of(samples, lost=1), folders["faier"])
    assert found.problems == {
        0: "the candidate has no word",
        1: "the candidate has no word",
        2: "image lost",
        3: "no image is named",
    }
    assert np.isnan(found.values[:4, 0]).all()
    without = Sample(id="fine", candidate="a dog", references=("a dog",), image="1")  # blanks and marks say nothing
    assert found.values[4, 0] == pytest.approx(judged(batch_of([without]), folders["faier"]).values[0, 0], abs=1e-6)
    with pytest.raises(VericapError, match=r"fingerprint other.*tiny.*fingerprint f"):
        judged(batch_of(samples[4:], fingerprint="other"), folders["faier"])
    wrong = batch_of(samples[4:])
    wrong[Regions()].features = np.zeros((1, 3, WIDTH + 1), np.float32)
    with pytest.raises(VericapError, match=f"width {WIDTH + 1}, the model tiny reads {WIDTH}"):
        judged(wrong, folders["faier"])


def test_memory_is_bounded_and_changes_nothing(folders: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    plenty = judged(batch_of(SAMPLES), folders["faier"])
    monkeypatch.setattr(judge, "_ROWS", 1)
    monkeypatch.setattr(judge, "Encodings", lambda model: Encodings(model, room=0))
    little = judged(batch_of(SAMPLES), folders["faier"])
    np.testing.assert_allclose(plenty.values, little.values, atol=1e-6)
    np.testing.assert_allclose(plenty.columns["gain"], little.columns["gain"], atol=1e-6)


def test_fifty_references_and_two_hundred_words(folders: dict[str, str]) -> None:
    many = tuple(f"a dog {'red ' * i}on the grass" for i in range(50))
    samples = [Sample(id="x", candidate="a dog " * 100, references=many, image="1")]
    batch = batch_of(samples)
    found = judged(batch, folders["faier"])
    expected = sum(one_by_one(load(folders["faier"]), batch, 0).values())
    assert found.values[0, 0] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("variant", VARIANTS)
def test_reasons(variant: str, folders: dict[str, str]) -> None:
    batch = ready(batch_of(SAMPLES), folders[variant])
    metric, looks = Faier(model=folders[variant]), variant != "aier"
    second, first, none = metric.explain(batch, [1, 0, 2])
    assert first is not None
    assert second is not None
    assert none is not None
    assert Explanation.from_dict(json.loads(json.dumps(first.as_dict()))).as_dict() == first.as_dict()
    assert [(word.text, word.start, word.end) for word in first.words][:2] == [("a", 0, 1), ("dog", 2, 5)]
    assert all(0.0 <= (word.support or 0.0) <= 1.0 for word in first.words)
    assert {word.source for word in first.words} == {"image" if variant == "fier" else "references"}
    assert {word.source for word in none.words} == {"image" if looks else "references"}
    assert [word.region is not None for word in first.words] == [False, looks, False, False, looks]
    assert not first.heatmaps
    if variant != "faier-norel":
        (match,) = first.matches
        assert match.candidate == ("dog on grass",)
        assert match.kind == "relation"
        assert (match.region is not None) == looks
        assert second.notes == (NO_TRIPLETS,)
        assert metric.statistics(batch).columns["relation"][1] == 0.0
    full = metric.explain(batch, [0], full=True)[0]
    assert full is not None
    check_heatmaps(full, variant, batch, load(folders[variant]))


def test_triplets_have_a_place_only_where_the_relation_level_points(tmp_path: Path) -> None:
    """Words point, triplets were not played or are no better than chance: no map of triplets, no region."""
    chance = {"right": 0.3, "chance": 0.3, "cases": 500}
    for name, more in (("unplayed", {}), ("chance", {"relation": chance})):
        pointing = {"candidate": BETTER, "references": BETTER, **more}
        tiny(variant="faier").save(tmp_path / name, storage="float32", pointing=pointing)
        folder = str(tmp_path / name)
        (full,) = Faier(model=folder).explain(ready(batch_of(SAMPLES[:1]), folder), [0], full=True)
        assert full is not None
        assert [found.title.split()[2] for found in full.heatmaps] == ["words"] * 3
        assert [match.region for match in full.matches] == [None]
        assert full.notes == (NO_PLACE,)
        assert any(word.region is not None for word in full.words)


def check_heatmaps(full: Explanation, variant: str, batch: Batch, model: FaierModel) -> None:
    """The first map holds what the words were matched with; attention sums to one."""
    titles = [found.title for found in full.heatmaps]
    assert ("regions x words of the candidate: similarity" in titles) == (variant != "aier")
    if variant in ("faier", "faier-norel"):
        similarity = np.array(full.heatmaps[0].values)
        assert similarity.shape == (4, 5) == (len(full.heatmaps[0].boxes), len(full.heatmaps[0].columns))
        expected = one_by_one(model, batch, 0)["object"]
        assert similarity.max(axis=0).mean() == pytest.approx(expected, abs=1e-3)
        support = support_of(similarity.max(axis=0), "dot")
        np.testing.assert_allclose([word.support for word in full.words], support, atol=1e-3)
    attention = [found for found in full.heatmaps if found.title.endswith("attention")]
    assert len(attention) == {"faier": 3, "faier-norel": 2}.get(variant, 0)  # words of two references, one's triplets
    for found in attention:
        np.testing.assert_allclose(np.sum(found.values, axis=1), 1.0, atol=1e-3)


def test_support_keeps_the_order_of_scores() -> None:
    np.testing.assert_allclose(support_of(np.array([-1.0, 0.0, 1.0, 9.0]), "dot"), [0.0, 0.0, 0.7616, 1.0], atol=1e-4)
    np.testing.assert_allclose(support_of(np.array([-0.5, 0.4, 1.0]), "cosine"), [0.0, 0.4, 1.0])


def test_a_word_that_is_read_as_two_has_their_mean(folders: dict[str, str]) -> None:
    texts = ("Two men's red-dog _ !", "two men's red dog _")
    samples = [Sample(id=text, candidate=text, references=(), image="1") for text in texts]
    one, two = Faier(model=folders["faier"]).explain(ready(batch_of(samples), folders["faier"]), [0, 1])
    assert one is not None
    assert two is not None
    assert [word.text for word in one.words] == ["Two", "men's", "red-dog"]
    assert one.words[2].support == pytest.approx(np.mean([word.support for word in two.words[2:]]), abs=1e-6)


def test_rows_that_cannot_be_judged_have_no_reasons(folders: dict[str, str]) -> None:
    samples = [Sample(id="a", candidate="???", references=(), image="1"), SAMPLES[0]]
    found = Faier(model=folders["faier"]).explain(ready(batch_of(samples), folders["faier"]), [1, 0])
    assert found[0] is not None
    assert found[1] is None


def test_signature(folders: dict[str, str]) -> None:
    metric = Faier(model=folders["faier"])
    signature = metric.signature(Batch.of(SAMPLES, Settings()))
    digest = json.loads((Path(folders["faier"]) / "meta.json").read_text())["files"]["faier.safetensors"][:8]
    for part in (f"model:tiny-{digest}", "references:auto", "graphs:", "regions:", "refs:0-2"):
        assert part in signature
    assert metric.ordered_references
