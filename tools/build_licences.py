"""docs/licences.md: what ships under which licence and from where, and the expression of the whole package.

    python tools/build_licences.py            # writes the page
    python tools/build_licences.py --check    # exit 1 where the page, a row or a licence's text is missing or old

A folder of `src/vericap/data` needs a line here and, unless it was written for vericap, a file with the licence's text.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
DATA = HERE / "src" / "vericap" / "data"
PAGE = HERE / "docs" / "licences.md"
NAMES = ("LICENSE*", "COPYING*", "CREDITS*", "photos/CREDITS*")  # what a licence's text is called
OWN = "Apache-2.0"


@dataclass(frozen=True)
class Part:
    """One folder: SPDX identifiers, and where its content comes from if no `meta.json` says so."""

    licences: tuple[str, ...] = (OWN,)
    source: str = ""
    written_here: bool = False  # the licence is that of vericap itself, whose text is in the root folder


PARTS: dict[str, Part] = {
    "backbone": Part(),
    "caption_encoder": Part(("MIT",), "gte-small, from which it learned (`vericap train encoder`)"),
    "cards": Part(source="written for vericap", written_here=True),
    "chair": Part(written_here=True),
    "coco-val-df": Part(("CC-BY-4.0",)),
    "demo": Part(
        (OWN, "CC0-1.0", "CC-BY-2.0"),
        "captions written for vericap; photos with credits in `photos/CREDITS.md`, two of them in the public domain",
    ),
    "detector": Part(),
    "faier": Part(source="trained by `vericap train faier`"),
    "faier_plus": Part(source="trained by `vericap train faier-plus`"),
    "fluency": Part(
        ("CC-BY-4.0", "LicenseRef-WordNet-3.0"), "COCO and Flickr8k captions, WordNet 3.0 (`vericap train fluency`)"
    ),
    "japanese": Part(source="written for vericap", written_here=True),
    "jumandic": Part(("BSD-3-Clause",)),
    "labeller": Part(("MIT",), "FACTUAL (Li et al. 2023), on which it was trained (`vericap train parser`)"),
    "learn_to_eval": Part(),
    "lm": Part(("CC-BY-4.0",)),
    "meteor": Part(("LGPL-2.1-only", "LicenseRef-WordNet-3.0")),
    "phrases": Part(("CC-BY-4.0",)),
    "ptb": Part(written_here=True),
    "scales": Part(written_here=True),
    "scan": Part(source="trained by `vericap train scan`"),
    "spacy_en": Part(("MIT", "LicenseRef-WordNet-3.0")),
    "verdict": Part(source="fitted by `vericap train verdict` on ratings of Crisscrossed Captions and spoilt captions"),
    "visual_words": Part(source="trained by `vericap train words` on photos and captions of COCO"),
    "vse": Part(source="trained by `vericap train vse`"),
    "word_vectors": Part(("MIT",)),
    "wordnet": Part(("LicenseRef-WordNet-3.0",)),
    "wordnet_ja": Part(("LicenseRef-Japanese-WordNet",)),
}

HEAD = """# What ships under which licence

vericap's own code is under Apache-2.0 (`LICENSE`). Tables and weights of others have their own terms; each folder of
`src/vericap/data` carries their text, and all of these files are in the wheel, under `vericap-*.dist-info/licenses/`.
This page is made by `python tools/build_licences.py`; a test fails where a folder has no row or no licence.

The package as a whole, as an SPDX expression:

    {expression}

| folder of `vericap/data` | licence (SPDX) | text | from where |
|---|---|---|---|
"""

TAIL = """
`LicenseRef-WordNet-3.0` and `LicenseRef-Japanese-WordNet` are the permissive licences of Princeton University and of
NICT; SPDX has no name for them. Their texts are in `wordnet/LICENSE` and `wordnet_ja/LICENSE`.

## What this means in use

- **METEOR's tables are LGPL-2.1.** They are data files of their own (`vericap/data/meteor`), apart from the code, which
  was newly written. Who passes vericap on passes this licence on with them; who must not have LGPL files deletes that
  folder: `meteor` and `spice` then say that a part is missing, `spice:synonyms=false` and the other metrics work as
  before (a test says so). `tools/build_meteor_tables.py` makes the tables again. They stay in the one wheel, because
  METEOR is among the default metrics and `pip install .` from a clone must bring all of these without an index: a wheel
  of their own would not be found there. The expression above and `LICENSE` beside the tables say so instead.
- **CC BY asks for credit**: COCO captions (COCO Consortium, https://cocodataset.org) are behind `coco-val-df`, `lm`,
  `fluency` and `phrases` as counts, means and weights, not as texts; two photos of the demo name their authors.
- **gte-small** (MIT) is a package of its own, `packages/vericap-gte-small`, with its licence inside.
- **Scores are yours.** None of these licences says anything about the numbers that come out.
- No code of others is carried in the package: the C kernels, the tokeniser's automaton, the stemmer and the pages'
  scripts were written for vericap. What pip installs beside it (NumPy, SciPy, PyArrow, Pillow, ONNX Runtime, spaCy)
  has its own licences, none of them in the wheel.
"""


def folders() -> list[str]:
    """The folders that ship."""
    return sorted(path.name for path in DATA.iterdir() if path.is_dir() and path.name != "__pycache__")


def texts(name: str) -> list[Path]:
    """The licence files of a folder."""
    return sorted(file for pattern in NAMES for file in (DATA / name).glob(pattern))


def expression() -> str:
    """The SPDX expression of the whole: ours first, then by name, names of our own last."""
    found = {one for part in PARTS.values() for one in part.licences} - {OWN}
    return " AND ".join([OWN, *sorted(found, key=lambda one: (one.startswith("LicenseRef"), one))])


def mistakes() -> list[str]:
    """What is missing before the page can be true."""
    found = [f"{name}: no line in PARTS of tools/build_licences.py" for name in folders() if name not in PARTS]
    found += [f"{name}: a line in PARTS, and no such folder" for name in PARTS if name not in folders()]
    for name, part in PARTS.items():
        if not part.written_here and name in folders() and not texts(name):
            found.append(f"{name}: no file with the text of {' and '.join(part.licences)}")
    return found


def source(name: str) -> str:
    """Where a folder's content comes from: the line above, or its own `meta.json`."""
    if PARTS[name].source:
        return PARTS[name].source
    about = json.loads((DATA / name / "meta.json").read_text("utf-8"))["source"]
    return str(about["what"] + ", " + about["from"] if isinstance(about, dict) else about)


def page() -> str:
    """The page's text."""
    rows = []
    for name, part in sorted(PARTS.items()):
        text = "`LICENSE` of vericap" if part.written_here else ", ".join(f"`{file.name}`" for file in texts(name))
        rows.append(f"| `{name}` | {' AND '.join(part.licences)} | {text} | {source(name)} |\n")
    return HEAD.format(expression=expression()) + "".join(rows) + TAIL


def main() -> int:
    wrong = mistakes()
    if not wrong and "--check" in sys.argv and PAGE.read_text("utf-8") != page():
        wrong = [f"{PAGE}: not what tools/build_licences.py writes; run it"]
    for text in wrong:
        print(text, file=sys.stderr)
    if not wrong and "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
