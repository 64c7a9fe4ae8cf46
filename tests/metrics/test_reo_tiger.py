"""REO and TIGEr: equations against loops, projection identities, directions, problems."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from vericap.core.analysis import closure
from vericap.core.batch import Batch
from vericap.core.errors import VericapError
from vericap.core.explanation import Explanation
from vericap.core.metric import Metric
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.metrics import tiger
from vericap.metrics.batching import cases, grouped, references_of
from vericap.metrics.reo import Extraness, Omission, Relevance, measures
from vericap.metrics.reo.explanation import beyond
from vericap.metrics.reo.measures import residual
from vericap.models.word_meanings import Meanings, content
from vericap.run.analyses import PhotoRegions, ScanWeights, ScanWords, TokenStates, WordMeanings
from vericap.run.plan import Plan, analysed
from vericap.text.encoders import StateTable
from vericap.vision.store import RegionTable

STATES = TokenStates(ScanWeights().text_encoder)

WIDTH, GIVEN = 6, 8
POINTING = {"attention": {"right": 0.6, "chance": 0.3, "cases": 500}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("scan")
    rng = np.random.default_rng(0)
    weights = {
        "image": rng.normal(size=(WIDTH, GIVEN)),
        "image_bias": rng.normal(size=WIDTH),
        "text": rng.normal(size=(WIDTH, 5)),
        "text_bias": rng.normal(size=WIDTH),
        "whitening": np.eye(WIDTH) + 0.1 * rng.normal(size=(WIDTH, WIDTH)),
    }
    save_file({k: v.astype(np.float32) for k, v in weights.items()}, folder / "scan.safetensors")
    meta = {"name": "tiny", "fingerprint": "f", "words": "states", "text_encoder": "captions", "pointing": POINTING}
    (folder / "meta.json").write_text(json.dumps(meta))
    return str(folder)


def batch_of(samples: list[Sample], *, fingerprint: str = "f", lost: int = -1, bare: int = -1) -> Batch:
    """A batch with made regions and states; image `lost` cannot be read, image `bare` has no region."""
    batch = Batch.of(samples)
    rng = np.random.default_rng(3)
    images = [
        None if i in (lost, bare) else (rng.normal(size=(3 + i % 2, GIVEN)), np.tile([0, 0, 1, 1], (3 + i % 2, 1)))
        for i in range(len(batch.image_keys))
    ]
    problems = {lost: "image lost"} if lost >= 0 else {}
    batch.put(PhotoRegions(), RegionTable.of(images, fingerprint, problems))
    lengths = [0 if not text.strip() else len(text.split()) + 2 for text in batch.texts]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    total = int(offsets[-1])
    states = np.stack([np.random.default_rng(abs(hash(i)) % 999).normal(size=5) for i in range(total)])
    spans = np.zeros((total, 2), np.int32)
    for text, start in zip(batch.texts, offsets):
        place = 0
        for j, word in enumerate(text.split()):
            place = text.index(word, place)
            spans[start + 1 + j] = place, place + len(word)
    batch.put(STATES, StateTable(offsets, states.astype(np.float16), np.zeros(total, np.int32), spans))
    return batch


def scored(metric: Metric, batch: Batch) -> Statistics:
    """Statistics of a metric that sees nothing but what it declares."""
    declared = metric.requires(batch.settings)
    return metric.statistics(analysed(batch, *declared).read_by(metric.label, declared))


def explained(metric: Metric, batch: Batch, *, full: bool = False) -> list[Explanation | None]:
    """Reasons for all samples; words read alone are made here, since the made model reads five numbers a word."""
    words = sorted({word for text in batch.texts for word in content(text)})
    vectors = np.stack([np.random.default_rng(len(word)).normal(size=WIDTH) for word in words]).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    batch.put(WordMeanings(metric.opt.model), Meanings(words, vectors))
    declared = Plan((metric,), batch.settings, explain=True).keys_of(metric)
    return metric.explain(analysed(batch, *declared).read_by(metric.label, declared), range(len(batch)), full=full)


SAMPLES = [
    Sample(id="a", candidate="a dog runs", references=("the dog is running", "a brown dog"), image="1"),
    Sample(id="b", candidate="two men", references=("men talk",), image="2"),
    Sample(id="c", candidate="a dog runs", references=(), image="2"),
]


def loop(batch: Batch, row: int, kind: str, model_path: str) -> tuple[float, float]:
    """(image, reference) value of one sample, one vector at a time."""
    scan, found = batch[ScanWeights(model_path)], batch[PhotoRegions()]
    image = batch.images[row]
    regions = scan.regions(found.features[image])[found.mask[image]]
    words = scan.words(batch.texts, batch[STATES])

    def contexts(text: int) -> np.ndarray:
        h = words[text]
        s = regions @ h.T
        s = np.where(s > 0, s, 0.1 * s)
        s = s / np.sqrt((s**2).sum(axis=0))
        alpha = np.exp(9 * s)
        return (alpha / alpha.sum(axis=1, keepdims=True)) @ h

    def measure(a: np.ndarray, g: np.ndarray) -> float:
        inverse = scan.whitening.T @ scan.whitening
        if kind == "relevance":
            return float(a @ g / np.linalg.norm(a) / np.linalg.norm(g))
        first, on = (a, g) if kind == "extraness" else (g, a)
        rest = first - (first @ on) / (on @ on) * on
        gap = first - rest
        return float(np.sqrt(gap @ inverse @ gap))

    own = contexts(int(batch.candidates[row]))
    image_value = np.mean([measure(a, v) for a, v in zip(own, regions)])
    others = [np.mean([measure(a, g) for a, g in zip(own, contexts(int(t)))]) for t in batch.references(row)]
    return float(image_value), float(np.mean(others)) if others else float("nan")


@pytest.mark.parametrize("kind", ["relevance", "extraness", "omission"])
def test_equal_to_the_loop(kind: str, model: str) -> None:
    batch = batch_of(SAMPLES)
    made = {"relevance": Relevance, "extraness": Extraness, "omission": Omission}[kind]
    values = scored(made(model=model), batch)
    for row in range(3):
        image, reference = loop(batch, row, kind, model)
        assert values.columns["image"][row] == pytest.approx(image, rel=1e-4)
        expected = image if row == 2 else reference  # the paper's reading
        assert values.values[row, 0] == pytest.approx(expected, rel=1e-4)


def test_truth_is_an_option(model: str) -> None:
    batch = batch_of(SAMPLES)
    image = scored(Relevance(model=model, truth="image"), batch).values[:, 0]
    only = scored(Relevance(model=model, truth="reference"), batch)
    both = scored(Relevance(model=model, truth="both"), batch)
    np.testing.assert_allclose(both.values[:2, 0], 0.3 * image[:2] + 0.7 * only.values[:2, 0], rtol=1e-6)
    assert only.problems == {2: "no reference to compare with"}
    assert np.isnan(both.values[2, 0])


def test_many_captions_of_an_image_are_scored_as_each_alone(model: str) -> None:
    """More rows than a case or a group holds, with different references, in any order."""
    texts = ["a dog", "two men talk", "a dog runs far", "men"]
    many = [Sample(str(n), texts[n % 4], tuple(texts[: n % 3]), str(n % 2 + 1)) for n in range(2000)]
    metrics: list[Metric] = [Omission(model=model), tiger.Tiger(model=model)]
    for metric in metrics:
        whole = scored(metric, batch_of(many)).values
        for kind in range(12):
            np.testing.assert_allclose(whole[kind::12], np.tile(whole[kind], (len(whole[kind::12]), 1)), atol=1e-6)


def test_cases_and_groups() -> None:
    batch = Batch.of([Sample(str(n), f"c{n}", ("x", "?") if n % 2 else ("x", "y"), str(n % 2)) for n in range(10)])
    found = list(cases(batch, np.arange(10), references_of(batch), together=3))
    assert [case.rows.tolist() for case in found] == [[0, 2, 4], [6, 8], [1, 3, 5], [7, 9]]
    assert [[batch.texts[text] for text in case.references] for case in found] == [["x", "y"]] * 2 + [["x"]] * 2
    assert [case.image for case in found] == [0, 0, 1, 1]
    sizes = [[len(case.rows) for case in group] for group in grouped(found, lambda case: len(case.rows), 5)]
    assert sizes == [[3, 2], [3, 2]]
    assert [len(group) for group in grouped(found, lambda case: 99, 5)] == [1, 1, 1, 1]
    assert [len(group) for group in grouped(found, lambda case: 0, 5, most=3)] == [3, 1]
    assert not list(cases(batch, np.zeros(0, np.int64), references_of(batch)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_projection_identities(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, g = rng.normal(size=(2, 5, 7))
    rest = residual(a, g)
    np.testing.assert_allclose((rest * g).sum(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(residual(3 * g, g), 0, atol=1e-9)
    np.testing.assert_allclose(rest + measures.projection(a, g), a, atol=1e-12)
    whitening = rng.normal(size=(7, 7))
    found = measures.measures(measures.inner(a, g), *(measures.lengths(x, x @ whitening.T) for x in (a, g)))
    # The distance to the orthogonal part, as the definition has it.
    np.testing.assert_allclose(found["reo-extraness"], np.linalg.norm((a - rest) @ whitening.T, axis=-1), rtol=1e-9)
    missing = g - residual(g, a)
    np.testing.assert_allclose(found["reo-omission"], np.linalg.norm(missing @ whitening.T, axis=-1), rtol=1e-9)
    assert (np.abs(found["reo-relevance"]) <= 1 + 1e-9).all()


def test_bad_rows_are_named_and_the_rest_is_scored(model: str) -> None:
    samples = [
        *SAMPLES,
        Sample(id="d", candidate="  ", references=("x",), image="1"),
        Sample(id="e", candidate="dog", references=("x",), image="3"),
        Sample(id="f", candidate="dog", references=("x",)),
        Sample(id="g", candidate="?? \U0001f600", references=("x",), image="1"),
        Sample(id="h", candidate="dog", references=("x",), image="4"),
    ]
    wordless, bare = "the candidate has no word", "the image has no region"
    expected = {3: wordless, 4: "image lost", 5: "no image is named", 6: wordless, 7: bare}
    found = scored(Relevance(model=model), batch_of(samples, lost=2, bare=3))
    assert found.problems == expected
    assert np.isfinite(found.values[:3, 0]).all()
    grounded = scored(tiger.Tiger(model=model), batch_of(samples, lost=2, bare=3))
    assert grounded.problems == {2: "no reference to compare with", **expected}
    assert explained(Relevance(model=model), batch_of(samples, lost=2, bare=3))[3:] == [None] * 5


@pytest.mark.parametrize("made", [Relevance, Extraness, Omission, tiger.Tiger])
def test_references_without_a_word_say_nothing(made: type[Metric], model: str) -> None:
    def values(*references: str) -> np.ndarray:
        # The texts of all runs are the same: the made states of a text depend on its place.
        samples = [Sample("a", "a dog runs", references, "1"), Sample("b", "a dog runs", ("a dog", "  ", "???"), "2")]
        return scored(made(model=model), batch_of(samples)).values[0]

    np.testing.assert_array_equal(values("a dog", "  ", "???"), values("a dog"))


def test_features_of_another_extractor_are_refused(model: str) -> None:
    with pytest.raises(VericapError, match=r"fingerprint other.*tiny.*fingerprint f"):
        scored(Relevance(model=model), batch_of(SAMPLES, fingerprint="other"))


def test_signatures_name_model_encoder_and_regions() -> None:
    batch = Batch.of(SAMPLES)
    parts = dict(part.split(":", 1) for part in tiger.Tiger().signature(batch).split("|"))
    assert {"model", "encoder", "regions", "refs"} <= set(parts)
    assert parts["model"].startswith("vericap-scan-")
    assert "refs:" not in Relevance(truth="image").signature(batch)


def test_explanations_judge_words_and_name_what_is_missing(model: str) -> None:
    found = explained(Omission(model=model), batch_of(SAMPLES))
    first, second, alone = found
    assert first is not None
    assert second is not None
    assert alone is not None
    assert [(word.text, word.start, word.end) for word in first.words] == [("a", 0, 1), ("dog", 2, 5), ("runs", 6, 10)]
    assert first.words[0].support is None  # a stop word
    for word in first.words[1:]:  # a reference says "dog", and "running"
        assert (word.support, word.source, word.region) == (1.0, "references", None)
    both = explained(Omission(model=model, truth="both"), batch_of(SAMPLES))[0]
    assert both is not None
    assert {word.region for word in both.words[1:]} == {(0, 0, 1, 1)}  # the image is a truth as well
    assert [item.text for item in first.missing] in ([], ["brown"])
    two, men = second.words
    assert two.support is not None
    assert 0 <= two.support < 1
    assert men.support == 1
    assert all(item.source == "references" and item.weight > 0 for item in (*first.missing, *second.missing))
    assert {word.source for word in alone.words} == {"", "image"}  # nothing but the image
    assert not alone.missing
    assert not first.heatmaps
    assert not first.facts
    assert all(one and len(json.dumps(one.as_dict())) < 3000 for one in found)


def test_pictures_only_in_full(model: str) -> None:
    first = explained(Omission(model=model), batch_of(SAMPLES), full=True)[0]
    assert first is not None
    (drawn,) = first.heatmaps
    assert drawn.columns == ("<mark>", "a", "dog", "runs", "<mark>")
    assert np.array(drawn.values).shape == (3, 5)
    np.testing.assert_allclose(np.sum(drawn.values, axis=1), 1, atol=1e-3)
    assert len(drawn.boxes) == len(first.facts["extra_by_region"]) == len(first.facts["missing_by_region"]) == 3
    assert all(set(names) == {"dog", "runs"} for names in first.facts["nearest_to_extra"])
    assert Explanation.from_dict(json.loads(json.dumps(first.as_dict()))).words[1].text == "dog"


def test_reasons_look_at_what_the_score_looks_at(model: str) -> None:
    """With the image as truth neither score nor reasons depend on references, whatever else the run computes."""
    bare = [Sample(sample.id, sample.candidate, (), sample.image) for sample in SAMPLES]
    # The made states of a text depend on its place: a last sample brings the same texts.
    every = tuple(text for sample in SAMPLES for text in sample.references)
    texts = [sample.candidate for sample in SAMPLES]
    with_references = batch_of([Sample("0", texts[0], (*texts, *every), "1"), *SAMPLES])
    without = batch_of([Sample("0", texts[0], (*texts, *every), "1"), *bare])
    metric = Relevance(model=model, truth="image")
    analysed(with_references, *Relevance(model=model).requires(Settings()))  # another column of the run
    assert explained(metric, with_references, full=True)[1:] == explained(metric, without, full=True)[1:]
    only = explained(Relevance(model=model, truth="reference"), with_references)
    assert {word.source for one in only[1:3] if one for word in one.words} == {"", "references"}
    assert all(word.region is None for one in only[1:3] if one for word in one.words)
    assert only[3] is None  # no reference, no score


def test_a_model_that_reads_words_alone(tmp_path: Path) -> None:
    """The encoder reads every word by itself: the same word has one vector in all captions."""
    rng = np.random.default_rng(0)
    shapes = {"image": GIVEN, "text": 384, "text_output": 4, "image_bias": 0, "text_bias": 0}
    weights = {name: rng.normal(size=(WIDTH, shape) if shape else WIDTH) for name, shape in shapes.items()}
    weights |= {"text_hidden": rng.normal(size=(4, 384)), "text_hidden_bias": rng.normal(size=4)}
    save_file({name: value.astype(np.float32) for name, value in weights.items()}, tmp_path / "scan.safetensors")
    meta = {"name": "tiny", "fingerprint": "f", "words": "alone", "text_encoder": "captions", "marks": "unread"}
    (tmp_path / "meta.json").write_text(json.dumps({**meta, "pointing": POINTING}))
    metric = Relevance(model=str(tmp_path))
    batch = batch_of(SAMPLES)
    needed = closure(metric.requires(batch.settings), batch.settings)
    assert TokenStates("captions", alone=True) in needed
    assert TokenStates("captions") not in needed
    assert "encoder:" in metric.signature(batch)
    assert np.isfinite(scored(metric, batch).values).all()
    key = ScanWords(str(tmp_path))
    words, texts = analysed(batch, key)[key], batch.texts
    dogs = [words[place][text.split().index("dog") + 1] for place, text in enumerate(texts) if "dog" in text]
    assert len(dogs) == 3
    for dog in dogs[1:]:
        np.testing.assert_array_equal(dog, dogs[0])
    assert all(not words[place][[0, -1]].any() for place in range(len(texts)))  # marks are not read
    declared = Plan((metric,), batch.settings, explain=True).keys_of(metric)
    (first,) = metric.explain(analysed(batch, *declared).read_by(metric.label, declared), [0], full=False)
    assert first is not None
    assert [word.text for word in first.words] == ["a", "dog", "runs"]


def test_a_model_with_a_vocabulary_asks_for_no_encoder(tmp_path: Path) -> None:
    """Words it does not know: a candidate of such words is a problem, a reference of such words is passed over."""
    rng = np.random.default_rng(0)
    shapes = {"weight_ih": (3 * WIDTH, 4), "weight_hh": (3 * WIDTH, WIDTH), "bias_ih": 3 * WIDTH, "bias_hh": 3 * WIDTH}
    weights = {f"gru_{name}{end}": rng.normal(size=shape) for name, shape in shapes.items() for end in ("", "_reverse")}
    vocabulary = ["<unknown>", "<start>", "<end>", "dog", "runs", "two", "men"]
    weights["embedding"] = rng.normal(size=(len(vocabulary), 4))
    weights |= {"image": rng.normal(size=(WIDTH, GIVEN)), "image_bias": rng.normal(size=WIDTH)}
    save_file({name: value.astype(np.float32) for name, value in weights.items()}, tmp_path / "scan.safetensors")
    meta = {"name": "tiny", "fingerprint": "f", "words": "gru", "vocabulary": vocabulary, "pointing": POINTING}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    metric = Omission(model=str(tmp_path))
    samples = [
        Sample("a", "a dog runs", ("two men", "zebras graze"), "1"),
        Sample("b", "a dog runs", ("two men",), "1"),
        Sample("c", "zebras graze", ("two men",), "1"),
    ]
    batch = batch_of(samples)
    assert STATES not in closure(metric.requires(batch.settings), batch.settings)
    assert "encoder:" not in metric.signature(batch)
    found = scored(metric, batch)
    assert found.problems == {2: "no word of the candidate is known to the model"}
    assert found.values[0, 0] == found.values[1, 0]
    declared = Plan((metric,), batch.settings, explain=True).keys_of(metric)
    (first,) = metric.explain(analysed(batch, *declared).read_by(metric.label, declared), [0], full=True)
    assert first is not None
    assert first.heatmaps[0].columns == ("<mark>", "a", "dog", "runs", "<mark>")
    assert [word.support is None for word in first.words] == [True, False, False]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_what_is_beyond_several_truths_is_orthogonal_to_all(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, truths = rng.normal(size=(3, 8)), rng.normal(size=(2, 3, 8))
    rest = beyond(a, np.concatenate([truths, truths[:1]]))  # one of them twice
    np.testing.assert_allclose((rest * truths).sum(axis=-1), 0, atol=1e-9)
    np.testing.assert_allclose(beyond(a, truths[:1]), residual(a, truths[0]), atol=1e-9)
    np.testing.assert_allclose(beyond(truths[0] + 2 * truths[1], truths), 0, atol=1e-9)


def loop_ndcg(candidate: list[float], reference: list[float]) -> float:
    gains = [(x - min(reference)) / (max(reference) - min(reference)) for x in reference]
    order = sorted(range(len(gains)), key=lambda i: -candidate[i])
    found = sum(gains[i] / np.log2(rank + 2) for rank, i in enumerate(order))
    return found / sum(g / np.log2(rank + 2) for rank, g in enumerate(sorted(gains, reverse=True)))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 20))
def test_tiger_parts_equal_the_loop(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    candidate, reference = rng.normal(size=(2, count))
    assert tiger.ranking(candidate, reference) == pytest.approx(loop_ndcg(list(candidate), list(reference)))
    p, q = np.exp(reference) / np.exp(reference).sum(), np.exp(candidate) / np.exp(candidate).sum()
    distance = sum(a * np.log(a / b) for a, b in zip(p, q))
    distance += np.log(np.linalg.norm(reference) / np.linalg.norm(candidate))
    expected = 1 - 1 / (1 + np.exp(-1.5 * distance))
    assert tiger.weight_distribution(candidate, reference) == pytest.approx(expected)
    assert tiger.ranking(reference, reference) == pytest.approx(1)
    assert tiger.weight_distribution(reference, reference) == pytest.approx(0.5)


def test_tiger_scores_and_names_missing_references(model: str) -> None:
    found = scored(tiger.Tiger(model=model), batch_of(SAMPLES))
    assert found.problems == {2: "no reference to compare with"}
    assert ((found.values[:2, 0] > 0) & (found.values[:2, 0] < 1)).all()
    np.testing.assert_allclose(found.values[:2, 0], (found.columns["rrs"] + found.columns["wds"])[:2] / 2)


def test_no_model_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(VericapError, match="vericap train scan"):
        scored(Relevance(model=str(tmp_path)), batch_of(SAMPLES))
