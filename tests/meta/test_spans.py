"""Wrong words and sentences, true and false statements, and graphs: statistics against brute force, and whole runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vericap.cli import main
from vericap.core.errors import InputError
from vericap.core.explanation import Explanation, WordEvidence
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.core.statistics import Statistics
from vericap.meta.detection import AreaUnderCurve, AveragePrecision, Share, best_threshold, decided
from vericap.meta.judgements import GoldGraphs, Spans
from vericap.meta.parsing import evaluate_parser, normalised
from vericap.meta.protocols import protocol_of
from vericap.meta.spans import evaluate_spans, parts_of, sentence_samples, sentences
from vericap.metrics.toolbox import words_of


def area(x, sought):
    """Every pair, one by one."""
    pairs = [(a > b) + 0.5 * (a == b) for a in x[sought] for b in x[~sought]]
    return np.mean(pairs)


def average_precision(x, sought):
    """Mean over the sought entries of the precision among all that score at least as high."""
    return np.mean([sought[x >= value].mean() for value in x[sought]])


@pytest.mark.parametrize("seed", range(5))
def test_statistics_are_those_of_the_repeated_data(seed):
    generator = np.random.default_rng(seed)
    x = generator.integers(0, 6, 40).astype(float)  # many ties
    sought = generator.random(40) < 0.4
    cluster = np.sort(generator.integers(0, 8, 40))
    cluster = np.unique(cluster, return_inverse=True)[1]
    clusters = cluster.max() + 1
    weights = generator.multinomial(clusters, np.full(clusters, 1 / clusters), 20).astype(float)
    for kind, brute in ((AreaUnderCurve, area), (AveragePrecision, average_precision)):
        found = kind(x, sought, cluster)
        assert found.value == pytest.approx(brute(x, sought), abs=1e-12)
        for row, value in zip(weights, found.resampled(weights)):
            again = np.repeat(np.arange(40), row[cluster].astype(int))
            if 0 < sought[again].sum() < len(again):
                assert value == pytest.approx(brute(x[again], sought[again]), abs=1e-12)
            else:
                assert np.isnan(value) or kind is AveragePrecision


def test_share_and_thresholds():
    told, wrong = np.array([1.0, 1, 0, 1]), np.array([1.0, 0, 1, 1])
    cluster = np.array([0, 0, 1, 1])
    assert Share(told * wrong, told, cluster, clusters=2).value == pytest.approx(2 / 3)
    x, sought = np.array([1.0, 2, 3, 4]), np.array([False, False, True, True])
    assert best_threshold(x, sought, criterion="accuracy") == 3
    assert best_threshold(x, sought, criterion="f1") == 3
    assert best_threshold(x, np.zeros(4, dtype=bool), criterion="accuracy") == np.inf
    # each half has the threshold of the other one
    x, sought = np.array([0.0, 1, 10, 11]), np.array([False, True, False, True])
    assert decided(x, sought, np.array([0, 0, 1, 1]), criterion="accuracy").tolist() == [False, False, True, True]


def test_sentences():
    text = "A dog runs at 3.5 km. A bus!  Is it red?\n..."
    assert [text[start:end] for start, end in sentences(text)] == ["A dog runs at 3.5 km.", "A bus!", "Is it red?"]
    assert sentences("") == []


class Letters(Metric):
    """Words without an `x` are supported."""

    name, title = "letters", "letters"
    range = (0.0, 1.0)
    needs = ()

    def statistics(self, batch, state=None):
        texts = [batch.texts[row] for row in batch.candidates]
        return Statistics(np.array([[1.0 - ("x" in text)] for text in texts]))

    def explain(self, batch, rows, state=None, *, full=False):
        return [self._reason(batch.texts[batch.candidates[row]]) for row in rows]

    def _reason(self, text):
        words = [WordEvidence(w, s, e, 0.0 if "x" in w else 1.0, "language") for w, s, e in words_of(text)]
        return Explanation(self.label, words=tuple(words))


class Silent(Letters):
    """Scores, and no reasons."""

    name, title = "silent", "silent"
    explain = Metric.explain


def made(count=8):
    captions = ["A dog runs. The wrox bus stops there." if k % 2 else "A red wrox bus. It stops." for k in range(count)]
    return Spans(
        name="made.jsonl",
        captions=captions,
        wrong=[((text.index("wrox"), text.index("wrox") + 4),) for text in captions],
        references=[("a bus",)] * count,
        images=[f"i{k // 2}" for k in range(count)],
    )


def test_words_and_sentences_are_laid_out():
    words, whole = parts_of(made(2))
    captions = made(2).captions
    assert [captions[r][s:e] for r, s, e in zip(words.row, words.start, words.end)] == [
        "red", "wrox", "bus", "stops", "dog", "runs", "wrox", "bus", "stops",
    ]  # fmt: skip
    assert words.wrong.tolist() == [False, True] + [False] * 4 + [True] + [False] * 2
    assert whole.wrong.tolist() == [True, False, False, True]
    assert parts_of(made(2), sentence_share=0.5)[1].wrong.tolist() == [False] * 4
    assert words.place.tolist()[:2] == [1, 2]


def test_a_metric_that_knows_is_perfect_and_baselines_are_not():
    found = evaluate_spans(
        made(), [Letters(), Silent()], protocol_of("made", spans=True), settings=Settings(cache="off")
    )
    line = found["letters"]
    for name in ("auc", "ap", "precision", "recall", "f1", "sentences"):
        assert line.value(name) == 1
    assert line.judged == 1
    assert line.estimates["auc"].interval == (1, 1)
    assert found["silent"].value("auc") is None
    assert found["silent"].value("sentences") == 1
    assert "gives no reasons" in found["silent"].reasons[0]
    assert found["(place)"].value("auc") < 1
    assert found["(length)"].value("auc") < 1
    assert found["(random)"].p is not None
    text = found.table().text()
    assert "8 wrong" in text
    assert "silent: words: it gives no reasons" in text


def test_scores_of_sentences_from_elsewhere():
    data, protocol = made(), protocol_of("made", spans=True)
    samples = sentence_samples(data, protocol)
    assert samples[0].id == "0.0"
    scores = np.array([-float("wrox" in sample.candidate) for sample in samples])
    scores[0] = np.nan
    found = evaluate_spans(data, [], protocol, scores={"mine": scores}, resamples=0)
    assert found["mine"].value("sentences") == 1
    assert "1 of 16 could not be scored" in found["mine"].reasons[0]


def test_data_without_errors_is_refused():
    data = made()
    data.wrong = [()] * len(data)
    with pytest.raises(InputError, match="no content word is wrong"):
        evaluate_spans(data, [Letters()], protocol_of("made", spans=True), resamples=0)


def test_references_can_be_left_out():
    protocol = protocol_of("made", "no-references", spans=True)
    assert all(sample.references == () for sample in sentence_samples(made(), protocol))


def test_command_line(tmp_path, capsys):
    data = made()
    path = tmp_path / "made.jsonl"
    rows = zip(data.images, data.captions, data.wrong)
    records = [{"image": i, "candidate": c, "wrong": w, "references": ["a red bus"]} for i, c, w in rows]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main(["meta", str(path), "--metrics", "rouge-l", "--quiet", "--cache", "off"]) == 0
    assert "sentence auc" in capsys.readouterr().out
    exported = tmp_path / "items.jsonl"
    assert main(["meta", str(path), "--export", str(exported)]) == 0
    lines = [json.loads(line) for line in exported.read_text().splitlines()]
    assert len(lines) == 16
    scores = tmp_path / "mine.csv"
    scores.write_text("id,score\n" + "".join(f"{own['id']},{-('wrox' in own['candidate']):d}\n" for own in lines))
    assert main(["meta", str(path), "--metrics", "", "--scores", str(scores), "--quiet", "--table", "csv"]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mine,"))
    assert "100" in row
    assert main(["meta", str(path), "--protocols"]) == 0
    assert "content words" in capsys.readouterr().out


def test_parser_against_gold_graphs():
    gold = [(("bus",), ("road",), ("bus", "red"), ("bus", "on", "road")), (("dogs",), ("dogs", "2"), ("cat",))]
    data = GoldGraphs("made", ["a red bus on a road", "two dogs"], gold, ["a", "b"])
    found = evaluate_parser(data, settings=Settings(cache="off"), resamples=50)
    assert found.match.value == 0.5
    assert found.estimates["all tuples"]["precision"].value == 1
    assert found.estimates["objects"]["recall"].value == 0.75
    assert "set match" in found.table().text()
    assert normalised([("boats", "five")]) == normalised([("boat", "5")])
