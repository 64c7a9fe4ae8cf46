from __future__ import annotations

import numpy as np
import pytest

from vericap.vision.cells import BOXES, CellHead, apart, overlap

RNG = np.random.default_rng(3)
WIDTHS = {"middle": 5, "last": 7}


def made_head(hidden: int = 6, space: int = 4) -> dict[str, np.ndarray]:
    weights = {
        "middle": RNG.normal(size=(hidden, 5)), "last": RNG.normal(size=(hidden, 7)),
        "hidden_bias": RNG.normal(size=hidden),
        "space": RNG.normal(size=(space, hidden)), "space_bias": RNG.normal(size=space),
        "box": RNG.normal(size=(5, hidden)), "box_bias": RNG.normal(size=5) - 1,
    }  # fmt: skip
    for kind, width in WIDTHS.items():
        weights |= {f"{kind}_mean": RNG.normal(size=width), f"{kind}_deviation": RNG.uniform(1, 2, size=width)}
    return {name: value.astype(np.float32) for name, value in weights.items()}


def test_a_cell_reads_the_finer_map_and_the_coarser_cell_it_lies_in() -> None:
    w = made_head()
    middle, last = RNG.normal(size=(2, 4, 4, 5)).astype(np.float32), RNG.normal(size=(2, 2, 2, 7)).astype(np.float32)
    photos = CellHead(w)(middle, last)
    for photo in range(2):
        for row in range(4):
            for column in range(4):
                fine = (middle[photo, row, column] - w["middle_mean"]) / w["middle_deviation"]
                coarse = (last[photo, row // 2, column // 2] - w["last_mean"]) / w["last_deviation"]
                hidden = np.maximum(w["middle"] @ fine + w["last"] @ coarse + w["hidden_bias"], 0)
                expected = w["space"] @ hidden + w["space_bias"]
                np.testing.assert_allclose(photos[photo].vectors[row * 4 + column], expected, rtol=2e-4, atol=2e-5)


def test_boxes_lie_inside_the_photo_around_their_cells() -> None:
    (photo,) = CellHead(made_head())(
        RNG.normal(size=(1, 8, 8, 5)).astype(np.float32), RNG.normal(size=(1, 4, 4, 7)).astype(np.float32)
    )
    assert photo.side == 8
    assert 0 < len(photo.boxes) <= BOXES
    assert (photo.boxes >= 0).all()
    assert (photo.boxes <= 1).all()
    assert (photo.boxes[:, 2:] > photo.boxes[:, :2]).all()
    assert (np.diff(photo.certain) <= 0).all()


def test_photos_are_the_same_alone_and_together() -> None:
    head = CellHead(made_head())
    middle, last = RNG.normal(size=(3, 4, 4, 5)).astype(np.float32), RNG.normal(size=(3, 2, 2, 7)).astype(np.float32)
    for number, together in enumerate(head(middle, last)):
        (alone,) = head(middle[number : number + 1], last[number : number + 1])
        np.testing.assert_allclose(alone.vectors, together.vectors, rtol=1e-4, atol=1e-5)


def test_of_boxes_that_overlap_the_most_certain_stays() -> None:
    boxes = np.array([[0, 0, 0.5, 0.5], [0.01, 0, 0.5, 0.5], [0.6, 0.6, 1, 1]], dtype=np.float32)
    kept, certain = apart(boxes, np.array([0.4, 0.9, 0.5], dtype=np.float32), 5)
    np.testing.assert_array_equal(kept, boxes[[1, 2]])
    np.testing.assert_allclose(certain, [0.9, 0.5])


def test_the_kernel_keeps_the_boxes_that_its_twin_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    corners = np.sort(RNG.uniform(size=(300, 2, 2)), axis=1).reshape(300, 4)
    boxes = np.concatenate([corners, corners[:20], np.repeat(corners[:5, :2], 2, axis=1)]).astype(np.float32)
    certain = RNG.integers(0, 50, len(boxes)).astype(np.float32)  # with ties, and boxes without area
    for most in (1, 35, 400):
        found = apart(boxes, certain, most)
        with monkeypatch.context() as patch:
            patch.setenv("VERICAP_PURE_PYTHON", "1")
            for one, other in zip(found, apart(boxes, certain, most), strict=True):
                np.testing.assert_array_equal(one, other)


def test_overlap_by_counting_points() -> None:
    grid = (np.arange(400) + 0.5) / 400
    x, y = np.meshgrid(grid, grid)

    def inside(box: np.ndarray) -> np.ndarray:
        return (x >= box[0]) & (x <= box[2]) & (y >= box[1]) & (y <= box[3])

    boxes = np.sort(RNG.uniform(size=(6, 2, 2)), axis=1).reshape(6, 4)[:, [0, 1, 2, 3]].astype(np.float32)
    for other, found in zip(boxes, overlap(boxes[0], boxes)):
        both, either = inside(boxes[0]) & inside(other), inside(boxes[0]) | inside(other)
        assert abs(both.sum() / either.sum() - found) < 0.02
