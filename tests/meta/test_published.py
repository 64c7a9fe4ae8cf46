"""Published numbers as data, verify's verdicts, the page and the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

from vericap.cli import main
from vericap.meta.evaluation import evaluate
from vericap.meta.page import human_agreement
from vericap.meta.protocols import PROTOCOLS, protocol_of
from vericap.meta.published import RAW, paper_values, published
from vericap.meta.task import make_task
from vericap.meta.verification import AGREES, NOT, verdict_table, verify


def test_published_numbers_name_protocol_and_source():
    known = {protocol.name for found in PROTOCOLS.values() for protocol in found}
    for item in published():
        assert item.protocol in known or item.experiment
        assert item.source
        assert item.unit == RAW or 0 < item.value <= 100
        assert bool(item.paper) == bool(item.table)
    assert len(published()) > 400


def test_tables_of_the_papers_fit_what_others_say_of_them():
    """Numbers that two sources have: FAIEr's groups give the mean that Polos lists; Tables 1 and 4 share rows."""
    groups = [item.value for item in paper_values("faier", "Table 3") if item.label == "FAIEr-4 ref"]
    listed = [item for item in published() if item.label == "FAIEr-4" and item.dataset == "pascal50s"]
    assert len(groups) == 4
    assert sum(groups) / 4 == pytest.approx(listed[0].value, abs=0.05)
    tables = [
        {(item.dataset, item.label, item.column): item.value for item in paper_values("faier", table)}
        for table in ("Table 1", "Table 4")
    ]
    shared = set(tables[0]) & set(tables[1])
    assert len(shared) == 18
    assert all(tables[0][place] == tables[1][place] for place in shared)
    (whole,) = [
        item for item in paper_values("jaspice", "Table 1") if (item.label, item.column) == ("JaSPICE", "kendall")
    ]
    (row,) = [item for item in paper_values("jaspice", "Table 5")
              if (item.label, item.column) == ("JaSGP, graph extension", "kendall")]  # fmt: skip
    assert (whole.value, row.value, whole.metric, row.metric) == (41.3, 41.3, "jaspice", "jaspice")
    assert whole.where.endswith("Table 1")


def test_verify_covers_the_papers(tiny):
    verdicts = verify(
        metrics=["faier", "vifidel", "jaspice", "rouge-l", "reo-omission:truth=reference"], data_folder=tiny
    )
    papers = {verdict.item.paper for verdict in verdicts}
    assert {"faier", "reo", "vifidel", "jaspice"} <= papers
    ours = {v.item.column: v for v in verdicts if v.item.label == "ROUGE-L" and v.item.dataset == "flickr8k-expert"
            and v.item.paper == "faier"}  # fmt: skip
    assert all(ours[column].ours is not None for column in ("pearson", "spearman", "kendall"))
    expected = evaluate("flickr8k-expert", "rouge-l", protocol="faier-1", data_folder=tiny, resamples=0)[
        "rouge-l"
    ].value
    assert ours["kendall"].ours == pytest.approx(100 * expected)
    grounding = next(v for v in verdicts if v.item.table == "section 4.2")
    assert (grounding.status, grounding.ours) == (NOT, None)
    assert "vericap reproduce faier-range" in grounding.why
    text = verdict_table(verdicts).text()
    assert "Wang et al. 2021, CVPR (FAIEr), Table 1, p. 6" in text


def test_verify_finds_variants_by_the_plain_name(tiny):
    found = verify(metrics=["reo-omission"], data_folder=tiny)
    assert {verdict.item.metric for verdict in found} == {"reo-omission:truth=reference"}
    variants = {verdict.item.metric for verdict in verify(metrics=["jaspice"], data_folder=tiny)}
    assert {"jaspice", "jaspice:synonyms=no"} <= variants
    (one,) = {verdict.item.metric for verdict in verify(metrics=["jaspice:synonyms=no"], data_folder=tiny)}
    assert one == "jaspice:synonyms=no"
    assert main(["verify", "-m", "reo-omission", "--data", str(tiny), "--quiet"]) == 0


def test_verify_says_why_a_number_is_not_compared(tiny):
    whys = {verdict.item.label: verdict.why for verdict in verify(datasets=["pascal50s"], data_folder=tiny)}
    assert whys["VIFIDEL + LM, lowest"].startswith("lowest and highest of its settings")
    assert "the language model is an RNN" in whys["VIFIDEL + LM, lowest"]
    whys = {verdict.item.label: verdict.why for verdict in verify(datasets=["shichimi"], data_folder=tiny)}
    assert whys["BLEU"].startswith("not a metric of this product; which n-gram is not said; `vericap reproduce")


def test_a_copied_number_names_table_and_copy():
    (where,) = {item.where for item in paper_values("vifidel", "Tables 1, 5 and 6") if item.copied}
    assert where == (
        "Madhyastha et al. 2019, ACL (VIFIDEL), pp. 6539-6550, Tables 1, 5 and 6, as copied into Table 3 of "
        "Wang et al. 2021, CVPR (FAIEr)"
    )


def test_numbers_of_single_papers_stand_beside_their_own_protocol_alone(tiny):
    usual = evaluate("flickr8k-expert", "rouge-l", data_folder=tiny, resamples=0)["rouge-l"].published
    assert not any(item.paper for item in usual)
    theirs = evaluate("flickr8k-expert", "rouge-l", protocol="faier-1", data_folder=tiny, resamples=0)[
        "rouge-l"
    ].published
    assert [item.value for item in theirs if item.paper] == [23.9]


def test_expert_values_to_two_decimals(data_dir):
    verdicts = verify(
        datasets=["flickr8k-expert"], metrics=["bleu-1", "bleu-4", "rouge-l", "cider-d"], data_folder=data_dir
    )
    exact = [verdict for verdict in verdicts if verdict.item.exact]
    assert len(exact) == 9
    assert {verdict.status for verdict in exact} == {AGREES}


def test_expert_interval_is_sensible(data_dir):
    line = evaluate("flickr8k-expert", "cider-d", data_folder=data_dir, resamples=300)["cider-d"]
    low, high = line.interval
    assert 0.41 < low < 0.43
    assert 0.45 < high < 0.47


def test_crowd_references_lose_judged_captions(data_dir):
    """The sampled half of the Flickr8k-CF check; `vericap verify` recomputes all 47,830 pairs."""
    from vericap.meta.catalogue import load

    task = make_task(load("flickr8k-cf", data_dir), protocol_of("flickr8k-cf"))
    assert len(task.rows) == 47830
    counts = np.bincount([len(sample.references) for sample in task.samples()[:2000]])
    assert counts[4] > 0
    assert counts[5] > 0


def test_pascal_runs(data_dir):
    found = evaluate("pascal50s", "rouge-l", data_folder=data_dir, resamples=100)
    line = found["rouge-l"]
    assert list(line.groups) == ["HC", "HI", "HM", "MM"]
    assert line.captions == 811
    assert 0.76 < line.value < 0.80
    assert 0 < line.deviation < 0.03
    other = evaluate("pascal50s", "rouge-l", protocol="votes11", data_folder=data_dir, resamples=0)
    assert other["rouge-l"].value != line.value


def test_numbers_on_more_data_are_not_compared(data_dir):
    verdicts = verify(datasets=["pascal50s"], metrics=["cider-d"], data_folder=data_dir)
    assert {verdict.status for verdict in verdicts} == {NOT}
    assert "811 are here" in verdicts[0].why


@pytest.fixture
def tiny(tmp_path):
    """A small Flickr8k-shaped folder and its Karpathy-shaped neighbour."""
    folder = tmp_path / "flickr8k"
    folder.mkdir()
    words = ["a", "brown", "dog", "runs", "fast", "over", "the", "wet", "grass"]
    tokens = [
        f"i{k}.jpg#{n}\t{' '.join(words[n : n + 2 + (k + n) % 4])} number {k}" for k in range(6) for n in range(5)
    ]
    (folder / "Flickr8k.token.txt").write_text("\n".join(tokens))
    rows = [
        f"i{k}.jpg\ti{(k + s) % 6}.jpg#{s}\t{1 + (k + s) % 4}\t{1 + s}\t{1 + (k * s) % 4}"
        for k in range(6)
        for s in range(1, 4)
    ]
    (folder / "ExpertAnnotations.txt").write_text("\n".join(rows))
    (tmp_path / "coco").mkdir()
    references = {str(k): [f"a dog number {k}", "a dog runs", "the dog"] for k in range(6)}
    (tmp_path / "coco" / "karpathy_test_references.json").write_text(json.dumps(references))
    for name, text in (("one", "a dog runs"), ("two", "cat")):
        captions = [{"image_id": k, "caption": f"{text} {k}"} for k in range(6)]
        (tmp_path / "coco" / f"karpathy_test_{name}.json").write_text(json.dumps(captions))
    return tmp_path


def test_page_lists_failing_metrics_with_reasons(tiny, monkeypatch):
    from vericap.metrics import registry

    monkeypatch.setitem(registry.METRICS, "absent", "vericap.metrics.absent:Absent")
    text = human_agreement(metrics=["rouge-l", "absent"], data_folder=tiny, resamples=20)
    assert "## flickr8k-expert/published" in text
    assert "## karpathy-test" in text
    assert "## human-machine/4-references" in text
    assert "absent: ModuleNotFoundError" in text
    assert "People among themselves" in text
    assert "Data sets that were not at hand" in text


def test_page_sums_up_over_all_data_sets(tiny):
    text = human_agreement(metrics=["rouge-l", "bleu-1", "lm"], data_folder=tiny, resamples=20)
    overview = text[text.index("## All data sets") : text.index("## flickr8k-expert/published")]
    rows = {line.split("|")[1].strip(): line for line in overview.splitlines() if line.startswith("| ")}
    assert "s / 1,000" in rows["metric"]
    assert "| human-machine |" in rows["lm"]  # COCO captions, which its language model was trained on
    assert "| - |" in rows["rouge-l"]
    assert "processor seconds per 1,000 captions" in overview
    assert "lm, read by lm: COCO training captions" in overview
    assert "of 3 pairs of metrics have a Spearman correlation" in overview
    assert "| (words) |" in text
    few = human_agreement(metrics=["rouge-l"], data_folder=tiny, resamples=20, images=4, costs=False)
    assert "Only the first 4 images" in few
    assert "processor seconds" not in few


def test_commands(tiny, tmp_path, capsys):
    data = ["--data", str(tiny), "--quiet"]
    assert main(["meta", "--list", "--data", str(tiny)]) == 0
    assert "flickr8k-expert" in capsys.readouterr().out
    assert main(["meta", "flickr8k-expert", "--protocols", *data]) == 0
    assert "ratings kept apart" in capsys.readouterr().out
    report = tmp_path / "table.tex"
    assert main(["meta", "flickr8k-expert", "-m", "rouge-l,bleu-1", "--resamples", "20", "-o", str(report), *data]) == 0
    assert "rouge-l" in capsys.readouterr().out
    assert "tabular" in report.read_text()
    assert main(["meta", "flickr8k-expert", "-m", "rouge-l", "--references", "1,2", "--runs", "2", *data]) == 0
    assert "2 refs" in capsys.readouterr().out
    assert main(["meta", "flickr8k-expert", "--ceiling", *data]) == 0
    assert main(["meta", "flickr8k-expert", "-m", "rouge-l", "--failures", "rouge-l", "--theta", "0.1", *data]) == 0
    assert main(["meta", "karpathy-test", "-m", "rouge-l", "--resamples", "50", *data]) == 0
    assert "one > two" in capsys.readouterr().out
    cases = tmp_path / "cases.json"
    words = ["-m", "rouge-l,bleu-1", "--failures", "rouge-l", "--theta", "0.1", "-o", str(cases)]
    assert main(["meta", "flickr8k-expert", *words, *data]) == 0
    assert {"references", "image", "explanation"} <= set(json.loads(cases.read_text())[0])
    assert main(["meta", "flickr8k-expert", "-m", "rouge-l,bleu-1", "--ablation", "rouge-l", *data]) == 0
    assert "ablation against rouge-l" in capsys.readouterr().out
    assert main(["meta", "human-machine", "-m", "rouge-l", *data]) == 0
    assert "mean machine" in capsys.readouterr().out
    page = tmp_path / "page.md"
    assert main(["meta", "all", "-m", "rouge-l", "--page", str(page), "--resamples", "10", *data]) == 0
    assert page.read_text().startswith("# Agreement with people")
    assert f"`vericap meta all --metrics rouge-l --page {page}`" in page.read_text()


def test_a_function_from_a_file_and_reasons_in_the_words_of_the_command_line(tiny, tmp_path, capsys):
    file = tmp_path / "mine.py"
    file.write_text("def size(candidates, references, images):\n    return [len(text) for text in candidates]\n")
    words = ["meta", "flickr8k-expert", "-m", f"py:{file}:size,rouge-l,vse", "--resamples", "20", "-q"]
    assert main([*words, "--references", "0", "--data", str(tiny)]) == 1
    out = capsys.readouterr().out
    assert ":size" in out
    assert "give --references ..." in out
    assert main([*words, "--references", "one", "--data", str(tiny)]) == 2
    assert "whole numbers" in capsys.readouterr().err


def test_commands_refuse_with_reasons(tiny, capsys):
    assert main(["meta"]) == 2
    assert "name a data set" in capsys.readouterr().err
    assert main(["meta", "thumb", "--data", str(tiny)]) == 2
    assert "github.com/jungokasai/THumB" in capsys.readouterr().err
    assert main(["verify", "--datasets", "nothing"]) == 2
    assert main(["verify", "--datasets", "composite", "--data", str(tiny)]) == 0
    assert "not comparable" in capsys.readouterr().out


def test_figures(tiny, tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "figures"
    words = ["meta", "flickr8k-expert", "-m", "rouge-l,bleu-1", "--references", "1,2", "--runs", "2"]
    assert main([*words, "--figures", str(folder), "--resamples", "20", "--data", str(tiny), "-q"]) == 0
    names = sorted(path.name.removeprefix("flickr8k-expert-") for path in folder.iterdir())
    assert names == ["correlations.png", "distributions.png", "references.png"]
    assert all(path.stat().st_size > 5000 for path in folder.iterdir())
