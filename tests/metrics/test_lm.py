from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vericap.errors import VericapError
from vericap.metrics.lm import open_model
from vericap.metrics.registry import make
from vericap.run.batch import Batch, Settings
from vericap.run.engine import score_batch
from vericap.samples import Sample


def scores(metric: str, *texts: str) -> np.ndarray:
    return make(metric).statistics(Batch.of(Sample(str(i), text) for i, text in enumerate(texts))).values[:, 0]


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


def test_columns_and_per_token_sums() -> None:
    text = "a dog on the grass"
    batch = Batch.of([Sample("1", text)], Settings(explain=True))
    found = make("lm").statistics(batch)
    assert found.explanations is not None
    told = found.explanations[0]
    assert told is not None
    assert told["tokens"] == [*text.split(), "</s>"]
    assert found.columns["logprob"][0] == pytest.approx(np.mean(told["logprob"]), abs=1e-4)
    slor = np.mean(np.array(told["logprob"]) - np.array(told["unigram_logprob"]))
    assert found.values[0, 0] == pytest.approx(slor, abs=1e-4)


def test_captions_without_words_have_a_reason() -> None:
    result = score_batch([Sample("1", "..."), Sample("2", "a dog")], "lm")
    assert np.isnan(result["lm"][0])
    assert result.problems[0].record == "1"
    assert "coco-kn4" in result.corpus["lm"].signature


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
        open_model(str(tmp_path / "nothing"))
