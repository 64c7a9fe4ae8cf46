"""Training the n-gram model: probabilities add up, equal the definition, and are used by the metric."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.cli import main
from vericap.core import shipped
from vericap.core.errors import InputError, MissingPart
from vericap.core.samples import Sample
from vericap.metrics.registry import make, resolve
from vericap.run.engine import Run
from vericap.text.ngram_lm import END, START, UNKNOWN, NgramModel, load, save
from vericap.train.lm.command import read_captions
from vericap.train.lm.training import train

CORPUS = [
    "a dog runs on the grass", "a dog sleeps on the sofa", "a cat sleeps on the sofa", "the dog runs",
    "a man rides a horse on the beach", "a man walks a dog on the beach", "two dogs run on the grass",
]  # fmt: skip


def tokens(lines: list[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def next_words(model: NgramModel, before: list[str]) -> np.ndarray:
    """p(w | before) for every word of the vocabulary."""
    size = len(model.vocabulary)
    context = np.full((model.order - 1, size), -1)
    history = [START, *model.numbers(before)]
    for back, word in enumerate(reversed(history[-(model.order - 1) :])):
        context[back] = word
    found = np.exp(model.scores(np.arange(size), context).astype(np.float64))
    found[START] = 0.0
    return found


@pytest.mark.parametrize(("order", "min_count"), [(2, 1), (3, 1), (3, 2), (4, 2)])
def test_probabilities_of_every_context_add_up_to_one(order: int, min_count: int) -> None:
    model = train(tokens(CORPUS * 3), order=order, min_word=1, min_count=min_count)
    for before in ([], ["a"], ["a", "dog"], ["on", "the"], ["never", "seen"], ["a", "man", "rides"]):
        assert next_words(model, before).sum() == pytest.approx(1.0, abs=1e-4)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcde"), max_size=6), min_size=2, max_size=12), st.integers(2, 4))
def test_any_corpus_gives_probabilities(corpus: list[list[str]], order: int) -> None:
    model = train(corpus, order=order, min_word=1, min_count=1)
    for before in ([], ["a"], ["a", "b"], ["b", "c", "d"]):
        found = next_words(model, before)
        assert (found >= 0).all()
        assert found.sum() == pytest.approx(1.0, abs=1e-3)


def by_hand_bigram(corpus: list[list[str]], before: str, word: str) -> float:
    """Interpolated Kneser-Ney for bigrams, discounts 0.5 / 1 / 1.5, from the definition."""
    pairs = [p for line in corpus for p in zip(["<s>", *line], [*line, "</s>"])]
    counts: dict[tuple[str, str], int] = {}
    for pair in pairs:
        counts[pair] = counts.get(pair, 0) + 1
    discount = [0.0, 0.5, 1.0, 1.5]
    before_of: dict[str, int] = {}
    for _, second in counts:
        before_of[second] = before_of.get(second, 0) + 1
    words = len({w for line in corpus for w in line}) + 2  # </s> and <unk>
    total = sum(before_of.values())
    freed = sum(discount[min(c, 3)] for c in before_of.values()) / total
    own = before_of.get(word, 0)
    unigram = max(own - discount[min(own, 3)], 0) / total + freed / words
    row = {second: c for (first, second), c in counts.items() if first == before}
    mass = sum(row.values())
    spread = sum(discount[min(c, 3)] for c in row.values()) / mass
    seen = row.get(word, 0)
    return max(seen - discount[min(seen, 3)], 0) / mass + spread * unigram


def test_equals_the_definition_of_kneser_ney() -> None:
    corpus = tokens(CORPUS[:4])
    model = train(corpus, order=2, min_word=1, min_count=1)
    for before, word in (("a", "dog"), ("dog", "runs"), ("the", "sofa"), ("dog", "grass"), ("sleeps", "on")):
        found = next_words(model, [before])[model.vocabulary[word]]
        assert found == pytest.approx(by_hand_bigram(corpus, before, word), rel=1e-5)


def test_saved_and_loaded_scores_stay_close(tmp_path: Path) -> None:
    model = train(tokens(CORPUS * 2), order=3, min_word=1, min_count=1)
    save(model, tmp_path / "lm")
    again = load(tmp_path / "lm")
    texts = tokens(["a dog sleeps on the grass", "horse a the", "", "quagga"])
    one, two = model.token_scores(texts), again.token_scores(texts)
    assert one[0] == pytest.approx(two[0], abs=0.05)
    assert two[1][-2:].tolist() == [UNKNOWN, END]
    assert two[2].tolist() == [0, 7, 11, 12, 14]
    meta = json.loads((tmp_path / "lm/meta.json").read_text())
    assert set(meta["files"]) == {"words.txt", "ngrams.npz"}


def test_command_trains_a_model_the_metric_uses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"image_id": i, "caption": text} for i, text in enumerate(CORPUS * 3)]
    with gzip.open(tmp_path / "captions.json.gz", "wt") as out:
        json.dump({"annotations": rows}, out)
    (tmp_path / "without.txt").write_text("0\n1\n")
    arguments = ["train", "lm", "--captions", str(tmp_path / "captions.json.gz"), "--output", str(tmp_path / "mine")]
    assert main([*arguments, "--without", str(tmp_path / "without.txt"), "--order", "3"]) == 0
    assert "19 captions" in capsys.readouterr().out
    metric = f"lm:model={tmp_path / 'mine'}"
    samples = [Sample("1", "a dog runs on the grass"), Sample("2", "grass the on runs dog a")]
    result = Run(resolve([metric])).score(samples)
    good, bad = result[metric]
    assert good > bad
    assert "mine-kn3" in result.corpus[metric].signature


def test_unreadable_captions_are_refused(tmp_path: Path) -> None:
    for name, content in (("a.json", '{"annotations": [{"text": 1}]}'), ("b.txt", "\n"), ("c.json", "{")):
        (tmp_path / name).write_text(content)
        with pytest.raises(InputError, match=name):
            read_captions(tmp_path / name)
    with pytest.raises(InputError):
        load(tmp_path)


def test_a_network_learns_what_follows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    nouns = ["dog", "cat", "man", "horse", "bench", "car", "boat", "bird", "woman", "boy"]
    texts = [f"a {a} next to a {b} on the grass" for a in nouns for b in nouns]
    (tmp_path / "captions.txt").write_text("\n".join(texts * 30))
    folder = tmp_path / "mine"
    arguments = ["train", "lm", "--kind", "rnn", "--passes", "3", "--captions", str(tmp_path / "captions.txt")]
    assert main([*arguments, "--output", str(folder)]) == 0
    assert "3,000 captions, 19 words" in capsys.readouterr().out
    metric = f"lm:model={folder}"
    samples = [Sample("1", "a dog next to a boat on the grass"), Sample("2", "grass dog a on to boat next the a")]
    result = Run([make(metric)]).score(samples)
    good, bad = result[metric]
    assert good > bad + 1
    assert "|model:mine-rnn-" in result.corpus[metric].signature
    known = shipped.folder
    monkeypatch.setattr(shipped, "folder", lambda part: folder if part == "lm_rnn" else known(part))
    named = Run([make("lm:model=rnn")]).score(samples)
    assert named["lm:model=rnn"].tolist() == [good, bad]


def test_a_recurrent_model_that_is_not_there_says_how_to_make_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(part: str) -> Path:
        raise MissingPart(f"the shipped part '{part}' is not there")

    monkeypatch.setattr(shipped, "folder", absent)
    with pytest.raises(MissingPart, match="vericap train lm --kind rnn"):
        Run([make("lm:model=rnn")]).score([Sample("1", "a dog")])


def test_the_sum_over_all_words_is_exact_where_few_are_rare() -> None:
    torch = pytest.importorskip("torch")
    from vericap.train.lm.recurrent import Network, loss

    torch.manual_seed(0)
    network = Network(40, embedding=6, hidden=8).eval()
    given, wanted = torch.randint(0, 40, (3, 7)), torch.randint(0, 40, (3, 7))
    found = loss(network, given, wanted, np.random.default_rng(0))
    logits = network(given) @ network.embedding.weight.T + network.bias
    assert float(found.detach()) == pytest.approx(
        float(torch.nn.functional.cross_entropy(logits.reshape(-1, 40), wanted.reshape(-1)).detach()), rel=1e-5
    )
