"""CIDEr-D (or any metrics) as a reward for self-critical training (Rennie et al. 2017).

critic = SelfCritical(df="coco-train.npz")                    # vericap df captions_train2014.json -o coco-train.npz
advantage = critic(sampled, references, greedy=greedy)        # one number per sampled caption
loss = -(log_probabilities.sum(1) * torch.as_tensor(advantage)).mean()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vericap.api import Scorer
from vericap.core.errors import InputError, VericapError
from vericap.core.typing import Floats
from vericap.metrics.registry import Wanted, canonical


class SelfCritical:
    """Scores of sampled captions, less those of a baseline.

    Parameters
    ----------
    metrics : str or iterable
        Names separated by commas, or a list of names, metrics and plain functions.
    df : str or path
        Document frequencies of CIDEr-D: "coco-val", or a file of `vericap df`. Frequencies of the batch ("corpus")
        would make a reward depend on the other captions and are refused.
    weights : dict
        Factor of each metric, by name; 1 for those without.
    **settings : Any
        Those of `vericap.Settings`.

    Examples
    --------
    >>> critic = SelfCritical("rouge-l")
    >>> critic(["a dog runs", "a cat"], [["a dog runs"]], greedy=["a dog"]).round(3).tolist()
    [0.228, -0.386]
    """

    def __init__(
        self,
        metrics: str | Iterable[Wanted] = "cider-d",
        *,
        df: str = "coco-val",
        weights: Mapping[str, float] | None = None,
        **settings: Any,
    ) -> None:
        self.scorer = Scorer(metrics, df=df, **settings)
        self.metrics = self.scorer.run.metrics
        if df == "corpus" and any(metric.prepares for metric in self.metrics):
            raise VericapError(
                "a reward must not depend on the other captions of a batch; bring frequencies: `df=FILE`"
            )
        given = {canonical(name): float(value) for name, value in (weights or {}).items()}
        labels = [metric.label for metric in self.metrics]
        unknown = [name for name in given if name not in labels]
        if unknown:
            raise VericapError(f"there is no metric {', '.join(unknown)} to weigh; there are: {', '.join(labels)}")
        self.weights = {name: given.get(name, 1.0) for name in labels}

    def __call__(
        self,
        sampled: Sequence[str],
        references: Sequence[Sequence[str]],
        *,
        greedy: Sequence[str] | None = None,
        image_names: Sequence[str] | None = None,
    ) -> Floats:
        """Reward of each sampled caption, in their order.

        Parameters
        ----------
        sampled : list of str
            Captions, the same number for each image, those of one image together.
        references : list of list of str
            One list per image.
        greedy : list of str
            One caption per image, whose score is subtracted. Without it the mean score of the image's other sampled
            captions is subtracted; then each image needs two or more.
        image_names : list of str
            Image files, one per image, for metrics that look at them.

        Returns
        -------
        array
            One number per sampled caption.

        Examples
        --------
        >>> SelfCritical("rouge-l")(["a dog runs", "a cat"], [["a dog runs"]]).round(3).tolist()
        [0.614, -0.614]
        """
        each = _samples_per_image(len(sampled), len(references), greedy)
        repeated = [own for own in references for _ in range(each)]
        names = None if image_names is None else [name for name in image_names for _ in range(each)]
        if greedy is not None:
            captions = [*sampled, *greedy]
            files = None if names is None or image_names is None else [*names, *image_names]
            scores = self.scores(captions, [*repeated, *references], files)
            return np.asarray(scores[: len(sampled)] - np.repeat(scores[len(sampled) :], each))
        scores = self.scores(list(sampled), repeated, names).reshape(-1, each)
        others = (scores.sum(axis=1, keepdims=True) - scores) / (each - 1)
        return np.asarray((scores - others).ravel())

    def scores(
        self, captions: Sequence[str], references: Sequence[Sequence[str]], image_names: Sequence[str] | None = None
    ) -> Floats:
        """The weighted sum of the metrics' scores.

        Parameters
        ----------
        captions : list of str
            The captions.
        references : list of list of str
            References of each caption.
        image_names : list of str
            The image file of each caption, for metrics that look at it.

        Returns
        -------
        array
            One number per caption; 0 for one that a metric cannot judge.
        """
        beside = {} if image_names is None else {"image_names": list(image_names)}
        result = self.scorer.run.score(self.scorer.samples(list(captions), list(references), **beside))
        return np.asarray(sum(weight * np.nan_to_num(result[name]) for name, weight in self.weights.items()))


def _samples_per_image(sampled: int, images: int, greedy: Sequence[str] | None) -> int:
    if not images or sampled % images:
        raise InputError(f"{sampled} sampled captions of {images} images; each image needs the same number")
    if greedy is not None and len(greedy) != images:
        raise InputError(f"{len(greedy)} entries in `greedy` but references of {images} images")
    if greedy is None and sampled // images < 2:
        raise InputError("one sampled caption per image has no others to compare with; give `greedy`, or sample more")
    return sampled // images
