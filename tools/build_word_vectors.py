"""Build data/word_vectors: frequent caption words through the sentence encoder, int8.

    python tools/build_word_vectors.py ../shared/data [--words 10000]

Words are counted in COCO's and Flickr8k's training captions and cut by the product's own tokeniser. A row is the
unit vector of the single word, as int8 with one scale; the mean of all rows is stored beside them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
from build_caption_mean import coco, flickr8k

from vericap.core import shipped
from vericap.core.batch import Batch
from vericap.core.samples import Sample
from vericap.run.analyses import Tokens
from vericap.run.plan import analysed
from vericap.text.encoders import open_encoder
from vericap.text.stopwords import is_content


def frequent(texts: list[str], count: int) -> list[str]:
    batch = Batch.of(Sample(str(i), text) for i, text in enumerate(texts))
    tokens = analysed(batch, Tokens())[Tokens()]
    counts = Counter(dict(enumerate(np.bincount(tokens.ids, minlength=len(tokens.vocabulary)).tolist())))
    ranked = (tokens.vocabulary[i] for i, _ in counts.most_common())
    return [word for word in ranked if is_content(word)][:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--words", type=int, default=10_000)
    args = parser.parse_args()
    words = frequent([*coco(args.data), *flickr8k(args.data)], args.words)
    encoder = open_encoder()
    vectors = encoder.encode(words, centred=False)
    scales = np.abs(vectors).max(axis=1) / 127
    table = np.rint(vectors / scales[:, None]).astype(np.int8)
    folder = shipped.ROOT / "word_vectors"
    folder.mkdir(exist_ok=True)
    np.save(folder / "vectors.npy", table)
    np.save(folder / "scales.npy", scales.astype(np.float32))
    np.save(folder / "mean.npy", (table * scales[:, None]).mean(axis=0).astype(np.float32))
    (folder / "words.txt").write_text("\n".join(words), "utf-8")
    (folder / "LICENSE").write_text((shipped.ROOT / "caption_encoder/LICENSE").read_text("utf-8"), "utf-8")
    files = ("vectors.npy", "scales.npy", "mean.npy", "words.txt")
    meta = {
        "what": "vectors of frequent caption words: the sentence encoder on single words",
        "encoder": encoder.name,
        "licence": "MIT, as the encoder (LICENSE in this folder)",
        "source": "words of the COCO and Flickr8k training captions",
        "made_by": "tools/build_word_vectors.py",
        "files": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in files},
    }
    (folder / "meta.json").write_text(json.dumps(meta, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
