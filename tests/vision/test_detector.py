"""The shipped detector, the suppression of overlaps, and detectors that users bring."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from vericap.core import shipped
from vericap.core.errors import InputError, VericapError
from vericap.vision.detector import Detector, intersection_over_union, select
from vericap.vision.detector_source import detector_name, detector_spec, detector_threshold, open_detector
from vericap.vision.images import load_image
from vericap.vision.objects import ImageObjects

PHOTOS = shipped.ROOT / "demo" / "photos"

# What the original int8 network gives through Google's own runtime (ai-edge-litert 2.3.0) for the same pixels,
# cut off at the image's edge.
WITNESS = [
    ("astronaut.jpg", "person", 0.785, (13.5, 6.4, 346.5, 473.4)),
    ("chelsea.jpg", "cat", 0.812, (0.1, 0.0, 413.8, 300.0)),
    ("coffee.jpg", "cup", 0.867, (137.1, 18.0, 342.9, 256.9)),
    ("coffee.jpg", "dining table", 0.695, (2.2, 0.0, 478.0, 313.4)),
    ("coffee.jpg", "spoon", 0.621, (257.2, 132.6, 325.5, 261.7)),
]


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector.shipped()


def overlap(one: Any, other: Any) -> float:
    return float(intersection_over_union(np.float32(one), np.float32([other]))[0])


@pytest.mark.parametrize(("photo", "label", "score", "box"), WITNESS)
def test_the_conversion_gives_what_the_original_gives(
    detector: Detector, photo: str, label: str, score: float, box: tuple[float, ...]
) -> None:
    found = detector.detect([load_image(PHOTOS / photo)])[0]
    rows = [row for row in found.instances() if row[0] == label]
    nearest = max(rows, key=lambda row: overlap(row[2], box))
    assert overlap(nearest[2], box) > 0.9
    assert nearest[1] == pytest.approx(score, abs=0.03)


def test_demo_photos_hold_what_one_sees(detector: Detector) -> None:
    found = detector.detect([load_image(PHOTOS / f"{name}.jpg") for name in ("astronaut", "chelsea", "coffee")])
    assert found[0].labels == ("person",)
    assert found[1].labels == ("cat",)
    assert {"cup", "spoon", "dining table"} <= set(found[2].labels)


def test_threads_do_not_change_the_result(detector: Detector) -> None:
    photos = [load_image(file) for file in sorted(PHOTOS.glob("*.jpg"))[:3]]
    assert Detector.shipped(threads=2).detect(photos) == detector.detect(photos)


def test_boxes_lie_in_the_image_and_odd_shapes_pass(detector: Detector) -> None:
    photo = load_image(PHOTOS / "chelsea.jpg")
    for size in ((900, 60), (40, 700), (1, 1)):
        for _, _, box in detector.detect([photo.resize(size)], threshold=0.05)[0].instances():
            assert box is not None
            assert 0 <= box[0] <= box[2] <= size[0]
            assert 0 <= box[1] <= box[3] <= size[1]


def test_a_higher_threshold_is_the_same_result_cut_off(detector: Detector) -> None:
    photo = load_image(PHOTOS / "coffee.jpg")
    low = detector.detect([photo], threshold=0.1)[0]
    assert low.above(0.6) == detector.detect([photo], threshold=0.6)[0]


def test_the_shipped_file_is_described() -> None:
    meta = shipped.meta("detector")
    assert len(meta["labels"]) == 80
    assert meta["files"]["detector.onnx"] == shipped.sha256(shipped.path("detector", "detector.onnx"))
    assert "Apache License" in (shipped.ROOT / "detector" / "LICENSE").read_text()


boxes_strategy = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 6), st.integers(1, 6), st.floats(0, 1)),
    min_size=1,
    max_size=12,
)


@given(boxes_strategy, st.sampled_from([0.311, 0.509, 0.707]))
@settings(max_examples=200, deadline=None)
def test_kept_boxes_do_not_overlap_and_dropped_ones_do(rows: list[tuple[Any, ...]], limit: float) -> None:
    boxes = np.array([[x, y, x + w, y + h] for x, y, w, h, _ in rows], dtype=np.float32)
    scores = np.array([[s] for *_, s in rows], dtype=np.float32)
    kept = select(scores, boxes, threshold=0.2, overlap=limit)
    for place, (_, score, box) in enumerate(kept):
        assert all(overlap(box, other) <= limit for _, _, other in kept[:place])
        assert score >= 0.2
    for score, box in zip(scores[:, 0], boxes):  # every sure box is kept or covered by a surer kept one
        if score >= 0.2:
            assert any(s >= score and (overlap(k, box) > limit or np.array_equal(k, box)) for _, s, k in kept)


def test_classes_are_suppressed_apart() -> None:
    boxes = np.float32([[0, 0, 10, 10], [0, 0, 10, 10]])
    scores = np.float32([[0.9, 0.8], [0.7, 0.1]])
    kept = [(label, round(score, 1)) for label, score, _ in select(scores, boxes, threshold=0.2, overlap=0.5)]
    assert kept == [(0, 0.9), (1, 0.8)]


def tiny(folder: Path, outputs: dict[str, Any], description: dict[str, Any] | None, *, layout: str = "nchw") -> Path:
    """An ONNX file that answers the same for every image."""
    onnx = pytest.importorskip("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    shape = [1, 3, 50, 100] if layout == "nchw" else [1, 50, 100, 3]
    nodes, constants, values = [], [], []
    for name, value in outputs.items():
        array = np.asarray(value)
        constants.append(numpy_helper.from_array(array, f"{name}_value"))
        nodes.append(helper.make_node("Identity", [f"{name}_value"], [name]))
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        values.append(helper.make_tensor_value_info(name, kind, list(array.shape)))
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, shape)
    graph = helper.make_graph(nodes, "tiny", [image], values, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file = folder / "tiny.onnx"
    onnx.save(model, file)
    if description is not None:
        (folder / "tiny.json").write_text(json.dumps(description))
    return file


def found_by(file: Path, size: tuple[int, int] = (200, 100)) -> ImageObjects:
    return Detector.open(file).detect([Image.new("RGB", size)])[0]


def test_an_onnx_file_with_a_label_list(tmp_path: Path) -> None:
    file = tiny(
        tmp_path,
        {"scores": np.float32([[[0.9, 0.1], [0.2, 0.8]]]), "boxes": np.float32([[[0, 0, 0.5, 0.5], [0.5, 0.5, 1, 1]]])},
        None,
    )
    (tmp_path / "tiny.txt").write_text("sky\nsea\n")
    found = found_by(file)
    assert found.labels == ("sky", "sea")
    assert found.boxes == (((0.0, 0.0, 100.0, 50.0),), ((100.0, 50.0, 200.0, 100.0),))


def test_one_class_number_per_box(tmp_path: Path) -> None:
    file = tiny(
        tmp_path,
        {
            "conf": np.float32([[0.9, 0.6, 0.9]]),
            "where": np.float32([[[10, 5, 30, 20], [0, 0, 50, 50], [1, 1, 2, 2]]]),
            "what": np.int64([[1, 0, 7]]),
        },
        {"labels": ["a", "b"], "scores": "conf", "boxes": "where", "classes": "what", "box": "xyxy", "relative": False},
        layout="nhwc",
    )
    found = found_by(file)
    assert found.as_counts() == {"b": 1, "a": 1}
    assert found.boxes[0] == ((20.0, 10.0, 60.0, 40.0),)  # twice as large as the network's input


def test_yolo_rows_with_objectness_and_transposed(tmp_path: Path) -> None:
    row = [50, 25, 20, 10, 0.5, 0.0, 1.0]  # centre, size, objectness, two classes
    for rows in (np.float32([[row] * 3]), np.float32([[row] * 3]).transpose(0, 2, 1)):
        file = tiny(
            tmp_path,
            {"output0": rows},
            {"labels": ["a", "b"], "rows": "output0", "objectness": True, "box": "cxcywh", "relative": False},
        )
        found = found_by(file, (100, 50))
        assert found.as_counts() == {"b": 1}  # three equal boxes are one object
        assert found.scores == ((0.5,),)
        assert found.boxes == (((40.0, 20.0, 60.0, 30.0),),)


def test_detr_logits_with_a_background_class(tmp_path: Path) -> None:
    file = tiny(
        tmp_path,
        {
            "logits": np.float32([[[4, 0, 0], [0, 0, 6]]]),
            "pred": np.float32([[[0.5, 0.5, 0.2, 0.2], [0.5, 0.5, 1, 1]]]),
        },
        {
            "labels": ["a", "b"], "scores": "logits", "boxes": "pred", "box": "cxcywh",
            "activation": "softmax", "background": -1, "overlap": None, "resize": "stretch",
        },
    )  # fmt: skip
    found = found_by(file, (100, 100))
    assert found.as_counts() == {"a": 1}
    assert found.boxes == (((40.0, 40.0, 60.0, 60.0),),)


def test_pixels_are_normalised_as_described(tmp_path: Path) -> None:
    """A network that gives its own mean pixel as the score shows what it was fed."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node("ReduceMean", ["image"], ["mean"], axes=[2, 3], keepdims=0),
        helper.make_node("Unsqueeze", ["mean", "one"], ["scores"]),
        helper.make_node("Identity", ["box"], ["boxes"]),
    ]
    constants = [
        onnx.numpy_helper.from_array(np.int64([1]), "one"),
        onnx.numpy_helper.from_array(np.float32([[[0, 0, 1, 1]]]), "box"),
    ]
    image = helper.make_tensor_value_info("image", onnx.TensorProto.FLOAT, [1, 3, 8, 8])
    outputs = [
        helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [1, 1, 3]),
        helper.make_tensor_value_info("boxes", onnx.TensorProto.FLOAT, [1, 1, 4]),
    ]
    graph = helper.make_graph(nodes, "mean", [image], outputs, constants)
    file = tmp_path / "mean.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), file)
    description = {
        "labels": ["first", "second", "third"], "channels": "bgr", "scale": 1 / 255, "mean": [0, 0, 0.5],
        "std": [1, 1, 1], "threshold": 0.1,
    }  # fmt: skip
    (tmp_path / "mean.json").write_text(json.dumps(description))
    red = Image.new("RGB", (8, 8), (255, 51, 102))
    scores = {row[0]: row[1] for row in Detector.open(file).detect([red])[0].instances()}
    assert scores == pytest.approx({"first": 0.4, "second": 0.2, "third": 0.5}, abs=1e-3)


@pytest.mark.parametrize(
    ("description", "reason"),
    [
        (None, "beside it"),
        ({"labels": []}, "no labels"),
        ({"labels": ["a"], "colour": 1}, "unknown key"),
        ({"labels": ["a"], "box": "round"}, "not one of"),
        ({"labels": ["a"], "scores": "points"}, "no output named points"),
    ],
)
def test_a_bad_description_is_explained(tmp_path: Path, description: Any, reason: str) -> None:
    file = tiny(tmp_path, {"scores": np.float32([[[0.9]]]), "boxes": np.float32([[[0, 0, 1, 1]]])}, description)
    with pytest.raises(InputError, match=reason):
        Detector.open(file)


def test_labels_must_fit_the_scores(tmp_path: Path) -> None:
    outputs = {"scores": np.float32([[[0.9, 0.1]]]), "boxes": np.float32([[[0, 0, 1, 1]]])}
    with pytest.raises(VericapError, match="scores 2 classes"):
        found_by(tiny(tmp_path, outputs, {"labels": ["a"]}))


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.onnx").write_bytes(b"nonsense")
    (tmp_path / "x.txt").write_text("a")
    with pytest.raises(VericapError, match="ONNX Runtime"):
        Detector.open(tmp_path / "x.onnx")
    with pytest.raises(InputError, match="no such"):
        Detector.open(tmp_path / "y.onnx")


def test_specs_of_detectors() -> None:
    assert detector_spec("detector") == ("detector", None)
    assert detector_spec("detector@0.5") == ("detector", 0.5)
    assert detector_spec("dir/m.onnx@.25") == ("dir/m.onnx", 0.25)
    assert detector_spec("hub/org/name@0.3") == ("hub/org/name", 0.3)
    assert detector_spec("gold.json") is None
    with pytest.raises(VericapError, match="between 0 and 1"):
        detector_spec("detector@7")


def test_name_and_threshold_are_told_without_opening_the_network(tmp_path: Path) -> None:
    outputs = {"scores": np.float32([[[0.9]]]), "boxes": np.float32([[[0, 0, 1, 1]]])}
    file = tiny(tmp_path, outputs, {"labels": ["a"], "threshold": 0.25})
    opened = Detector.open(file)
    assert detector_name(str(file)) == f"{opened.name}/{opened.version}"
    assert detector_threshold(str(file)) == opened.threshold == 0.25
    shipped_one = Detector.shipped()
    assert detector_name("detector") == f"{shipped_one.name}/{shipped_one.version}"
    assert detector_threshold("detector") == shipped_one.threshold


def test_another_description_is_another_version(tmp_path: Path) -> None:
    outputs = {"scores": np.float32([[[0.9]]]), "boxes": np.float32([[[0, 0, 1, 1]]])}
    file = tiny(tmp_path, outputs, {"labels": ["a"]})
    before = detector_name(str(file))
    (tmp_path / "tiny.json").write_text(json.dumps({"labels": ["b"]}))
    assert detector_name(str(file)) != before


def test_a_hub_model_from_a_folder(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.YolosConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=[32, 32],
        patch_size=16, num_detection_tokens=5, num_labels=3, use_mid_position_embeddings=False,
        id2label={0: "cat", 1: "dining_table", 2: "N/A"}, label2id={"cat": 0, "dining_table": 1, "N/A": 2},
    )  # fmt: skip
    transformers.YolosForObjectDetection(config).save_pretrained(tmp_path)
    (tmp_path / "preprocessor_config.json").write_text(
        json.dumps({"image_processor_type": "YolosImageProcessor", "size": {"height": 32, "width": 32}})
    )
    detector = open_detector(f"hub/{tmp_path}")
    found = detector.detect([Image.new("RGB", (64, 48), "red")], threshold=0.05)[0]
    assert found.size == (64, 48)
    assert set(found.labels) <= {"cat", "dining table"}
    for _, score, box in found.instances():
        assert score is not None
        assert 0.05 <= score <= 1
        assert box is not None
        assert 0 <= box[0] <= box[2] <= 64
    assert len(detector.version) == 12
    assert detector_name(f"hub/{tmp_path}") == f"{tmp_path.name}/{detector.version}"
    assert detector_threshold(f"hub/{tmp_path}") == detector.threshold


def test_an_unknown_hub_model_is_explained(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    with pytest.raises(VericapError, match="cannot be opened as a hub detector"):
        open_detector(f"hub/{tmp_path / 'nothing'}")
