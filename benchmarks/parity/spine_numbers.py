"""Every metric's numbers before and after a change of the code: record them with both, then compare.

    python -m benchmarks.parity.spine_numbers record before.jsonl --source OLD_CHECKOUT
    python -m benchmarks.parity.spine_numbers record after.jsonl [--cases odd-image,ja]
    python -m benchmarks.parity.spine_numbers compare before.jsonl after.jsonl [--different]

`record` runs the command line of a checkout over fixed samples of VERICAP_DATA, each case with a cache of its own, and
writes one line per case and column: {"case", "column", "values": {id: value}}. Beside the columns of --output these are
corpus scores with intervals, exit codes, a digest of the input, and the reasons of rows without a score.
`compare` exits with 1 where a number moved, a value went or came, or a text changed; reasons are shown, not judged.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.library import corpora
from benchmarks.library.data import ROOT, data_folder
from benchmarks.speed.spine_speed import (
    Record,
    environment,
    records_of,
    source_folder,
    write_json,
    write_records,
    write_systems,
)

# "case/column/id" with * and ? -> the mended bug that moves these numbers ("odd-image/faier*/emoji *": "...").
_WORDLESS = "a wordless text is an empty caption for every metric, and no reference for a learned one"
ALLOWED: dict[str, str] = {
    "pairs-mean/*": "mean(vse,reo-relevance) in two processes died",
    "systems/*/adjusted p": "compare adjusts p for the number of tests",
    "ja-untaught/*": "metrics that know no Japanese refuse it",
    **{
        f"{case}/{metric}*/*": _WORDLESS
        for case in ("odd-text", "odd-image", "odd-bare", "odd-ja")
        for metric in ("sentence", "spice-soft", "lm", "vse", "reo-", "tiger")
    },
}

EXACT, NETWORK = 1e-9, 1e-6  # largest differences: of text metrics, and where a network's floats pass through
NETWORKS = re.compile(
    r"\b(sentence|spice-soft|vse|reo-\w+|tiger|faier|faier-plus|vifidel|wmd|chair|chair-s|clipscore|refclipscore"
    r"|jaspice-plus)\b|encoder=true"
)
ROW = "{numbers:6} {largest:18.3g}  {lost:5} {new:5} {texts:5} {allowed:7}"
REASONS = ("problem", "remark")  # columns in words that a clearer message may change

Values = dict[str, Any]  # id -> number, text or None


@dataclass(frozen=True)
class Case:
    """One run: records by the name of their sample, metrics separated by blanks, further arguments."""

    name: str
    sample: str
    metrics: str
    args: str = ""
    first: tuple[str, ...] = ()  # commands of vericap that make what the run reads
    every: int = 1  # of many rows each nth is written
    command: str = "score captions.jsonl --output scores.jsonl --json"


PHOTOS = "--images photos"
STORE = {"args": "--features store --workers 2", "first": ("features photos --output store",)}
SYSTEMS = "compare s0.json s1.json s2.json s3.json --references references.json --output details.json --resamples 200"
REO = " ".join(f"reo-{part}:truth={truth}" for truth in ("image", "reference", "both")
               for part in ("relevance", "extraness", "omission"))  # fmt: skip
CASES = (
    Case("coco", "karpathy",
         "coco cider cider-d:df=coco-val cider:df=coco-val meteor:matchers=exact meteor:matchers=exact+stem "
         "meteor:matchers=exact+stem+synonym rouge-l:beta=1 mean(bleu-4,cider-d)", "--confidence --resamples 200"),
    Case("coco-files", "karpathy", "coco cider", "--df coco-val --references references.json"),
    Case("tokenizer-none", "karpathy", "coco cider", "--tokenizer none"),
    Case("shards", "crowd", "bleu-4 rouge-l cider-d mean(bleu-1,cider-d)", "--workers 2", every=100),
    Case("graphs", "karpathy", "spice spice:actions=false spice:synonyms=false spice-soft spice-soft:whole=0 "
         "spice-soft:relations=1 mean(spice,meteor)"),
    Case("meaning", "karpathy", "sentence sentence:pool=best wmd wmd:pool=mean wmd:pool=worst wmd:p=1 wmd:centre=false "
         "wmd:normalise=false lm lm:form=logprob mean(sentence,lm)", "--confidence --resamples 200"),
    Case("fluency-bare", "karpathy-bare", "lm lm:form=logprob"),
    Case("workers", "karpathy-few", "coco spice spice-soft sentence wmd lm", "--workers 2"),
    Case("systems", "karpathy-few", "coco spice sentence", command=SYSTEMS),
    Case("objects", "expert", "vifidel vifidel:p=1 vifidel:references=none vifidel:counts=binary vifidel:centre=false "
         "vifidel:normalise=false vifidel:threshold=0.5 chair chair-s chair:references=false chair:objects=references "
         "chair-s:classes=voc mean(vifidel,meteor)", PHOTOS),
    Case("regions", "expert", f"vse reo tiger mean(vse,reo-relevance) {REO}", f"{PHOTOS} --confidence --resamples 200"),
    Case("graphs-of-images", "expert", "faier faier:references=none faier-plus faier-plus:references=none", PHOTOS),
    Case("image-bare", "expert-bare", "vifidel chair chair-s chair:references=false vse reo faier faier-plus "
         "mean(vse,faier-plus)", PHOTOS),
    Case("clip", "expert-few",
         "clipscore:model=clip_pair refclipscore:model=clip_pair clipscore:model=clip_pair:w=1", PHOTOS),
    Case("together", "expert-few", "coco spice sentence wmd lm image tiger faier", f"{PHOTOS} --explain --workers 2"),
    *(Case(f"alone-{name}", "expert-few", name, f"{PHOTOS} --explain")
      for name in ("vifidel", "vse", "reo-omission:truth=image", "faier", "faier-plus")),
    Case("features", "expert-few", "vse reo tiger faier faier-plus", **STORE),
    Case("pairs", "pairs", "vse reo-relevance:truth=image", **STORE, every=50),
    Case("pairs-mean", "pairs", "mean(vse,reo-relevance)", **STORE, every=50),
    Case("record-objects", "pascal", "vifidel vifidel:references=none chair chair-s chair:objects=detector", PHOTOS),
    Case("file-objects", "pascal", "vifidel chair vifidel:objects=found.jsonl chair:objects=gold.json+found.jsonl",
         f"{PHOTOS} --objects gold.json", ("detect photos --output found.jsonl",)),
    Case("odd-text", "odd", "coco cider spice spice-soft sentence wmd lm"),
    Case("odd-image", "odd", "vifidel chair chair-s chair:objects=references vse reo tiger faier faier-plus", PHOTOS),
    Case("odd-bare", "odd-bare", "lm vifidel chair vse reo faier faier-plus", PHOTOS),
    Case("odd-ja", "odd-ja", "ja meteor", "--lang ja"),
    Case("ja", "ja", "ja meteor cider sentence:pool=best jaspice:synonyms=false jaspice:spelling=false "
         "jaspice:hypernyms=0.5 jaspice:compounds=0.5 jaspice:encoder=true jaspice-plus:encoder=false "
         "mean(jaspice,sentence)", "--lang ja --confidence --resamples 200"),
    Case("ja-untaught", "ja-photos", "wmd lm vifidel vse reo", f"{PHOTOS} --lang ja"),  # metrics that know English only
)  # fmt: skip


def chosen(items: Iterable[Any], count: int) -> list[Any]:
    """A fixed draw, in the order of the items."""
    items = list(items)
    return [items[i] for i in sorted(random.Random(17).sample(range(len(items)), count))]


def bare(records: list[Record]) -> list[Record]:
    return [{key: value for key, value in record.items() if key != "references"} for record in records]


def karpathy(count: int = 300) -> list[Record]:
    """Captions of the four systems in turn, each of another image."""
    systems = [corpora.karpathy(name) for name in corpora.systems()]
    rows = enumerate(chosen(systems[0][0], count))
    return [{"id": key, "candidate": systems[i % 4][0][key], "references": systems[0][1][key]} for i, key in rows]


def expert(images: int = 100, each: int = 2) -> list[Record]:
    """Judged captions, some of them of other photos."""
    candidates, references = corpora.flickr8k_expert()
    by_image: dict[str, list[str]] = {}
    for key in candidates:
        by_image.setdefault(key.split("|")[0], []).append(key)
    return [
        {"id": key, "candidate": candidates[key], "references": references[key], "image": image}
        for image in chosen((image for image, keys in by_image.items() if len(keys) >= each), images)
        for key in random.Random(image).sample(by_image[image], each)
    ]


def pairs() -> list[Record]:
    """Few photos and texts, many pairs: rows for several parts and processes."""
    few = bare(expert(20, 4))
    return [{**few[i % 80], "id": str(i), "candidate": few[(i * 7 + i // 80) % 80]["candidate"]} for i in range(17_000)]


def pascal() -> list[Record]:
    """Records with objects as a list, as counts, or from the photo."""
    folder = data_folder() / "pascal50s"
    labels = json.loads((folder / "voc_objects.json").read_text("utf-8"))
    rows = map(json.loads, (folder / "pairs.jsonl").read_text("utf-8").splitlines())
    records = []
    for place, row in enumerate(chosen((row for row in rows if row["image"] in labels), 90)):
        names, base = labels[row["image"]], {key: row[key] for key in ("image", "references")}
        given = ({"objects": names}, {"objects": {name: names.count(name) for name in names}}, {})[place % 3]
        records.append({"id": str(place), "candidate": row["captions"][place % 2], **base, **given})
    return records


def japanese() -> list[Record]:
    """Captions of one image against each other, and the pairs that JaSPICE's authors test with."""
    folder = data_folder() / "japanese"
    by_image: dict[str, list[str]] = {}
    for line in (folder / "jsts_valid.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        by_image.setdefault(row["yjcaptions_id"].split("-")[0], []).extend((row["sentence1"], row["sentence2"]))
    texts = {key: list(dict.fromkeys(found)) for key, found in by_image.items()}
    several = {key: found for key, found in texts.items() if len(found) > 1}
    records = [{"candidate": several[key][0], "references": several[key][1:]} for key in chosen(several, 150)]
    golden = json.loads((folder / "jaspice_golden.json").read_text("utf-8"))["scores"]
    records += [{key: row[key] for key in ("candidate", "references")} for row in golden]
    return [{"id": str(place), **record} for place, record in enumerate(records)]


ODD = {
    "plain": "a black dog runs on the grass", "empty": "", "blanks": " \t ", "marks": "???", "emoji": "😀🐕",
    "long": "a man in a red shirt and a woman with two small brown dogs sit on a bench near the old bridge and " * 25,
    "capitals": "A BLACK DOG RUNS ON THE GRASS", "repeated": "dog dog dog dog dog", "letter": "a", "word": "dog",
    "unknown": "blorp zzxq fnord", "digits": "2 dogs and 3 men, 1985", "accents": "un café à côté",
    "markup": "<b>a dog &amp; a cat</b>\n\ton a\u00a0bench", "japanese": "黒い犬が草の上を走る",
    "sentences": "A dog runs. It is black! Who's there?",
}  # fmt: skip


def odd() -> list[Record]:
    """Odd captions with references, without, and with references that say nothing; odd photos, objects and records."""
    given = expert(len(ODD), 1)
    records: list[Record] = []
    for (name, text), record in zip(ODD.items(), given):
        texts = record["references"]
        forms = {"references": texts, "no references": [], "blank reference too": [*texts, " "],
                 "blank reference": [""], "odd reference": [texts[0], text or "???"]}  # fmt: skip
        base = {"candidate": text, "image": record["image"]}
        records += [{**base, "id": f"{name} - {form}", "references": found} for form, found in forms.items()]
    plain = {**given[0], "candidate": ODD["plain"]}
    records += [{**plain, "id": f"twin {number}"} for number in range(3)]
    records += [{**plain, "id": f"photo {name}", "image": name} for name in ("missing.jpg", *ODD_PHOTOS)]
    records += [{key: plain[key] for key in ("candidate", "references")} | {"id": "no photo named"}]
    sources = {"none": {}, "list": ["dog", "dog", "person"], "counts": {"dog": 2}, "unknown": ["blorp"], "bad": 5}
    records += [{**plain, "id": f"objects {name}", "objects": found} for name, found in sources.items()]
    records += [{**plain, "id": "twin 0"}, {**plain, "id": "no caption", "candidate": None}]
    return records


def odd_japanese() -> list[Record]:
    """Odd captions against Japanese references, and odd references of Japanese captions."""
    rows = [(name, text, record) for (name, text), record in zip(ODD.items(), japanese())]
    found = [{**one, "id": name, "candidate": text} for name, text, one in rows]
    return found + [{**one, "id": f"to {name}", "references": [*one["references"], text]} for name, text, one in rows]


ODD_PHOTOS = {  # grey pictures as plain bytes: one pixel, a strip
    "broken.jpg": b"this is no photo", "nothing.jpg": b"", "pixel.pgm": b"P5 1 1 255\n\x5a",
    "strip.pgm": b"P5 900 6 255\n" + bytes(range(180)) * 30,
}  # fmt: skip
SAMPLES: dict[str, Callable[[], list[Record]]] = {
    "karpathy": karpathy, "karpathy-bare": lambda: bare(karpathy()), "karpathy-few": lambda: karpathy(80),
    "expert": expert, "expert-bare": lambda: bare(expert()), "expert-few": lambda: expert(30), "pairs": pairs,
    "crowd": lambda: records_of(corpora.repeated(52_000)),  # more than are analysed at once
    "pascal": pascal, "odd": odd, "odd-bare": lambda: bare(odd()), "odd-ja": odd_japanese, "ja": japanese,
    "ja-photos": lambda: [{**text, "image": photo["image"]} for photo, text in zip(expert(20, 1), japanese())],
}  # fmt: skip


def clip_pair(folder: Path) -> None:
    """A dual encoder of the shape clipscore reads: nine mean colours against the mean of word vectors."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper, save
    from tokenizers import Tokenizer, models, pre_tokenizers

    folder.mkdir()
    words = ("[UNK]", "A", "photo", "depicts", "a", "the", "dog", "man", "in", "on", "red", "black", "white", "two")
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "preprocessor_config.json", {"crop_size": 12, "image_mean": [0] * 3, "image_std": [1] * 3})
    table = numpy_helper.from_array(np.random.default_rng(0).random(size=(14, 27)).astype(np.float32), "table")
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 27])
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["n", "t"])
    colours = helper.make_tensor_value_info("pixel_values", TensorProto.FLOAT, ["n", 3, 12, 12])
    gather = helper.make_node("Gather", ["table", "input_ids"], ["words"])
    mean = helper.make_node("ReduceMean", ["words"], ["y"], axes=[1], keepdims=0)
    pool = helper.make_node("AveragePool", ["pixel_values"], ["cells"], kernel_shape=[4, 4], strides=[4, 4])
    text = helper.make_graph([gather, mean], "text", [ids], [out], [table])
    image = helper.make_graph([pool, helper.make_node("Flatten", ["cells"], ["y"])], "image", [colours], [out])
    for graph in (text, image):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        save(model, str(folder / f"{graph.name}.onnx"))


def copy_photos(names: set[str], folder: Path) -> None:
    """Copies, since a photo outside the folder that is named is refused."""
    folder.mkdir()
    places = [data_folder() / place for place in ("flickr8k/Images", "pascal50s/images")]
    for name in names:
        found = [place / name for place in places if (place / name).is_file()]
        if name in ODD_PHOTOS:
            (folder / name).write_bytes(ODD_PHOTOS[name])
        elif found:
            shutil.copyfile(found[0], folder / name)


def lay_out(case: Case, folder: Path) -> str:
    """Everything the case reads, in its folder; returns the digest of its records."""
    records = SAMPLES[case.sample]()
    write_records(folder / "captions.jsonl", bare(records) if "references.json" in case.args else records)
    copy_photos({record["image"] for record in records if "image" in record}, folder / "photos")
    if "references.json" in f"{case.command} {case.args}":
        write_systems([record["id"] for record in records], folder)
    if "gold.json" in case.args:
        shutil.copyfile(data_folder() / "pascal50s" / "voc_objects.json", folder / "gold.json")
    if "clip_pair" in case.metrics:
        clip_pair(folder / "clip_pair")
    return hashlib.sha256((folder / "captions.jsonl").read_bytes()).hexdigest()[:16]


def run_case(case: Case, source: Path, folder: Path) -> dict[str, Values]:
    """Columns of the case: run from its folder, so that no name holds a path of this machine."""
    digest = lay_out(case, folder)
    metrics = ["--metrics", ",".join(case.metrics.split()), "--cache", "cache", "--quiet", *case.args.split()]
    codes: Values = {}
    for words in [*(command.split() for command in case.first), [*case.command.split(), *metrics]]:
        done = subprocess.run([sys.executable, "-m", "vericap", *words], cwd=folder, capture_output=True, text=True,
                              env=environment(source, folder / "cache"))  # fmt: skip
        codes[words[0]] = done.returncode
        if done.returncode not in (0, 1) or "Traceback" in done.stderr:
            print(f"  {case.name}, {words[0]}: {done.stderr.strip().splitlines()[-1]}", flush=True)
    columns: dict[str, Values] = {"(exit)": codes, "(input)": {"records": digest}}
    details, rows = folder / "details.json", folder / "scores.jsonl"
    if details.is_file():
        columns |= from_details(json.loads(details.read_text("utf-8"))["rows"])
    if rows.is_file():
        columns |= from_rows(rows.read_text("utf-8").split("\n"), case.every)
        columns |= from_summary(json.loads(done.stdout)["scores"])
    return columns


def from_rows(lines: list[str], every: int) -> dict[str, Values]:
    """Numbers and texts of the rows; explanations are not numbers."""
    columns: dict[str, Values] = {}
    for line in filter(None, lines[::every]):
        row = json.loads(line)
        for name, value in row.items():
            if name not in ("id", "candidate") and not isinstance(value, dict | list):
                columns.setdefault(name, {})[row["id"]] = value
    return columns


def from_summary(scores: dict[str, Any]) -> dict[str, Values]:
    names = ("value", "count", "low", "high")
    rows = {name: (one["value"], one["count"], *one.get("interval", ())) for name, one in scores.items()}
    return {f"{name} (corpus)": dict(zip(names, row)) for name, row in rows.items()}


def from_details(rows: list[dict[str, Any]]) -> dict[str, Values]:
    """Numbers of `compare`, a column for each metric and system."""
    return {f"{row['metric']} of {row['system']}": {k: v for k, v in row.items() if is_number(v)} for row in rows}


def record(target: Path, source: Path, cases: list[Case]) -> None:
    start = time.perf_counter()
    with target.open("w", encoding="utf-8") as stream:
        for case in cases:
            begun = time.perf_counter()
            with tempfile.TemporaryDirectory() as folder:
                columns = run_case(case, source, Path(folder))
            for name, values in columns.items():
                stream.write(json.dumps({"case": case.name, "column": name, "values": values}) + "\n")
            numbers = sum(is_number(value) for values in columns.values() for value in values.values())
            print(f"{case.name:30} {numbers:6} numbers  {time.perf_counter() - begun:6.1f} s", flush=True)
    print(f"all in {time.perf_counter() - start:.0f} s, code of {source}")


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def difference(case: str, column: str, before: Values, after: Values) -> tuple[dict[str, Any], list[str]]:
    """What became of a column, and the ids at which it is not as it should be."""
    found = {"numbers": 0, "largest": 0.0, "lost": 0, "new": 0, "texts": 0, "allowed": 0}
    wrong = []
    limit = NETWORK if NETWORKS.search(column) else EXACT
    for key in dict.fromkeys([*before, *after]):
        old, new = before.get(key), after.get(key)
        moved = old != new
        if is_number(old) and is_number(new):
            gap = abs(old - new) if moved else 0.0  # infinities that are equal have no gap
            found["numbers"] += 1
            found["largest"] = max(found["largest"], gap)
            moved = not gap <= limit
        else:
            found["lost" if is_number(old) else "new" if is_number(new) else "texts"] += moved
        if moved and column not in REASONS:
            free = any(fnmatch.fnmatchcase(f"{case}/{column}/{key}", pattern) for pattern in ALLOWED)
            found["allowed"] += free
            wrong += [] if free else [key]
    return found, wrong


def read(path: Path) -> dict[tuple[str, str], Values]:
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return {(line["case"], line["column"]): line["values"] for line in lines}


def compare(first: Path, second: Path, only_different: bool) -> int:
    before, after = read(first), read(second)
    print("values largest difference   lost   new texts allowed  case / column")
    failed = 0
    for case, column in dict.fromkeys([*before, *after]):
        found, wrong = difference(case, column, before.get((case, column), {}), after.get((case, column), {}))
        failed += bool(wrong)
        if only_different and not any(found[name] for name in ("largest", "lost", "new", "texts")):
            continue
        some = f"  {len(wrong)} WRONG: {'; '.join(wrong[:3])}" if wrong else ""
        print(ROW.format(**found) + f"  {case} / {column}{some}")
    print(f"{failed} column(s) with numbers that moved" if failed else "no number moved")
    return int(failed > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record")
    one.add_argument("output", type=Path)
    one.add_argument("--source", type=Path, default=ROOT, help="checkout or src folder of the code to run")
    one.add_argument("--cases", default=",".join(case.name for case in CASES), help="separated by commas")
    two = commands.add_parser("compare")
    two.add_argument("files", type=Path, nargs=2, metavar="FILE", help="what `record` wrote before and after")
    two.add_argument("--different", action="store_true", help="only columns with any difference")
    args = parser.parse_args()
    if args.command == "compare":
        return compare(*args.files, args.different)
    names = args.cases.split(",")
    if unknown := set(names) - {case.name for case in CASES}:
        parser.error(f"no case is called {', '.join(sorted(unknown))}")
    record(args.output, source_folder(args.source), [case for case in CASES if case.name in names])
    return 0


if __name__ == "__main__":
    sys.exit(main())
