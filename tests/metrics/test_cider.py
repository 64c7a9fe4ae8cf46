"""CIDEr-D equals the COCO tool's (golden_coco.json); document frequencies merge, save and look up exactly."""

from __future__ import annotations

import json
import math
import pickle
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

sys.path.insert(0, str(Path(__file__).parent))
from coco_helpers import GOLDEN, Pair, batch_of, pairs, scores

from vericap.errors import InputError
from vericap.metrics import registry
from vericap.text.frequency import DocumentFrequency
from vericap.text.frequency_files import build, read, save, table


@pytest.mark.parametrize("pure", ["0", "1"])
def test_golden(pure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERICAP_PURE_PYTHON", pure)
    corpus, captions = scores("cider-d", GOLDEN["pairs"])
    np.testing.assert_allclose(captions, GOLDEN["scores"]["cider-d"]["captions"], rtol=0, atol=1e-9)
    assert corpus == pytest.approx(GOLDEN["scores"]["cider-d"]["corpus"], abs=1e-9)


def plain_cider(samples: list[Pair]) -> list[float]:
    """CIDEr straight from the paper (eq. 1-3), on captions split at blanks."""

    def grams(text: str, n: int) -> Counter[tuple[str, ...]]:
        words = text.split()
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    out = []
    for candidate, references in samples:
        total = 0.0
        for n in (1, 2, 3, 4):
            seen = Counter(g for _, refs in samples for g in set().union(*(grams(r, n) for r in refs)))
            vector = {}
            for text in {candidate, *references}:
                found = grams(text, n)
                vector[text] = {g: found[g] * (math.log(len(samples)) - math.log(max(1, seen[g]))) for g in found}
            for reference in references:
                a, b = vector[candidate], vector[reference]
                size = math.sqrt(sum(x * x for x in a.values())) * math.sqrt(sum(x * x for x in b.values()))
                total += sum(x * b.get(g, 0.0) for g, x in a.items()) / size if size else 0.0
        out.append(10 * total / 4 / len(references))
    return out


@settings(max_examples=40, deadline=None)
@given(pairs)
def test_cider_follows_the_paper(samples: list[Pair]) -> None:
    _, captions = scores("cider", samples, tokenizer="none")
    np.testing.assert_allclose(captions, plain_cider(samples), atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(pairs)
def test_twins_agree(samples: list[Pair]) -> None:
    for name in ("cider", "cider-d"):
        compiled = scores(name, samples)[1]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("VERICAP_PURE_PYTHON", "1")
            np.testing.assert_allclose(compiled, scores(name, samples)[1], rtol=1e-12, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(pairs)
def test_invariants(samples: list[Pair]) -> None:
    _, captions = scores("cider-d", samples)
    assert ((captions >= 0) & (captions <= 10 + 1e-9)).all()
    _, turned = scores("cider-d", [(candidate, references[::-1]) for candidate, references in samples])
    np.testing.assert_allclose(captions, turned, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(pairs)
def test_shards_merge_to_the_whole(samples: list[Pair]) -> None:
    metric = registry.make("cider-d")
    shards = [batch_of(samples[:2]), batch_of(samples[2:])] if len(samples) > 2 else [batch_of(samples)]
    states = [pickle.loads(pickle.dumps(metric.prepare(shard))) for shard in shards]
    merged = metric.merge(states)
    parts = np.concatenate([metric.statistics(shard, merged).values for shard in shards])
    np.testing.assert_allclose(parts[:, 0], scores("cider-d", samples)[1], atol=1e-12)


def test_identity_scores_ten() -> None:
    samples = [(text, [text]) for text in ("a man rides a brown horse", "two dogs in deep snow")]
    np.testing.assert_allclose(scores("cider-d", samples)[1], 10.0)


def test_one_image_warns_and_a_table_helps() -> None:
    batch = batch_of([("a man riding a horse", ["a man rides a horse"])])
    metric = registry.make("cider-d")
    alone = metric.statistics(batch, metric.prepare(batch))
    assert alone.values[0, 0] == 0.0
    assert "--df coco-val" in alone.warnings[0]
    metric = registry.make("cider-d:df=coco-val")
    helped = metric.statistics(batch, metric.prepare(batch))
    assert helped.values[0, 0] > 0.5
    assert not helped.warnings
    assert "df:coco-val" in metric.signature(batch)


def test_shipped_table() -> None:
    found = table("coco-val")
    assert found.images == 40504
    assert int(found.counts.min()) == 2


@pytest.mark.parametrize("name", ["df.json", "df.json.gz", "df.npz"])
def test_files_keep_every_count(name: str, tmp_path: Path) -> None:
    counted = build([references for _, references in GOLDEN["pairs"]])
    save(counted, tmp_path / name)
    again = read(tmp_path / name)
    assert dict(again.items()) == dict(counted.items())
    assert again.images == counted.images == len(GOLDEN["pairs"])
    assert again.digest() == counted.digest()
    from_file = scores(f"cider-d:df={tmp_path / name}", GOLDEN["pairs"])[1]
    np.testing.assert_allclose(from_file, GOLDEN["scores"]["cider-d"]["captions"], atol=1e-9)
    rarer = counted.at_least(2)
    assert dict(rarer.items()) == {text: count for text, count in counted.items() if count > 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1]", "expected"),
        ('{"images": 0, "ngrams": {}}', "images"),
        ('{"images": 2, "ngrams": {"a b c d e": 1}}', "1 to 4 words"),
        ('{"images": 2, "ngrams": {"a": 3}}', "there are 2"),
        ("{", "not a table"),
    ],
)
def test_bad_files_say_what_is_wrong(content: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "df.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message):
        read(file)
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "missing.json")


def test_json_without_prefixes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "df.json"
    file.write_text(json.dumps({"images": 9, "ngrams": {"a man": 3}}))
    found = read(file)
    assert dict(found.items()) == {"a man": 3}
    assert DocumentFrequency.merge([found, found]).images == 18


def test_empty_candidate_and_missing_references() -> None:
    found = registry.make("cider-d").statistics(batch_of([("", ["a dog"]), ("a dog", []), ("a cat", ["a cat"])]))
    assert found.values[0, 0] == 0.0
    assert list(found.problems) == [1]
    assert np.isnan(found.values[1, 0])
