"""What a model's meta file says it was trained on is checked when it is opened."""

from __future__ import annotations

import numpy as np
import pytest

from vericap.core.errors import InputError, VericapError
from vericap.models.described import checked, text_side
from vericap.models.scan import ScanModel
from vericap.models.vse import VseModel


def test_a_meta_file_that_is_true() -> None:
    features = {"fingerprint": "f", "width": 3}
    meta = {"name": "m", "fingerprint": "f", "features": features, **text_side("captions")}
    assert checked({}, meta)[1] is meta
    assert checked({}, {"name": "of before", "fingerprint": "f"})


def test_another_version_of_the_sentence_encoder_is_refused() -> None:
    meta = {"name": "m", "fingerprint": "f", **text_side("captions"), "text_encoder_version": "vericap-captions-0"}
    with pytest.raises(
        InputError, match=r"m was trained over the sentence encoder vericap-captions-0, but 'captions' is"
    ):
        checked({}, meta)


def test_features_of_another_width_are_refused() -> None:
    names = ("linear", "hidden", "output")
    weights = {name: np.ones((2, 3), np.float32) for name in names} | {f"{name}_bias": np.ones(2) for name in names}
    vse = VseModel({**weights, "sharpness": np.ones(())}, {"name": "m", "fingerprint": "f"})
    with pytest.raises(VericapError, match="width 4, the model m reads 3"):
        vse.embed(np.ones((1, 4), np.float32))
    scan = ScanModel({"image": np.ones((2, 3)), "image_bias": np.ones(2)}, {"name": "s", "fingerprint": "f"})
    with pytest.raises(VericapError, match="width 4, the model s reads 3"):
        scan.regions(np.ones((1, 4), np.float32))
