"""What boxes teach words: which pieces name a class, and which regions lie on it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from vericap.models import scan as network
from vericap.text.encoders import CAPTIONS, open_encoder
from vericap.train.kept import lettered
from vericap.train.named import NamedWords, photos_of, shares_of
from vericap.train.scan.data import WordTensors
from vericap.train.scan.network import ScanModule, ScanOptions
from vericap.train.words.boxes import NONE, PhotoBoxes

CLASSES = ["person", "dog", "hot dog"]


def test_pieces_that_name_a_class_are_found() -> None:
    encoder = open_encoder(CAPTIONS)
    captions = ["A dog runs.", "Nothing here.", "The man eats a hot dog."]
    found = NamedWords.of(captions, lambda texts: (cut.offsets for cut in encoder.cut(texts)), CLASSES)
    texts = []
    for caption, text in enumerate(captions):
        (cut,) = encoder.cut([text])
        own = slice(found.offsets[caption], found.offsets[caption + 1])
        for piece, kind in zip(found.pieces[own].tolist(), found.kinds[own].tolist()):
            start, end = cut.offsets[piece]
            texts.append((text[start:end].lower(), tuple(CLASSES[number] for number in found.classes[kind])))
    assert texts == [("dog", ("dog",)), ("man", ("person",)), ("hot", ("hot dog",)), ("dog", ("hot dog",))]


def test_the_region_that_fits_a_box_best_has_the_largest_share() -> None:
    photo = PhotoBoxes(np.array([[0.0, 0.0, 0.5, 0.5], [0.8, 0.8, 0.9, 0.9]], np.float32), np.array([1, 0]))
    regions = np.array([[0, 0, 1, 1], [0, 0, 0.5, 0.5], [0.1, 0.1, 0.4, 0.4], [0.6, 0.6, 1, 1]], np.float32)
    shares = shares_of(regions, photo, (1,))
    assert shares is not None
    assert shares.argmax() == 1
    assert shares.sum() == pytest.approx(1)
    assert shares[3] == 0
    assert shares_of(regions, photo, (2,)) is None  # the photo shows none
    assert shares_of(regions[:2], photo, (0,)) is None  # no region lies on it


def test_boxes_are_found_by_id_or_file_name() -> None:
    photo = PhotoBoxes(np.zeros((1, 4), np.float32), np.zeros(1, np.int64))
    found = photos_of(["9", "COCO_train2014_000000000009.jpg", "000000000009.jpg", "dog.jpg"], {9: photo})
    assert found == [photo, photo, photo, NONE]


def test_marks_and_stops_are_no_words() -> None:
    encoder = open_encoder(CAPTIONS)
    captions = ["A dog, running.", "Two cats!"]
    marks = lettered(captions, encoder)
    table = encoder.token_states(captions)
    np.testing.assert_array_equal(marks, table.lettered(captions))
    said = [text[a:b] for text, cut in zip(captions, encoder.cut(captions)) for a, b in cut.offsets]
    assert [text for text, word in zip(said, marks) if not word] == ["", ",", ".", "", "", "!", ""]


def test_what_is_no_word_moves_no_score() -> None:
    torch.manual_seed(0)
    model = ScanModule(ScanOptions(width=8, hidden=4, boxes=0.3), 6, states=5)
    features, states = torch.randn(2, 3, 6), torch.randn(5, 5)
    words = model.words(WordTensors(states, torch.tensor([5]), torch.tensor([False, True, True, True, False])))
    alone = model.words(WordTensors(states[1:4], torch.tensor([3])))
    regions = model.regions(features)
    marked = model.score(regions, words, torch.tensor([5])).image
    plain = model.score(regions, alone, torch.tensor([3])).image
    torch.testing.assert_close(marked, plain)
    # The network that scores without torch says the same, of grounding and of the lengths of contexts.
    similarity = (regions[0] @ words.T).detach().numpy()
    attention = network.Attention(model.options.sharpness, model.options.slope)
    inside = np.ones(3, np.float32)
    weights = network.weights(similarity, inside, attention, network.there(words.detach().numpy()))
    expected = network.weights(similarity[:, 1:4], inside, attention)
    np.testing.assert_allclose(weights[:, 1:4], expected, rtol=1e-5)
    assert not weights[:, [0, 4]].any()
