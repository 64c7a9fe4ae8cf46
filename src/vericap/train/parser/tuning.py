"""Tuning the shipped spaCy pipeline (tok2vec, tagger, parser) on a treebank of captions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vericap.train.parser.treebank import Tree, joined

_GLUED = frozenset({".", ",", "'s", "n't", "'", "!", "?", ";", ":"})


@dataclass(frozen=True)
class TuningOptions:
    """How the pipeline is tuned."""

    epochs: int = 2
    batch: int = 64
    rate: float = 5e-4
    dropout: float = 0.1
    joined: int = 25  # one text of several sentences for so many captions
    seed: int = 0


def tune(nlp: Any, trees: Sequence[Tree], options: TuningOptions, note: Callable[[str], None] = print) -> None:
    """Tune in place; the averaged weights are kept."""
    from thinc.api import fix_random_seed

    fix_random_seed(options.seed)
    draw = random.Random(options.seed)
    optimizer = nlp.resume_training()
    full = [tree for tree in trees if tree.words[-1] == "."]
    steps = options.epochs * ((len(trees) + len(trees) // options.joined) // options.batch)
    step = 0
    for epoch in range(options.epochs):
        texts = [*trees, *(joined(draw.sample(full, draw.randint(2, 5))) for _ in range(len(trees) // options.joined))]
        draw.shuffle(texts)
        losses: dict[str, float] = {}
        for start in range(0, len(texts) - options.batch + 1, options.batch):
            optimizer.learn_rate = options.rate * max(1 - step / max(steps, 1), 0.002)
            part = [_example(nlp, tree, draw) for tree in texts[start : start + options.batch]]
            nlp.update(part, drop=options.dropout, sgd=optimizer, losses=losses)
            step += 1
            if step % 200 == 0:
                note(f"step {step} of {steps}: " + ", ".join(f"{name} {value:.0f}" for name, value in losses.items()))
        note(f"epoch {epoch + 1} of {options.epochs} done")
    with nlp.use_params(optimizer.averages):
        kept = {name: pipe.model.to_bytes() for name, pipe in nlp.pipeline}
    for name, weights in kept.items():
        nlp.get_pipe(name).model.from_bytes(weights)


def _example(nlp: Any, tree: Tree, draw: random.Random) -> Any:
    from spacy.tokens import Doc
    from spacy.training import Example

    spaces = _spaces(tree.words, tight=draw.random() < 0.7)
    text = Doc(nlp.vocab, words=tree.words, spaces=spaces)
    told = Doc(nlp.vocab, words=tree.words, spaces=spaces, tags=tree.tags, deps=tree.deps, heads=tree.heads)
    return Example(text, told)


def _spaces(words: Sequence[str], *, tight: bool) -> list[bool]:
    """Which words have a blank behind them: captions are written "a dog." and, tokenised, "a dog ."."""
    last = len(words) - 1
    return [place < last and not (tight and words[place + 1] in _GLUED) for place in range(len(words))]


def write(nlp: Any, folder: Path) -> None:
    """The pipeline's files, none of them pickled."""
    folder.mkdir(parents=True, exist_ok=True)
    nlp.to_disk(folder)
