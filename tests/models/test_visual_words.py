from __future__ import annotations

import numpy as np
import pytest

from vericap.models.visual_words import PhotoWords, VisualWords, expected, load, pooled
from vericap.vision.cells import PhotoCells

RNG = np.random.default_rng(5)
KINDS = ("object", "action")


def made_model(entries: int = 6, space: int = 4, hidden: int = 5, width: int = 8) -> VisualWords:
    weights = {
        "whole_hidden": RNG.normal(size=(hidden, width)), "whole_hidden_bias": RNG.normal(size=hidden),
        "whole_words": RNG.normal(size=(entries, hidden)), "whole_words_bias": RNG.normal(size=entries),
        "whole_mean": RNG.normal(size=width), "whole_deviation": RNG.uniform(1, 2, size=width),
        "words": RNG.normal(size=(entries, space)), "words_bias": RNG.normal(size=entries),
        "fusion": RNG.uniform(size=(2, 3)), "prior": RNG.normal(size=entries),
    }  # fmt: skip
    made = {name: value.astype(np.float32) for name, value in weights.items()}
    made["kinds"] = np.array([0, 1] * (entries // 2), dtype=np.uint8)
    return VisualWords(made, [f"word{n}" for n in range(entries)], KINDS, "made")


def made_photo(model: VisualWords, cells: int = 9, space: int = 4) -> PhotoWords:
    vectors = RNG.normal(size=(cells, space)).astype(np.float32)
    boxes = np.array([[0.1, 0.1, 0.5, 0.6]], dtype=np.float32)
    seen = PhotoCells(vectors, boxes, np.array([0.7], dtype=np.float32))
    (photo,) = model.look(RNG.normal(size=(1, 8)).astype(np.float32), [seen])
    return photo


def test_evidence_is_the_weighted_sum_of_both_heads_beyond_the_prior() -> None:
    model = made_model()
    photo = made_photo(model)
    asked = np.array([1, 4])
    whole, cells = model.whole(photo), model.at_cells(photo, asked)
    np.testing.assert_allclose(model.whole_of(photo, asked), whole[asked], rtol=1e-5)
    found = model.evidence(whole[asked], pooled(cells), asked)
    for place, entry in enumerate(asked.tolist()):
        a, b, c = model._fusion[:, entry]
        mean = np.log(np.mean([np.exp(cell) for cell in cells[:, place]]))
        expected = a * (whole[entry] - model.prior[entry]) + b * (mean - model.prior[entry]) + c
        assert found[place] == pytest.approx(expected, abs=1e-4)


def test_what_is_kept_of_a_photo_comes_back_to_the_bit() -> None:
    model = made_model()
    photo = made_photo(model)
    again = PhotoWords.unpack(photo.pack())
    assert again.pack() == photo.pack()
    np.testing.assert_array_equal(again.whole, photo.whole)
    np.testing.assert_array_equal(again.cells, photo.cells)
    np.testing.assert_array_equal(model.whole(again), model.whole(photo))


def test_the_pooled_value_lies_between_mean_and_maximum() -> None:
    cells = RNG.normal(size=(20, 7)).astype(np.float32) * 4
    found = pooled(cells)
    assert (found <= cells.max(axis=0)).all()
    assert (found >= cells.mean(axis=0)).all()


def test_the_shipped_model_sees_what_the_demo_photos_show() -> None:
    from PIL import Image

    from vericap.core.shipped import ROOT
    from vericap.vision.regions import Extractor

    model, extractor = load(), Extractor()
    assert len(model.entries) > 2000
    assert set(model.kinds) >= {"object", "attribute", "action"}
    for file in sorted((ROOT / "demo" / "photos").glob("*.jpg")):
        final, middle, last = extractor.maps(Image.open(file).convert("RGB"), ("middle", "last"))
        (photo,) = model.look(final.mean(axis=(0, 1))[None], model.head(middle[None], last[None]))
        seen = expected(model, photo, top=5)
        assert all(0 <= side <= 1 for one in seen for side in one.region)
        assert max(one.share for one in seen) > 0.2
