"""Typical mistakes: what was typed, the exit code, and words that the answer must hold (what, where, what to do).

`{here}` stands for the folder of the files that `files` writes. `without` names packages that are not installed.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image


@dataclass(frozen=True)
class Mistake:
    typed: str
    says: tuple[str, ...]
    code: int = 2
    without: tuple[str, ...] = ()


def mistake(typed: str, *says: str, code: int = 2, without: str = "") -> Mistake:
    return Mistake(typed, says, code, tuple(without.split()))


def files(folder: Path) -> None:
    """The files of a user who is about to make a mistake."""
    good = [
        {"id": "1", "candidate": "a dog runs", "references": ["a dog is running", "the dog"], "image": "dog.png"},
        {"id": "2", "candidate": "two cats sleep", "references": ["two cats on a bed"], "image": "cats.png"},
    ]
    bare = [{"id": item["id"], "candidate": item["candidate"]} for item in good]
    tables = {
        "good.jsonl": good,
        "bare.jsonl": bare,
        "fields.jsonl": [{"id": 1, "foo": "a dog"}],
        "twice.jsonl": [*good, good[0]],
        "numbers.jsonl": [{"id": 1, "candidate": 5, "references": ["a dog"]}],
        "japanese.jsonl": [{"id": 1, "candidate": "犬が走る", "references": ["犬が走っている"]}],
    }
    for name, rows in tables.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / name).write_text(text, encoding="utf-8")
    texts = {
        "empty.jsonl": "",
        "cut.json": '[{"id": 1, "candidate": "a dog"',
        "line.jsonl": json.dumps(good[0]) + "\nno JSON\n",
        "two.txt": "a dog\ntwo cats\n",
        "three.txt": "a dog\ntwo cats\na bus\n",
        "results.json": json.dumps([{"image_id": 1, "caption": "a dog"}, {"image_id": 2, "caption": "two cats"}]),
        "others.json": json.dumps({"77": ["a dog"], "78": ["two cats"]}),
        "objects.json": json.dumps({"dog.png": 5, "cats.png": ["cat"]}),
        "page.json": "<!DOCTYPE html><html><body>not found</body></html>",
        "notes.txt": "hello\n",
        "table.csv": "id,text_en\n1,a dog\n",
        "plain.py": "number = 5\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    data = {
        "latin.csv": "id,caption\n1,un café\n".encode("latin-1"),
        "model.pkl": b"\x80\x04N.",
        "cut.parquet": b"PAR1 no",
        "cut.jsonl.gz": b"\x1f\x8b\x08cut",
    }
    for name, content in data.items():
        (folder / name).write_bytes(content)
    with zipfile.ZipFile(folder / "captions.zip", "w") as archive:
        archive.writestr("captions.json", "[]")
    with zipfile.ZipFile(folder / "book.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "x")
    np.savez(folder / "arrays.npz", a=np.zeros(2))
    (folder / "photos").mkdir()
    (folder / "no-photos").mkdir()
    Image.new("RGB", (32, 32), "green").save(folder / "photos" / "dog.png")
    (folder / "photos" / "broken.jpg").write_bytes(b"\xff\xd8 no")


WRONG_FILE = [
    mistake("score goood.jsonl", "goood.jsonl: no such file in {here}", "did you mean good.jsonl?"),
    mistake("score captions/good.jsonl", "there is no folder captions", "check the path"),
    mistake("score photos", "photos: is a folder", "a .txt or .json beside them"),
    mistake("score empty.jsonl", "empty.jsonl: the file is empty", "written to the end?"),
    mistake("score cut.json", "cut.json: malformed JSON at line 1, column 32", "write the file again"),
    mistake("score line.jsonl -m rouge-l", "line.jsonl: line 2: malformed JSON at column 1", code=1),
    mistake("score twice.jsonl -m rouge-l", "line 3 (id 1): the id occurs before", "the first record is used", code=1),
    mistake("score numbers.jsonl", "numbers.jsonl: line 1 (id 1): the candidate is a int, not text"),
    mistake("score latin.csv", "latin.csv: line 2: is not UTF-8 (byte 8", "--encoding NAME"),
    mistake("score latin.csv --encoding latain", "--encoding latain", "try utf-8, utf-16 or cp1252"),
    mistake("score model.pkl", "model.pkl: is a pickle, which is never opened", "give JSON"),
    mistake("score cut.parquet", "cut.parquet: not a readable Parquet file"),
    mistake("score cut.jsonl.gz", "cut.jsonl.gz: the gzip data is damaged or cut short", "copy the file again"),
    mistake("score captions.zip", "captions.zip: is a zip archive", "unpack it first"),
    mistake("score photos/dog.png", "photos/dog.png: is a PNG image", "--images DIR"),
    mistake("score page.json", "page.json: is a web page", "was the download refused?"),
    mistake("score good.jsonl --format json", "malformed JSON at line 2", "--format jsonl"),
    mistake("score good.jsonl -r nosuch.json", "nosuch.json: no such file in {here}"),
    mistake("score good.jsonl -r empty.jsonl", "empty.jsonl: the file is empty"),
    mistake("score good.jsonl -r good.jsonl photos", "photos: is a folder, not a file"),
    mistake("score two.txt -r three.txt", "two.txt has 2 lines but three.txt has 3", "must be parallel"),
    mistake("score results.json -r others.json", "ids like '1'", "others.json like '77'", "--id-field NAME"),
    mistake("check photos/dgo.png 'a dog'", "photos/dgo.png: no such file in {here}", "did you mean photos/dog.png?"),
    mistake("check 'a dog' photos/dog.png", "the image comes first: vericap check photos/dog.png"),
    mistake("check good.jsonl 'a dog'", "good.jsonl: not an image in a known format (JPEG, PNG"),
    mistake("check photos 'a dog'", "photos: is a folder; name one image", "`vericap score`"),
    mistake("check photos/dog.png ''", "the caption has no word"),
    mistake("report good.jsonl -o r -m rouge-l --images nosuch", "--images nosuch: no such folder"),
    mistake("df nosuch.json -o df.npz", "nosuch.json: no such file in {here}"),
    mistake("meta notes.txt", "notes.txt, line 1: not JSON"),
    mistake("meta good.jsonl", "good.jsonl: no line has a rating", "fields `rating` or `ratings`"),
    mistake("serve nosuch.json", "nosuch.json: no such file in {here}"),
    mistake("serve photos/dog.png", "photos/dog.png: is neither a report", "`vericap score --output` wrote"),
    mistake("merge nosuch", "nosuch: no run is kept for it", "`vericap score --shard`"),
    mistake("annotate nosuch.jsonl --images photos -o campaign", "nosuch.jsonl: no such file in {here}"),
    mistake("detect photos/dog.png --model nosuch.onnx", "nosuch.onnx: no such detector file"),
    mistake("detect good.jsonl", "good.jsonl: not an image in a known format (JPEG, PNG", code=1),
    mistake("detect nosuch.jpg", "nosuch.jpg: no such file", code=1),
]

WRONG_NAME = [
    mistake("scroe good.jsonl", "unknown command 'scroe'", "did you mean 'score'?"),
    mistake("good.jsonl", "unknown command 'good.jsonl'", "vericap score good.jsonl"),
    mistake("cider", "unknown command 'cider'; it is a metric", "vericap metrics cider"),
    mistake("help nosuch", "unknown command 'nosuch'", "`vericap help` lists the commands"),
    mistake("--metrics cider", "unknown option '--metrics'", "options come after a command"),
    mistake("score good.jsonl -m cidr", "unknown metric 'cidr'; did you mean cider", "`vericap metrics` lists all"),
    mistake("score good.jsonl -m bleu-5", "unknown metric 'bleu-5'; did you mean", "bleu-4"),
    mistake("score good.jsonl -m ''", "no metric was named", "`vericap metrics` lists them"),
    mistake("score good.jsonl -m mean(cider,nosuch)", "unknown metric 'nosuch'", "`vericap metrics` lists all"),
    mistake("score good.jsonl -m spice:synonym=no", "no option 'synonym'", "actions, synonyms, parser"),
    mistake("score good.jsonl -m spice:synonyms=maybe", "synonyms=maybe is not a valid bool"),
    mistake("score good.jsonl -m py:nosuch.py:f", "'py:nosuch.py:f' names no function", "py:FILE.py:function"),
    mistake("score good.jsonl -m py:plain.py:number", "number"),
    mistake("score good.jsonl -m sentence:encoder=nosuch", "the encoder 'nosuch' is neither captions", "a folder that"),
    mistake("score good.jsonl -m wmd:vectors=nosuch.vec", "'nosuch.vec' are neither", "give word2vec"),
    mistake("metrics cidre", "unknown metric 'cidre'; did you mean cider"),
    mistake("meta nosuch", "no data set is called 'nosuch'", "there are: flickr8k-expert"),
    mistake("verify --datasets nosuch", "nothing published is known", "data sets with numbers:"),
    mistake("reproduce fair-table-1", "no experiment is called 'fair-table-1'; did you mean faier-table-1"),
    mistake("train nosuch", "no model 'nosuch' is trained here; there are: encoder"),
    mistake("vectors nosuch", "invalid choice: 'nosuch'", "'convert'"),
    mistake("score fields.jsonl", "fields.jsonl: line 1 (id 1): has no candidate caption", "--caption-field NAME"),
    mistake("score good.jsonl --caption-field captoin", "no field 'captoin'", "found id, candidate, references, image"),
    mistake("score good.jsonl --id-field image_ids", "no field 'image_ids'", "found id, candidate"),
    mistake("score good.jsonl --references-field refs", "no field 'refs'", "found id, candidate"),
    mistake("score table.csv", "table.csv: no column for captions; found id, text_en", "expected `candidate`"),
    mistake("score table.csv --caption-field text_de", "no column 'text_de'", "found id, text_en"),
    mistake("annotate good.jsonl --images photos -o c --questions beauty", "'beauty'", "fidelity, adequacy, fluency"),
    mistake("filter good.jsonl out.jsonl --keep 'cidr > 1'", "there is no column 'cidr'; did you mean cider"),
    mistake("compare good.jsonl bare.jsonl --fail-if cider", "--fail-if cider", "say 'METRIC drops'"),
]

WRONG_OPTION = [
    mistake("score", "the following arguments are required: CANDIDATES", "`vericap score --help`"),
    mistake("score good.jsonl -m", "--metrics/-m: expected one argument", "`vericap score --help`"),
    mistake("score good.jsonl --metrcis cider", "unrecognized arguments: --metrcis", "did you mean --metrics?"),
    mistake("verify nosuch", "unrecognized arguments: nosuch; beside options it takes nothing"),
    mistake("score good.jsonl --refs x.json", "unrecognized arguments: --refs", "did you mean --references?"),
    mistake("score good.jsonl --num_workers 2", "unrecognized arguments: --num_workers", "did you mean --workers?"),
    mistake("score good.jsonl --image_dir photos", "unrecognized arguments: --image_dir", "did you mean --images?"),
    mistake("score good.jsonl more.jsonl", "unrecognized arguments: more.jsonl", "it takes CANDIDATES"),
    mistake("score good.jsonl --workers 0", "--workers: 0 is not a positive number"),
    mistake("score good.jsonl --workers many", "--workers", "'many'", "`vericap score --help`"),
    mistake("score good.jsonl --seed x", "--seed", "'x'", "`vericap score --help`"),
    mistake("score good.jsonl --resamples -1", "--resamples: -1 is not a positive number"),
    mistake("score good.jsonl --device gpu", "--device gpu: there is no such device", "choose auto or one of cpu"),
    mistake("score good.jsonl --tokenizer moses", "no tokenizer is called 'moses'", "there are: ptb"),
    mistake("score good.jsonl --engine spark", "--engine: invalid choice: 'spark'", "'ray'"),
    mistake("score good.jsonl --shard 3/2", "--shard: '3/2' is not like 3/8"),
    mistake("score good.jsonl --df nosuch.npz", "--df nosuch.npz: no such file", "give corpus, coco-val"),
    mistake("score good.jsonl --df arrays.npz", "arrays.npz is not a table of document frequencies", "`vericap df`"),
    mistake("score good.jsonl --json --output -", "--json and --output - both want standard output", "choose one"),
    mistake("score good.jsonl --figure-format gif --figures f", "invalid choice: 'gif'", "'png', 'svg', 'pdf'"),
    mistake("compare good.jsonl", "comparing needs at least two systems", "vericap compare a.json b.json"),
    mistake("compare good.jsonl good.jsonl --level 2", "--level 2.0 is not between 0 and 1", "0.05 is usual"),
    mistake("compare good.jsonl good.jsonl --test ttest", "invalid choice: 'ttest'", "'bootstrap'"),
    mistake("filter good.jsonl out.jsonl", "say what to keep, for example: --keep"),
    mistake("filter good.jsonl --keep rouge-l>0", "name an INPUT and an OUTPUT"),
    mistake("filter good.jsonl out.jsonl --keep top:2:cider", "--keep: a share lies between 0 and 1"),
    mistake("filter good.jsonl out.jsonl --keep rouge-l=0", "'=' is not known here; did you mean '=='?"),
    mistake("filter good.jsonl out.jsonl --keep 'cider >'", "--keep: a number or a word is missing after '>'"),
    mistake("filter good.jsonl out.jsonl --keep \"__import__('os')\"", "--keep: & or | or 'then' is expected"),
    mistake("report good.jsonl", "required: --output/-o", "`vericap report --help`"),
    mistake("check photos/dog.png", "required: CAPTION", "`vericap check --help`"),
    mistake("train vse", "required: --features, --output/-o", "`vericap train vse --help`"),
    mistake("features photos", "the store with --output STORE"),
    mistake("detect photos/dog.png --threshold 5", "5 is not a number from 0 to 1"),
    mistake("serve --port 99999", "99999 cannot be listened on", "--port NUMBER"),
    mistake("cache wipe", "invalid choice: 'wipe'", "'clear'"),
    mistake("meta", "name a data set (`vericap meta --list`)"),
]

WRONG_PLACE = [
    mistake("score good.jsonl --output nosuch/out.csv", "nosuch/out.csv: the folder nosuch does not exist"),
    mistake("score good.jsonl --output good.jsonl", "good.jsonl: is one of the inputs", "choose another output"),
    mistake(
        "score good.jsonl --output out.docx", "out.docx: results are written as .jsonl, .csv", "choose one of these"
    ),
    mistake("score good.jsonl --figures good.jsonl", "--figures good.jsonl: is a file; name a folder"),
    mistake("score good.jsonl -m sentence --cache good.jsonl", "the cache good.jsonl cannot be used", "--cache off"),
    mistake("filter good.jsonl good.jsonl --keep rouge-l>0", "is one of the inputs", "choose another output"),
    mistake(
        "df two.txt -o df.txt", "df.txt: document frequencies are written as .npz", "choose one of these extensions"
    ),
    mistake("df two.txt -o good.jsonl/df.npz", "good.jsonl/df.npz: the folder good.jsonl does not exist"),
    mistake("demo --output good.jsonl", "good.jsonl: File exists", "choose another name"),
    mistake("report good.jsonl -m rouge-l -o good.jsonl", "good.jsonl: is a file; a report needs a folder"),
    mistake("annotate good.jsonl --images photos -o good.jsonl", "good.jsonl: is a file; a campaign needs a folder"),
    mistake("score good.jsonl -m vse --images nosuch", "--images nosuch: no such folder"),
    mistake("score good.jsonl -m vse --features nosuch", "nosuch is not a feature store", "`vericap features`"),
    mistake("score good.jsonl -m chair --objects nosuch.json", "nosuch.json: no such file in {here}"),
    mistake(
        "score good.jsonl -m chair --objects notes.txt", "the object source 'notes.txt' is not known; give detector"
    ),
    mistake("score good.jsonl -m chair --objects objects.json", "1: chair: its objects cannot be read", code=1),
    mistake("detect no-photos", "no image in no-photos"),
    mistake("meta flickr8k-expert --data photos", "is not in photos", "put it in photos/flickr8k", "--data-folder DIR"),
]

WRONG_LANGUAGE_OR_INPUT = [
    mistake("score good.jsonl --lang english", "--lang english is no language", "en, ja, zh, de"),
    mistake("score japanese.jsonl --lang ja -m spice", "'spice' is for language en, not 'ja'", "choose another metric"),
    mistake("score good.jsonl -m jaspice", "'jaspice' is for language ja, not 'en'", "--lang ja"),
    mistake("check photos/dog.png 犬 --lang ja", "only English captions are checked", "`vericap score`"),
    mistake("parse 'a dog' --lang fr", "invalid choice: 'fr'", "'en', 'ja'"),
    mistake("score bare.jsonl -m CIDEr", "metric 'cider-d' needs references", "give --references"),
    mistake("score good.jsonl -m vse", "look at images", "--images DIR"),
    mistake("annotate good.jsonl", "rated with their photos", "--images DIR"),
]

MISSING_GROUP = [
    mistake("score book.xlsx", "'openpyxl'", "[xlsx]'", without="openpyxl"),
    mistake("score japanese.jsonl --lang ja -m jaspice", "'ginza'", "[ja]'", without="ginza"),
    mistake("score japanese.jsonl --lang ja -m bleu", "'sudachipy'", "[ja]'", without="sudachipy"),
    mistake("score good.jsonl --figures f", "'matplotlib'", "[figures]'", without="matplotlib"),
    mistake("train vse --features s -o m", "'torch'", "[train]'", without="torch"),
    mistake("score good.jsonl -m lm:model=gpt2", "'transformers'", "[hub]'", without="transformers"),
    mistake("score good.jsonl -m chair --images photos --objects hub/x", "[hub]'", without="torch transformers"),
    mistake("serve", "'fastapi'", "[serve]'", without="fastapi"),
    mistake("score good.jsonl --engine ray", "[ray]'", without="ray"),
]

MISTAKES = [*WRONG_FILE, *WRONG_NAME, *WRONG_OPTION, *WRONG_PLACE, *WRONG_LANGUAGE_OR_INPUT, *MISSING_GROUP]
