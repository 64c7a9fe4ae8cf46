"""The reward of self-critical training: CIDEr-D with a file of frequencies, less a baseline."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import vericap
from vericap.cli import main
from vericap.compat.coco import Cider, PTBTokenizer
from vericap.core.errors import InputError, VericapError
from vericap.integrations import SelfCritical

REFERENCES = [["a dog is running on the grass", "the dog runs"], ["two cats are asleep on the bed", "cats on a bed"]]
SAMPLED = ["a dog runs on grass", "a dog", "two cats sleep", "a red bus"]
GREEDY = ["a dog on grass", "two cats on a bed"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    """A file of frequencies, counted by the command from the references above."""
    source = tmp_path / "references.jsonl"
    rows = [f'{{"id": {place}, "references": {own!r}}}'.replace("'", '"') for place, own in enumerate(REFERENCES)]
    source.write_text("\n".join(rows), encoding="utf-8")
    assert main(["df", str(source), "--output", str(tmp_path / "df.npz")]) == 0
    return str(tmp_path / "df.npz")


def tool_scores(captions: list[str], references: list[list[str]]) -> np.ndarray:
    """CIDEr-D of captions whose references are the whole corpus, by the COCO tool's scorer shape."""
    tokens = PTBTokenizer()
    gts = tokens.tokenize({place: [{"caption": text} for text in own] for place, own in enumerate(references)})
    res = tokens.tokenize({place: [{"caption": text}] for place, text in enumerate(captions)})
    return np.asarray(Cider().compute_score(gts, res)[1])


def test_a_greedy_baseline_with_a_file_of_frequencies(table: str) -> None:
    critic = SelfCritical("CIDEr", df=table)
    found = critic(SAMPLED, REFERENCES, greedy=GREEDY)
    # The references of the batch are those of the file: each column of samples is scored as the tool scores a corpus.
    columns = [tool_scores(SAMPLED[place::2], REFERENCES) for place in (0, 1)]
    wanted = np.stack(columns, axis=1) - tool_scores(GREEDY, REFERENCES)[:, None]
    np.testing.assert_allclose(found, wanted.ravel(), rtol=1e-12)


def test_the_other_samples_as_baseline() -> None:
    critic = SelfCritical("cider-d,rouge-l", weights={"ROUGE_L": 0.5})
    found = critic(SAMPLED, REFERENCES).reshape(2, 2)
    np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)
    scores = vericap.score(SAMPLED, [own for own in REFERENCES for _ in range(2)], "cider-d,rouge-l", df="coco-val")
    both = scores["cider-d"] + 0.5 * scores["rouge-l"]
    assert found[0, 0] == pytest.approx(both[0] - both[1])


def test_a_reward_does_not_depend_on_the_batch() -> None:
    critic = SelfCritical()
    alone = critic(SAMPLED[:2], REFERENCES[:1], greedy=GREEDY[:1])
    np.testing.assert_allclose(critic(SAMPLED, REFERENCES, greedy=GREEDY)[:2], alone, rtol=1e-12)
    with pytest.raises(VericapError, match="must not depend"):
        SelfCritical(df="corpus")


def test_mistakes() -> None:
    critic = SelfCritical("rouge-l")
    with pytest.raises(InputError, match="each image needs the same number"):
        critic(SAMPLED[:3], REFERENCES)
    with pytest.raises(InputError, match="give `greedy`"):
        critic(SAMPLED[:2], REFERENCES)
    with pytest.raises(InputError, match="1 entries in `greedy`"):
        critic(SAMPLED, REFERENCES, greedy=GREEDY[:1])
    with pytest.raises(VericapError, match="no metric spice to weigh"):
        SelfCritical("rouge-l", weights={"SPICE": 1})
