"""Build src/vericap/data/ptb/table.npz from the rules: python tools/ptb/build.py"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
from automaton import compile_rules
from rules import NAMES, RULES

from vericap.text import ptb

TARGET = Path(__file__).resolve().parents[2] / "src" / "vericap" / "data" / "ptb"


def build() -> dict[str, np.ndarray]:
    groups = [[(rule.pattern if rule.ahead is None else f"({rule.pattern})({rule.ahead})", number)
               for number, rule in enumerate(RULES, 1)]]  # fmt: skip
    with_ahead = [number for number, rule in enumerate(RULES) if rule.ahead is not None]
    for number in with_ahead:
        groups.append([(RULES[number].pattern, number + 1)])
        groups.append([(str(RULES[number].ahead), number + 1)])
    machine = compile_rules(groups, NAMES)
    mains, aheads = np.zeros(len(RULES), np.uint16), np.zeros(len(RULES), np.uint16)
    for place, number in enumerate(with_ahead):
        mains[number], aheads[number] = machine.starts[1 + 2 * place], machine.starts[2 + 2 * place]
    assert machine.moves.max() < 1 << 16
    assert machine.classes.max() < 256
    assert len(RULES) < 255
    return {
        "classes": machine.classes.astype(np.uint8),
        "moves": machine.moves.astype(np.uint16),
        "accepts": machine.accepts.astype(np.uint8),
        "mains": mains,
        "aheads": aheads,
        "actions": np.array([getattr(ptb, rule.action.upper()) for rule in RULES], np.uint8),
        "start": np.array([machine.starts[0]], np.int32),
    }


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    table = build()
    file = TARGET / "table.npz"
    np.savez_compressed(file, **table)
    meta = {
        "name": "ptb",
        "what": "Automaton of the Penn Treebank tokeniser",
        "licence": "Apache-2.0 (part of vericap)",
        "source": "tools/ptb/rules.py, tools/ptb/characters.json",
        "script": "tools/ptb/build.py",
        "files": {"table.npz": hashlib.sha256(file.read_bytes()).hexdigest()},
    }
    (TARGET / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")
    print(f"{len(RULES)} rules, {table['moves'].shape[0]} states, {table['moves'].shape[1]} classes, "
          f"{file.stat().st_size} bytes")  # fmt: skip


if __name__ == "__main__":
    main()
