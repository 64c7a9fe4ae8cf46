"""What a run computes: the keys of its metrics in order, what they cost, and how many samples go together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from vericap.core.analysis import Key, closure
from vericap.core.batch import Batch
from vericap.core.memory import without_collector
from vericap.core.metric import Metric
from vericap.core.settings import Settings
from vericap.run.runtime import Runtime

BUDGET = 256 << 20  # bytes of analyses held at once; more samples are analysed shard by shard
KEPT = 1 << 30  # bytes of analyses that are held from the first look at a corpus to the second


@dataclass(frozen=True)
class Plan:
    """The metrics of a run and the closure of the analyses they declare."""

    metrics: tuple[Metric, ...]
    settings: Settings
    explain: bool = False

    def keys_of(self, metric: Metric) -> tuple[Key, ...]:
        """Keys a metric may read."""
        wanted = metric.requires(self.settings)
        if self.explain:
            wanted = (*wanted, *metric.explain_requires(self.settings))
        return wanted

    def keys(self, metrics: Iterable[Metric] | None = None) -> tuple[Key, ...]:
        """All keys in the order they are computed."""
        chosen = self.metrics if metrics is None else metrics
        return closure((key for metric in chosen for key in self.keys_of(metric)), self.settings)

    def shards(self, batch: Batch) -> list[range]:
        """The samples in order, as many together as the budget holds."""
        keys, budget = self.keys(), BUDGET
        per = {index: sum(key.cost for key in keys if key.index == index) for index in ("text", "image", "sample")}
        whole = per["text"] * len(batch.texts) + per["image"] * len(batch.image_keys) + per["sample"] * len(batch)
        if whole <= budget:
            return [range(len(batch))]
        return list(_spans(batch, per["text"], per["image"], per["sample"], budget))

    def cost(self, batch: Batch, metrics: Iterable[Metric]) -> int:
        """Bytes that the analyses of some metrics take for a batch."""
        sizes = {"text": len(batch.texts), "image": len(batch.image_keys), "sample": len(batch), "run": 0}
        return sum(key.cost * sizes[key.index] for key in self.keys(metrics))


def _spans(batch: Batch, text: int, image: int, sample: int, budget: int) -> Iterator[range]:
    start, held = 0, 0
    texts, images = set[int](), set[int]()
    offsets, references = batch.reference_offsets.tolist(), batch.reference_index.tolist()
    for row, (candidate, place) in enumerate(zip(batch.candidates.tolist(), batch.images.tolist())):
        new = {candidate, *references[offsets[row] : offsets[row + 1]]} - texts
        cost = text * len(new) + sample + (image if place >= 0 and place not in images else 0)
        if held + cost > budget and row > start:
            yield range(start, row)
            start, held, texts, images = row, 0, set(), set()
            new = {candidate, *references[offsets[row] : offsets[row + 1]]}
            cost = text * len(new) + sample + (image if place >= 0 else 0)
        held += cost
        texts |= new
        if place >= 0:
            images.add(place)
    yield range(start, len(batch))


@without_collector()
def fill(batch: Batch, keys: Sequence[Key], runtime: Runtime) -> Batch:
    """Compute what the batch lacks of some keys, in their order; analyses of photos share one pass."""
    missing = [key for key in keys if key not in batch and key.wanted(batch)]
    pixels: list[Any] = [key for key in missing if key.pixels]
    if pixels:
        from vericap.run.photos import look_at  # what reads photos is not loaded where nobody looks at any

        for photo_key, found in zip(pixels, look_at(batch, pixels, runtime)):
            batch.put(photo_key, photo_key.table(found))
    for key in missing:
        if key not in batch:
            reader = batch.read_by(f"the analysis {type(key).__name__}", key.requires(batch.settings))
            batch.put(key, key.compute(reader, runtime))
    return batch


def analysed(batch: Batch, *keys: Key, runtime: Runtime | None = None) -> Batch:
    """The batch with some keys and all they need computed: for scripts and tests that read analyses themselves."""
    return fill(batch, closure(keys, batch.settings), runtime or Runtime.of(batch.settings))
