"""Training SCAN: it learns, resumes to the same weights, and scores the same without torch."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from vericap.core import shipped  # noqa: E402
from vericap.core.errors import InputError, VericapError  # noqa: E402
from vericap.graphs.claims import covered  # noqa: E402
from vericap.metrics import tiger  # noqa: E402
from vericap.models import scan as scoring  # noqa: E402
from vericap.text.encoders import open_encoder  # noqa: E402
from vericap.train import claims, losses  # noqa: E402
from vericap.train.scan import command, data, training  # noqa: E402
from vericap.train.scan.export import shrunk_whitening  # noqa: E402
from vericap.train.scan.network import ScanModule, ScanOptions, weights_of  # noqa: E402
from vericap.train.scan.soft_tiger import soft_tiger  # noqa: E402
from vericap.train.trainer import TrainPlan  # noqa: E402
from vericap.train.validate import agreement, near_pairs, recall  # noqa: E402

IMAGES, WIDTH = 40, 16
FEATURES = {"features": {"fingerprint": "f", "width": 20, "regions": 3}, "text_encoder": "captions"}


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def made_source(seed: int = 0) -> data.ScanSource:
    """Images whose captions' states are noisy linear images of their regions."""
    rng = np.random.default_rng(seed)
    meaning = rng.normal(size=(IMAGES, 24))
    mixing = np.random.default_rng(9).normal(size=(2, 24, 384))
    features = np.einsum("nd,dw->nw", meaning, mixing[0])[:, None, :20] + 0.1 * rng.normal(size=(IMAGES, 3, 20))
    sentences = meaning[:, None] @ mixing[1] + 2.0 * rng.normal(size=(IMAGES, 5, 384))
    lengths = rng.integers(3, 7, size=IMAGES * 5)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    states = np.repeat(sentences.reshape(-1, 384), lengths, axis=0) + rng.normal(size=(int(lengths.sum()), 384))
    text = data.TextStates(states.astype(np.float16), offsets)
    return data.ScanSource(features.astype(np.float16), unit(sentences).astype(np.float16), text)


def options(**changes: object) -> ScanOptions:
    return ScanOptions(**{"width": WIDTH, "hidden": 8, "batch": 20, "rate": 5e-3, **changes})  # type: ignore[arg-type]


def run(folder: Path, *, steps: int = 60, **changes: object) -> dict:
    source = made_source()
    plan = TrainPlan(steps=steps, warmup=5, validate=20, threads=1, average=0.9)
    return training.train([source], [20], source, folder, plan=plan, options=options(**changes), **FEATURES, quiet=True)


@pytest.mark.parametrize(
    ("loss", "words"), [("distil", "states"), ("infonce", "states"), ("hardest", "states"), ("distil", "alone")]
)
def test_it_learns_to_retrieve(loss: str, words: str, tmp_path: Path) -> None:
    run(tmp_path, steps=120, loss=loss, words=words)
    rows = (tmp_path / "log.csv").read_text().splitlines()
    names, last = rows[0].split(","), rows[-1].split(",")
    assert float(last[names.index("i2t_r1")]) > 80
    assert (tmp_path / "loss.png").is_file()


def test_exported_model_scores_as_torch_does(tmp_path: Path) -> None:
    run(tmp_path, steps=20)
    scorer = scoring.load(str(tmp_path / "scan"))
    source = made_source()
    words = scoring.CaptionWords(
        scoring.unit(source.text.states.astype(np.float32) @ scorer.weights["text"].T + scorer.weights["text_bias"]),
        source.text.offsets,
    )
    mask = np.ones(source.features.shape[:2], np.float32)
    found = scorer.matrix(scorer.regions(source.features.astype(np.float32)), mask, words)
    model = ScanModule(options(), 20)
    with torch.no_grad():
        for key, layer in (("image", model.image), ("hidden", model.hidden), ("text", model.text)):
            layer.weight.copy_(torch.from_numpy(scorer.weights[key]))
            layer.bias.copy_(torch.from_numpy(scorer.weights[f"{key}_bias"]))
        model.output.weight.copy_(torch.from_numpy(scorer.weights["output"]))
        expected = training.ScanTask(model, [source], [20], source, 0).matrices(source)[0]
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("marks", [False, True])
def test_words_read_alone_are_the_same_without_torch(marks: bool, tmp_path: Path) -> None:
    """Of the shipped encoder's words, as a written model reads them."""
    run(tmp_path, steps=60, words="alone", marks=marks)
    scorer = scoring.load(str(tmp_path / "scan"))
    assert scorer.meta["words"] == "alone"
    assert scorer.weights["text_hidden"].shape == (8, 384)
    assert np.abs(scorer.weights["text_output"]).max() > 1e-3  # it has learned something
    texts = ["a dog runs, fast", "", "the dog's t-shirt"]
    states = open_encoder("captions").word_states(texts)
    text = data.TextStates(states.states, states.offsets, None if marks else states.lettered(texts))
    model = ScanModule(options(words="alone", marks=marks), 20)
    model.begin_with(scorer.weights)
    with torch.no_grad():
        expected = model.words(text.read(range(3))).numpy()
    found = scorer.words(texts, states)
    np.testing.assert_allclose(found.vectors, expected, atol=1e-4)
    np.testing.assert_array_equal(found.offsets, states.offsets)
    np.testing.assert_array_equal(found[0][2], found[2][2])  # the dog of either caption
    linear = scoring.unit(states.states.astype(np.float32) @ scorer.weights["text"].T + scorer.weights["text_bias"])
    assert np.abs(found.vectors - linear)[found.vectors.any(axis=1)].max() > 1e-3
    assert found.vectors.any(axis=1).tolist() == (states.lettered(texts) | marks).tolist()


def test_relevance_to_references_is_the_metric_of_reo() -> None:
    """Training sees the same number as the metric: mean cosine of context vectors, then the mean over references."""

    def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (unit(a) * unit(b)).sum(axis=-1)

    source = made_source()
    torch.manual_seed(0)
    model = ScanModule(options(references=2), 20)
    task = training.ScanTask(model, [source], [20], source, 0)
    with torch.no_grad():
        image, both = task.matrices(source)
        assert both is not None
        regions = model.regions(torch.from_numpy(source.features.astype(np.float32))).numpy()

        def context(of: int, caption: int) -> np.ndarray:
            words = model.words(source.text.read([caption])).numpy()
            alpha = scoring.weights(regions[of] @ words.T, np.ones(3, np.float32), model.options.attention())
            return alpha @ words

        for row, column in ((0, 0), (3, 17), (39, 4)):
            told = [cosine(context(row, column), context(row, row * 5 + k)).mean() for k in (1, 2)]
            assert both[row, column] == pytest.approx((image[row, column] + np.mean(told)) / 2, abs=1e-5)


def test_learning_with_references(tmp_path: Path) -> None:
    run(tmp_path, steps=60, references=2, tiger=1.0, near=4)
    names, *rows = [line.split(",") for line in (tmp_path / "log.csv").read_text().splitlines()]
    for learned in ("both", "told", "tiger"):
        assert float(rows[-1][names.index(learned)]) < float(rows[0][names.index(learned)])
    assert {"agreement", "image"} <= set(names)
    with pytest.raises(VericapError, match="need as many captions"):
        run(tmp_path / "more", references=4)


def said(seed: int, captions: int) -> claims.ClaimTable:
    """Made claims: none to four of every caption, from a table of phrases."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, size=captions)
    phrases = rng.integers(0, 30, size=int(counts.sum()))
    weights = rng.choice([1.0, 3.0], size=len(phrases)).astype(np.float32)
    table = unit(rng.normal(size=(30, 384))).astype(np.float16)
    return claims.ClaimTable(table, np.concatenate([[0], np.cumsum(counts)]), phrases, weights)


def test_claims_are_compared_as_spice_soft_does() -> None:
    images = 6
    given = said(1, images * 5)
    rng = np.random.default_rng(2)
    own = torch.from_numpy(np.stack([rng.permutation(5)[:2] for _ in range(images)]))
    held = torch.from_numpy(rng.integers(0, 2, size=(images, 5)).astype(np.float32))
    every = given.read(np.arange(images * 5))
    found = losses.Claimed(every.vectors, every.weights, every.counts, own).target(held)

    for image in range(images):
        for column in range(images * 2):
            caption = column // 2 * 5 + int(own[column // 2, column % 2])
            others = [image * 5 + k for k in range(5) if held[image, k] and image * 5 + k != caption]
            if not others and caption // 5 == image:
                others = [caption]  # beside which no other is held: it stands for itself
            mine, theirs = (given.read(np.array(some, dtype=np.int64)) for some in ([caption], others))
            expected = 0.0
            if len(mine.weights) and len(theirs.weights):
                similar = (mine.vectors @ theirs.vectors.t()).numpy()
                expected = float(np.mean(covered(similar, mine.weights.numpy(), theirs.weights.numpy())))
            assert float(found[image, column]) == pytest.approx(expected, abs=1e-5)


def test_claims_of_further_candidates() -> None:
    given = said(5, 24)  # four images of five captions, four more captions
    every = given.read(np.arange(24))
    own, held = torch.zeros(4, 1, dtype=torch.long), torch.ones(4, 5)
    found = losses.Claimed(every.vectors, every.weights, every.counts, own).target(held)
    rows, columns = np.repeat(np.arange(4), 4), np.tile(np.arange(20, 24), 4)
    np.testing.assert_allclose(found[:, 4:].flatten(), given.graded(rows, columns, 0), atol=1e-5)


def test_graded_claims_leave_the_candidate_out() -> None:
    given = said(3, 20)
    every = given.read(np.arange(20))
    own = torch.zeros(4, 1, dtype=torch.long)
    held = torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0]).repeat(4, 1)
    expected = losses.Claimed(every.vectors, every.weights, every.counts, own).target(held)
    rows, columns = np.repeat(np.arange(4), 4), np.tile(np.arange(4) * 5, 4)
    np.testing.assert_allclose(given.graded(rows, columns, 2), expected.flatten(), atol=1e-5)


def test_learning_from_claims_and_going_on(tmp_path: Path) -> None:
    source = made_source()
    source.claims = said(4, IMAGES * 5)
    chosen = options(references=2, teacher="claims")

    def go(folder: str, steps: int, before: tuple | None = None) -> dict:
        plan = TrainPlan(steps=steps, warmup=5, validate=20, threads=1, average=0.9)
        return training.train(
            [source], [20], source, tmp_path / folder,
            plan=plan, options=chosen, **FEATURES, quiet=True, before=before,
        )  # fmt: skip

    first = go("first", 60)
    names, *rows = [line.split(",") for line in (tmp_path / "first" / "log.csv").read_text().splitlines()]
    assert float(rows[-1][names.index("loss")]) < float(rows[0][names.index("loss")])
    weights, meta = shipped.weights(str(tmp_path / "first" / "scan"), "scan")
    second = go("second", 20, (weights, meta["trained"]))
    assert second["before"]["steps"] == first["steps"]
    assert second["agreement"] > 0.8 * first["agreement"]  # it went on from there
    chosen = options(references=2, width=WIDTH + 1)
    with pytest.raises(VericapError, match="its options must be the same"):
        go("third", 20, (weights, {}))


def went_on(folder: Path, first: Path, *, steps: int = 20, share: float = 1.0, **changes: object) -> dict:
    """A training that begins with the model of another one."""
    source = made_source()
    weights, meta = shipped.weights(str(first / "scan"), "scan")
    plan = TrainPlan(steps=steps, warmup=1, validate=20, threads=1, average=0.5)
    more = {"before": (weights, meta["trained"]), "share": share, "quiet": True, **FEATURES}
    return training.train([source], [20], source, folder, plan=plan, options=options(**changes), **more)


@pytest.mark.parametrize("first", ["states", "alone"])
def test_words_read_alone_begin_with_either_model(first: str, tmp_path: Path) -> None:
    """With no step it is the model it begins with; a small network it has not is there, and adds nothing."""
    begun = run(tmp_path / "first", steps=40, words=first)
    none = went_on(tmp_path / "none", tmp_path / "first", steps=0, words="alone")
    assert none["agreement"] == pytest.approx(begun["agreement"], abs=2.0)  # the one is of 8-bit numbers
    before, after = (scoring.load(str(tmp_path / name / "scan")) for name in ("first", "none"))
    assert after.meta["words"] == "alone"
    assert after.weights["text_output"].any() == (first == "alone")
    texts = ["a dog", "a cat sleeps"]
    states = open_encoder("captions").word_states(texts)
    one, two = (model.words(texts, states).vectors for model in (before, after))
    np.testing.assert_allclose(one, two, atol=2e-2)
    more = went_on(tmp_path / "more", tmp_path / "first", words="alone")
    assert more["before"]["steps"] == begun["steps"]
    assert scoring.load(str(tmp_path / "more" / "scan")).weights["text_output"].any()
    if first == "alone":
        with pytest.raises(VericapError, match="another 'hidden': its options must be the same"):
            went_on(tmp_path / "other", tmp_path / "first", words="alone", hidden=9)


@pytest.mark.parametrize("words", ["states", "alone"])
def test_weights_go_a_share_of_the_way(words: str, tmp_path: Path) -> None:
    run(tmp_path / "first", steps=20)
    trained = {
        share: went_on(tmp_path / str(share), tmp_path / "first", share=share, words=words) for share in (1.0, 0.5, 0.0)
    }
    begun, whole, half, none = (
        shipped.weights(str(tmp_path / name / "scan"), "scan")[0] for name in ("first", "1.0", "0.5", "0.0")
    )
    moved = {}
    for name in sorted({*whole} - {"whitening"}):  # that one is of the weights that are written
        if name not in begun:  # the network of words read alone begins anew, and says nothing at first
            begun[name] = none[name]
        step = max(np.abs(given[name]).max() for given in (begun, whole)) / 127  # of the 8-bit numbers
        np.testing.assert_allclose(half[name], (begun[name] + whole[name]) / 2, atol=step + 1e-6)
        np.testing.assert_allclose(none[name], begun[name], atol=step + 1e-6)
        moved[name] = np.abs(whole[name] - begun[name]).max() / step
    assert moved["text"] > 4  # far enough to tell half of the way from all of it
    if words == "alone":
        assert not none["text_output"].any()
        assert moved["text_output"] > 4
    assert "share" not in trained[1.0]
    assert (trained[0.5]["share"], trained[0.0]["share"]) == (0.5, 0.0)
    source, model = made_source(), ScanModule(options(words=words), 20)
    model.begin_with(half)
    with torch.no_grad():  # what is said of the weights is true of those that are written
        found = training.ScanTask(model, [source], [20], source, 0).validate()
    assert trained[0.5]["agreement"] == pytest.approx(found["agreement"], abs=2.0)


def test_targets_leave_out_what_was_given() -> None:
    captions = torch.nn.functional.normalize(torch.randn(3, 5, 8), dim=-1)
    own, held = torch.tensor([[0, 1], [2, 0], [3, 4]]), torch.ones(3, 5)
    held[:, 2] = 0.0
    target = losses.held_out(losses.cosines(captions, own), own, held)
    for image in range(3):
        for column in range(6):
            at, k = divmod(column, 2)
            left = [c for c in range(5) if held[image, c] and not (at == image and c == int(own[at, k]))]
            expected = np.mean([float(captions[image, c] @ captions[at, own[at, k]]) for c in left])
            assert float(target[image, column]) == pytest.approx(expected, abs=1e-5)


def test_overlap_of_words_equals_the_loop() -> None:
    counts = torch.tensor([3, 1, 4, 2, 2, 0])  # three images with two captions, the last one without words
    words = torch.nn.functional.normalize(torch.randn(12, 8), dim=-1)
    parts = torch.split(words, counts.tolist())
    own = torch.tensor([[0], [1], [0]])
    found = losses.overlap(words, counts, own)
    assert found.shape == (3, 2, 3)
    for image in range(3):
        for caption in range(2):
            for at in range(3):
                one, other = parts[at * 2 + int(own[at, 0])], parts[image * 2 + caption]
                expected = 0.0
                if len(one) and len(other):
                    similar = one @ other.t()
                    expected = float(similar.max(dim=0).values.mean() + similar.max(dim=1).values.mean()) / 2
                assert float(found[image, caption, at]) == pytest.approx(expected, abs=1e-5)


def test_the_teacher_of_words(tmp_path: Path) -> None:
    run(tmp_path / "words", steps=40, teacher="words", references=1)
    names, *rows = [line.split(",") for line in (tmp_path / "words" / "log.csv").read_text().splitlines()]
    assert float(rows[-1][names.index("loss")]) < float(rows[0][names.index("loss")])
    text = made_source().text.read([0, 1, 5])
    states, counts = text.unmarked()
    assert len(states) == int(counts.sum()) == int(text.counts.sum()) - 6
    with pytest.raises(VericapError, match="token states"):
        training.ScanTask(
            ScanModule(options(words="gru", teacher="words"), 20, ["a"]),
            [data.ScanSource(np.zeros((2, 3, 20)), np.ones((2, 5, 384)), data.TextNumbers(["a"] * 10, ["a"]))],
            [2],
            made_source(),
            0,
        )


def test_gru_scores_as_torch_does(tmp_path: Path) -> None:
    texts = ["a dog runs", "two men talk to a dog", "a cat"]
    words = data.vocabulary(texts * 5, 4)
    assert words[:3] == ["<unknown>", "<start>", "<end>"]
    model = ScanModule(options(words="gru"), 20, words)
    coded = data.TextNumbers(texts, words)
    with torch.no_grad():
        text = coded.read(range(3))
        expected = np.split(model.words(text).numpy(), np.cumsum(text.counts.numpy())[:-1])
    meta = {"name": "x", "fingerprint": "f", "words": "gru", "vocabulary": words}
    found = scoring.ScanModel(weights_of(model), meta).words([*texts, "zebra"])
    for row in range(3):
        np.testing.assert_allclose(found[row], expected[row], atol=1e-5)
    assert len(found[3]) == 0  # unknown words only


@pytest.mark.parametrize("words", ["states", "alone"])
def test_interrupted_training_ends_the_same(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "whole", steps=40, words=words)
    stopping = training.Trainer.run

    def stop_early(self, losses, validate, *, until=None):  # type: ignore[no-untyped-def]
        stopping(self, losses, validate, until=20)
        raise KeyboardInterrupt

    monkeypatch.setattr(training.Trainer, "run", stop_early)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "halves", steps=40, words=words)
    monkeypatch.undo()
    run(tmp_path / "halves", steps=40, words=words)
    one, two = ((tmp_path / name / "scan" / "scan.safetensors").read_bytes() for name in ("whole", "halves"))
    assert one == two


def test_other_options_do_not_continue_a_training(tmp_path: Path) -> None:
    run(tmp_path, steps=20)
    with pytest.raises(VericapError, match="other options"):
        run(tmp_path, steps=40)


def test_hardest_negative_equals_the_loop() -> None:
    scores = torch.randn(5, 5, generator=torch.Generator().manual_seed(0))
    total = 0.0
    for i in range(5):
        total += max(max(0.0, 0.2 + float(scores[i, j] - scores[i, i])) for j in range(5) if j != i)
        total += max(max(0.0, 0.2 + float(scores[j, i] - scores[i, i])) for j in range(5) if j != i)
    assert float(losses.hardest_negative(scores)) == pytest.approx(total / 5, rel=1e-5)


def test_teacher_leaves_the_candidate_out() -> None:
    captions = torch.nn.functional.normalize(torch.randn(3, 5, 8), dim=-1)
    extra = torch.nn.functional.normalize(torch.randn(4, 8), dim=-1)
    candidates, target = losses.teacher(captions, extra)
    assert candidates.shape == (19, 8)
    for image in range(3):
        for column in range(19):
            if column // 5 == image:
                others = [captions[image, k] for k in range(5) if k != column % 5]
            else:
                others = list(captions[image])
            expected = np.mean([float(candidates[column] @ other) for other in others])
            assert float(target[image, column]) == pytest.approx(expected, abs=1e-5)
    chosen = torch.tensor([[0, 3], [1, 2], [4, 0]])
    small = losses.held_out(losses.cosines(captions, chosen), chosen, torch.ones(3, 5))
    columns = (torch.arange(3)[:, None] * 5 + chosen).reshape(-1)
    torch.testing.assert_close(small, target[:, columns])


def test_validation_figures() -> None:
    scores = np.full((4, 20), -1.0, np.float32)
    scores[np.arange(20) // 5, np.arange(20)] = 1.0
    assert recall(scores) == {f"{way}_r{k}": 100.0 for way in ("i2t", "t2i") for k in (1, 5, 10)}
    captions = unit(np.random.default_rng(0).normal(size=(30, 5, 6))).astype(np.float32)
    rows, columns, target = near_pairs(captions)
    perfect = np.zeros((30, 150), np.float32)
    perfect[rows, columns] = target
    assert agreement(perfect, (rows, columns, target)) == pytest.approx(100.0)


def test_whitening_inverts_the_shrunk_covariance() -> None:
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(500, 6)) @ rng.normal(size=(6, 6))
    whitening = shrunk_whitening(contexts, 0.3)
    covariance = np.cov(contexts.T)
    covariance = 0.7 * covariance * 6 / np.trace(covariance) + 0.3 * np.eye(6)
    np.testing.assert_allclose(whitening.T @ whitening, np.linalg.inv(covariance), rtol=1e-3, atol=1e-4)


def test_a_start_over_another_encoder_is_taken_and_one_without_is_not() -> None:
    other = SimpleNamespace(fingerprint="of another backbone", folder="store")
    given = Namespace(start="default", words="states", encoder="runs/vse")
    weights, trained = command.earlier(given, other)  # type: ignore[arg-type]
    assert weights["image"].shape[0] == trained["options"]["width"]
    alone, _ = command.earlier(Namespace(**{**vars(given), "words": "alone"}), other)  # type: ignore[arg-type]
    assert "text_hidden" in alone  # of the two that ship the one that reads words alone
    named = {"start": "default#states", "words": "alone"}
    first, _ = command.earlier(Namespace(**{**vars(given), **named}), other)  # type: ignore[arg-type]
    assert set(first) == set(weights)
    with pytest.raises(InputError, match="has the encoder 'default', not 'none'"):
        command.earlier(Namespace(**{**vars(given), "encoder": ""}), other)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="`words=states`"):
        command.earlier(Namespace(**{**vars(given), "words": "gru"}), other)  # type: ignore[arg-type]


def test_soft_tiger_is_tiger_where_ranks_are_clear() -> None:
    rng = np.random.default_rng(3)
    candidates, references = (rng.permutation(np.arange(2.0, 10.0) / 10)[None] for _ in range(2))
    told = torch.as_tensor(references)
    found = soft_tiger(torch.as_tensor(candidates)[None], told)
    expected = (
        tiger.ranking(candidates[0], references[0]) + tiger.weight_distribution(candidates[0], references[0])
    ) / 2
    assert found.item() == pytest.approx(expected, abs=1e-3)


def test_soft_tiger_does_not_see_regions_that_are_not_there() -> None:
    rng = np.random.default_rng(4)
    candidates, references = torch.as_tensor(rng.random((5, 2, 6))), torch.as_tensor(rng.random((2, 6)))
    there = torch.ones((2, 8), dtype=torch.float64)
    there[:, 6:] = 0
    wider = [torch.cat([some, torch.zeros((*some.shape[:-1], 2))], dim=-1) for some in (candidates, references)]
    assert torch.allclose(soft_tiger(*wider, there), soft_tiger(candidates, references), atol=1e-6)


def test_no_step_writes_the_model_it_begins_with(tmp_path: Path) -> None:
    """With another sharpness, which needs no training."""
    run(tmp_path / "first", steps=20)
    source, before = made_source(), shipped.weights(str(tmp_path / "first" / "scan"), "scan")
    plan = TrainPlan(steps=0, warmup=5, validate=20, threads=1, average=0.9)
    more = {"options": options(sharpness=3.0), "before": (before[0], before[1]["trained"]), "quiet": True, **FEATURES}
    training.train([source], [20], source, tmp_path / "again", plan=plan, **more)
    weights, meta = shipped.weights(str(tmp_path / "again" / "scan"), "scan")
    np.testing.assert_allclose(weights["text"], before[0]["text"], atol=1e-3)
    assert meta["attention"]["sharpness"] == 3.0
