from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.core import onnx
from vericap.core.errors import VericapError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics.registry import make
from vericap.run.engine import Run
from vericap.run.results import Result


def scored(metric: str, *texts: str, explain: bool = False) -> Result:
    return Run([make(metric)]).score([Sample(str(i), text) for i, text in enumerate(texts)], explain=explain)


def scores(metric: str, *texts: str) -> np.ndarray:
    return scored(metric, *texts)[metric]


PAIRS = [
    ("a man riding a wave on top of a surfboard", "a man riding wave a on top a of surfboard"),
    ("two dogs are playing with a frisbee", "two dogs is playing with a a frisbee"),
    ("a bathroom with a sink and a mirror", "a bathroom with a sink and a"),
]


@pytest.mark.parametrize("form", ["slor", "logprob"])
@pytest.mark.parametrize(("good", "bad"), PAIRS[:2])
def test_fluent_captions_score_higher(form: str, good: str, bad: str) -> None:
    high, low = scores(f"lm:form={form}", good, bad)
    assert high > low


def test_slor_tells_a_cut_caption_and_does_not_punish_rare_words() -> None:
    whole, cut = scores("lm", *PAIRS[2])
    assert whole > cut
    plain, rare = "a dog on the grass", "a zebra on the grass"
    gap = np.subtract(*scores("lm:form=logprob", plain, rare))
    assert gap > abs(np.subtract(*scores("lm", plain, rare)))


NONSENSE = [
    "xqz blorf wug zzt fnord .",
    "dsfkj sdfkj",
    "xqz of blorf with wug on fnord",
    "a xqz of a blorf in the wug",
    "#dog #park #sunny #love #instagood",
    "Un homme court sur la plage avec son chien",
    "qwe " * 30,
]


@pytest.mark.parametrize("form", ["slor", "logprob"])
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_unknown_words_do_not_reward_each_other(form: str, nonsense: str) -> None:
    goods = ["a man riding a wave on top of a surfboard", "two dogs are playing with a frisbee on the grass"]
    *high, low = scores(f"lm:form={form}", *goods, nonsense)
    assert min(high) > low + 0.5
    if form == "slor":
        assert low <= 0.0


def test_more_nonsense_is_never_better() -> None:
    plain = "a dog on the grass"
    found = scores("lm", plain, f"{plain} xqz", f"{plain} xqz blorf", f"{plain} xqz blorf wug zzt")
    assert (np.diff(found) < 0).all()


def test_an_unknown_word_neither_predicts_nor_earns() -> None:
    texts = ("a xqz", "xqz wug", "a dog with xqz runs")
    for reasons in scored("lm", *texts, explain=True).explanations["lm"]:
        assert reasons is not None
        told = reasons.facts
        gain = dict(zip(told["tokens"], np.subtract(told["logprob"], told["unigram_logprob"])))
        assert all(gain[word] <= 0 for word in ("xqz", "wug") if word in gain)
    (first, second) = scored("lm", "runs", "the grass xqz runs", explain=True).explanations["lm"]
    assert first is not None
    assert second is not None
    # after an unknown word "</s>" and "runs" are judged without a context, wherever they stand
    (third,) = scored("lm", "two men wug runs", explain=True).explanations["lm"]
    assert third is not None
    assert second.facts["logprob"][3] == third.facts["logprob"][3] != first.facts["logprob"][0]


def test_one_unknown_word_costs_a_good_caption_little() -> None:
    known, unknown, mixed = scores(
        "lm", "a dog plays with a ball in the park", "a dog plays with a frizbeee in the park", "park dog the a in ball"
    )
    assert known > unknown > mixed + 1.0


def test_columns_and_per_token_sums() -> None:
    text = "a dog on the grass"
    result = scored("lm", text, explain=True)
    (reasons,) = result.explanations["lm"]
    assert reasons is not None
    told = reasons.facts
    assert told["tokens"] == [*text.split(), "</s>"]
    assert result.statistics["lm"].columns["logprob"][0] == pytest.approx(np.mean(told["logprob"]), abs=1e-4)
    gain = np.array(told["logprob"]) - np.array(told["unigram_logprob"])
    assert result["lm"][0] == pytest.approx(gain.mean(), abs=1e-4)
    # support of a word: p / (p + q), its probability where it stands against its frequency
    support = [word.support for word in reasons.words]
    assert support == pytest.approx(1 / (1 + np.exp(-gain[:-1])), abs=1e-4)
    assert {word.source for word in reasons.words} == {"language"}


def test_the_least_expected_word_is_named() -> None:
    (reasons,) = scored("lm", "two dogs is playing with a frisbee", explain=True).explanations["lm"]
    assert reasons is not None
    assert reasons.facts["least_expected"] == "is"
    assert min(reasons.words, key=lambda word: word.support or 0.0).text == "is"


def test_reasons_of_a_long_caption_leave_lists_out() -> None:
    (reasons,) = scored("lm", " ".join(["a dog on the grass"] * 6), explain=True).explanations["lm"]
    assert reasons is not None
    assert len(reasons.words) == 30
    assert set(reasons.facts) == {"least_expected"}


def test_captions_without_words_have_a_reason() -> None:
    result = scored("lm", "...", "", "  ", "\U0001f600", "( )", "a dog", explain=True)
    assert np.isnan(result["lm"][:5]).all()
    assert np.isfinite(result["lm"][5])
    assert [problem.reason for problem in result.problems] == ["lm: the candidate has no word"] * 5
    assert result.explanations["lm"][:5] == [None] * 5


def test_the_signature_comes_from_the_meta_file() -> None:
    before = len(onnx.opened)
    (signature,) = Run([make("lm")]).signatures([Sample("1", "a dog")]).values()
    assert "|model:coco-kn4-" in signature
    assert "|tok:ptb|" in signature
    causal = Run([make("lm:model=/nowhere/gpt2")]).signatures([Sample("1", "a dog")])
    assert "|model:gpt2|" in next(iter(causal.values()))
    assert len(onnx.opened) == before


def test_other_languages_are_refused() -> None:
    with pytest.raises(VericapError, match="lang=en"):
        Run([make("lm")], Settings(lang="ja"))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from(["a", "dog", "the", "qwertz", "on", "grass"]), min_size=1, max_size=9))
def test_log_probabilities_are_negative_and_do_not_depend_on_company(words: list[str]) -> None:
    text = " ".join(words)
    alone = scores("lm:form=logprob", text)[0]
    assert alone < 0.0
    assert scores("lm:form=logprob", "a cat", text, "two men")[1] == alone


def test_any_causal_language_model(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["<s>", "</s>", "<unk>", "a", "dog", "runs"]
    made = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=6, n_positions=16, n_embd=8, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config).eval()
    tokenizer.save_pretrained(tmp_path / "tiny")
    model.save_pretrained(tmp_path / "tiny")
    found = scores(f"lm:form=logprob:model={tmp_path / 'tiny'}", "a dog runs", "dog", "", "a dog " * 20)
    with torch.no_grad():
        log = torch.log_softmax(model(torch.tensor([[0, 3, 4, 5]])).logits.double(), -1)[0]
    wanted = float((log[0, 3] + log[1, 4] + log[2, 5] + log[3, 1]) / 4)
    assert found[0] == pytest.approx(wanted, abs=1e-5)
    assert np.isfinite(found[[1, 3]]).all()
    assert np.isnan(found[2])


def test_a_model_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(VericapError, match="neither"):
        scores(f"lm:model={tmp_path / 'nothing'}", "a dog")
