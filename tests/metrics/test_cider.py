"""CIDEr-D equals the COCO tool's (golden_coco.json); document frequencies merge, save and look up exactly."""

from __future__ import annotations

import json
import math
import os
import pickle
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

sys.path.insert(0, str(Path(__file__).parent))
from coco_helpers import GOLDEN, Pair, batch_of, pairs, ready, scores, statistics

from vericap.core.errors import InputError
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.metrics import registry
from vericap.run.engine import Run
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
    parts = [samples[:2], samples[2:]] if len(samples) > 2 else [samples]
    shards = [ready(metric, batch_of(part)) for part in parts]
    states = [pickle.loads(pickle.dumps(metric.prepare(shard))) for shard in shards]
    merged = metric.merge(states)
    found = np.concatenate([metric.statistics(shard, merged).values for shard in shards])
    np.testing.assert_allclose(found[:, 0], scores("cider-d", samples)[1], atol=1e-12)


def test_identity_scores_ten() -> None:
    samples = [(text, [text]) for text in ("a man rides a brown horse", "two dogs in deep snow")]
    np.testing.assert_allclose(scores("cider-d", samples)[1], 10.0)


def test_one_image_warns_and_a_table_helps() -> None:
    samples = [("a man riding a horse", ["a man rides a horse"])]
    alone = statistics(registry.make("cider-d"), samples)
    assert alone.values[0, 0] == 0.0
    assert "`df=coco-val`" in alone.warnings[0]
    metric = registry.make("cider-d:df=coco-val")
    helped = statistics(metric, samples)
    assert helped.values[0, 0] > 0.5
    assert not helped.warnings
    assert "df:coco-val" in metric.signature(batch_of(samples))


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
    assert again.digest == counted.digest
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
    found = statistics(registry.make("cider-d"), [("", ["a dog"]), ("a dog", []), ("a cat", ["a cat"])])
    assert found.values[0, 0] == 0.0
    assert list(found.problems) == [1]
    assert np.isnan(found.values[1, 0])


def test_a_table_is_prepared_once_and_travels_without_that() -> None:
    found = table("coco-val")
    assert table("coco-val") is found
    scores("cider-d:df=coco-val", GOLDEN["pairs"])
    assert "_sorted" in found.__dict__
    again = pickle.loads(pickle.dumps(found))
    assert set(again.__dict__) == set(DocumentFrequency.__dataclass_fields__)
    assert again.digest == found.digest


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "df.json"
    file.write_text(json.dumps({"images": 9, "ngrams": {"a man": 3}}))
    first = table(str(file))
    assert table(str(file)) is first
    file.write_text(json.dumps({"images": 10, "ngrams": {"a man": 3}}))
    os.utime(file, ns=(1, 1))
    assert table(str(file)).images == 10


def test_reasons_name_heavy_ngrams() -> None:
    samples = [
        Sample("1", "a man riding a zebra", ("a man riding a zebra on the beach", "a zebra on the beach")),
        Sample("2", "a dog", ("a dog on the grass",)),
    ]
    run = Run(registry.resolve("cider-d:df=coco-val"), Settings(cache="off"))
    found = run.explain(samples)["cider-d:df=coco-val"][0]
    assert found is not None
    assert [word.support for word in found.words] == [1.0] * 5
    shared = dict(found.facts["shared"])
    assert "riding a zebra" in shared
    assert shared["riding a zebra"] > shared["zebra"]
    assert len(shared) == 8
    assert found.missing[0].text in ("zebra on", "a zebra on", "zebra on the", "zebra on the beach", "a zebra on the")
    assert all("beach" in item.text or "on" in item.text for item in found.missing)
    assert all(item.weight > 0 and item.source == "references" for item in found.missing)
    assert len(json.dumps(found.as_dict())) < 3000
