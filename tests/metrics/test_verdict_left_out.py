"""What a caption leaves out of its references and of the photo: each thing once, in people's words, nothing it says."""

from __future__ import annotations

import pytest

from vericap.core.explanation import Explanation
from vericap.core.samples import Sample
from vericap.core.settings import Settings
from vericap.core.shipped import ROOT
from vericap.metrics.registry import make
from vericap.metrics.verdict.meaning import same_thing
from vericap.run.engine import Run

CAT, ASTRONAUT = "chelsea.jpg", "astronaut.jpg"


def reasons(caption: str, *references: str, image: str = CAT) -> Explanation:
    run = Run([make("verdict")], Settings(images=ROOT / "demo" / "photos", cache="off"))
    (found,) = run.score([Sample("a", caption, references, image)], explain=True).explanations["verdict"]
    assert found is not None
    return found


def left_out(caption: str, *references: str, image: str = CAT, source: str = "references") -> list[str]:
    return [item.text for item in reasons(caption, *references, image=image).missing if item.source == source]


def adequacy(caption: str, *references: str) -> float:
    return float(reasons(caption, *references).facts["adequacy"])


@pytest.mark.parametrize(
    "reference",
    [
        "A building with a clock",
        "Vases on the ground",
        "Some cookies on stoves",
        "A dining man and a number of riding women",
    ],
)
def test_words_are_shown_as_references_have_them(reference: str) -> None:
    shown = left_out("A frisbee.", reference)
    assert shown
    assert set(shown) <= set(reference.lower().split())


def test_forms_of_one_word_are_left_out_once_as_most_references_have_it() -> None:
    assert left_out("A frisbee.", "Two vases", "The vases", "A vase") == ["vases"]
    assert left_out("A frisbee.", "A clock on buildings", "The building", "A building") == ["building"]


@pytest.mark.parametrize(
    ("caption", "reference"),
    [
        ("A lady.", "A woman."),
        ("A motorbike.", "A motorcycle."),
        ("A jet.", "A plane."),
        ("Doughnuts.", "Donuts."),
        ("A labrador.", "A dog."),
        ("A feline.", "A cat."),
        ("A surfboard.", "A surf board."),
        ("A surf board.", "A surfboard."),
        ("A kitten.", "The cats."),
        ("Spectators.", "Some people."),
        ("Two.", "2"),
    ],
)
def test_what_is_said_in_other_words_is_not_left_out(caption: str, reference: str) -> None:
    assert not left_out(caption, reference)
    assert adequacy(caption, reference) >= 0.5  # the mean of what is supported and of recall, which is 1


def test_a_vague_word_says_no_thing() -> None:
    assert left_out("An animal.", "A cat.") == ["cat"]


def test_owners_in_references_support_and_are_not_left_out() -> None:
    references = ("A cat's green eyes.", "The cat's face")
    assert "cat" not in " ".join(left_out("A cat.", *references))
    word = reasons("A cat.", *references).words[1]
    assert (word.text, word.source) == ("cat", "references")
    assert "cat" not in left_out("A cat's green eyes.", source="image")


def test_nonsense_and_what_is_absent_in_references_is_not_left_out() -> None:
    assert left_out("A cat.", "An xqz blorf cat on a rug without a dog") == ["rug"]


def test_what_is_said_to_be_absent_is_left_out_where_the_photo_shows_it() -> None:
    told = reasons("There is no cat without a collar and it isn't a fnord.")
    assert "cat" in [item.text for item in told.missing]
    assert all(word.support is None for word in told.words)
    assert not any("without" in note or "isn't" in note for note in told.notes)


def test_the_other_sex_is_not_left_out_where_references_tell_it() -> None:
    shown = left_out("A lady in front of a flag.", "A woman in an orange suit.", image=ASTRONAUT, source="image")
    assert not {"boy", "man", "girl"} & set(shown)


@pytest.mark.parametrize(
    ("word", "said", "same"),
    [
        ("cat", "kitten", True),
        ("flower", "tulip", True),
        ("people", "spectator", True),
        ("person", "cat", False),
        ("cat", "animal", False),
        ("runway", "plane", False),
        ("surf board", "surfboard", True),
        ("plane", "jet", True),
    ],
)
def test_words_that_mean_the_same(word: str, said: str, same: bool) -> None:
    assert same_thing(word, said) is same


@pytest.mark.parametrize("count", ["Two", "2", "9", "Ten", "Twelve"])
def test_wrong_numbers_are_not_supported(count: str) -> None:
    assert (reasons(f"{count} cats.").words[0].support or 0.0) < 0.5
