"""What English graphs must not get wrong: finite verbs, fragments, compounds, pronouns, talk of the picture, case."""

from __future__ import annotations

import pytest

from vericap.graphs.english import name, parse, parse_many
from vericap.graphs.english_compounds import find, kind_of
from vericap.graphs.english_spelling import spelt
from vericap.graphs.scene_graph import SceneGraph
from vericap.graphs.spice import score_tuples

# caption; tuples it must have; words that must be in no tuple
FINITE_VERBS = [
    ("A woman in a red dress smiles at the camera", "woman|smile at|camera; woman|in|dress; dress|red", "smile"),
    ("A girl with a hat plays in the sand", "girl|with|hat; girl|play in|sand", "play"),
    ("A dog with a ball runs through the grass", "dog|with|ball; dog|run through|grass", "run"),
    ("A man in a blue shirt sits on a bench", "man|in|shirt; man|sit on|bench; shirt|blue", ""),
    ("A boy in a helmet rides a bike down the street", "boy|in|helmet; boy|ride|bike; boy|ride down|street", ""),
    ("A woman with long hair poses for a picture", "woman|with|hair; woman|pose for|picture", "pose"),
    ("A cat on the windowsill watches birds", "cat|on|windowsill; cat|watch|bird", "watch"),
    ("A child in a pool splashes water", "child|in|pool; child|splash|water", ""),
    ("A player in a white uniform swings a bat", "player|in|uniform; player|swing|bat", "swing"),
    ("A man on a surfboard rides a wave", "man|on|surfboard; man|ride|wave", "rides"),
    ("A bird with blue feathers perches on a branch", "bird|with|feather; bird|perch on|branch", "perch"),
    ("A skier in a red jacket jumps over a hill", "skier|in|jacket; skier|jump over|hill", "jump"),
    ("Two dogs run on the beach", "dog|two; dog|run on|beach", "run"),
    ("The boy throws a frisbee to his dog", "boy|throw|frisbee; boy|have|dog", "throw"),
]
FRAGMENTS = [
    ("girl swinging tennis racket", "girl|swing|tennis racket"),
    ("a skateboarder doing tricks", "skateboarder|do|trick"),
    ("bird sitting under moss covered branch", "bird|sit under|branch"),
    ("man riding wave on surfboard", "man|ride|wave"),
    ("boy kicking soccer ball", "boy|kick|soccer ball"),
    ("dog catching frisbee", "dog|catch|frisbee"),
    ("woman eating hot dog", "woman|eat|hot dog"),
    ("children playing soccer", "child|play|soccer"),
    ("person walking dog on leash", "person|walk|dog"),
    ("two men playing frisbee", "man|two; man|play|frisbee"),
    ("snowboarder going down slope", "snowboarder|go down|slope"),
    ("cat sleeping on couch", "cat|sleep on|couch"),
    ("man wearing hat", "man|wear|hat"),
    ("elephant drinking water", "elephant|drink|water"),
    ("train traveling down tracks", "train|travel down|track"),
]
COMPOUNDS = [
    ("A hot dog with mustard", "hot dog; hot dog|with|mustard", "dog"),
    ("A child holding a teddy bear", "child|hold|teddy bear", "bear"),
    ("A red traffic light over the street", "traffic light|red; traffic light|over|street", "light"),
    ("A train on the train tracks", "train|on|train track", "track"),
    ("A yellow fire hydrant on the sidewalk", "fire hydrant|yellow; fire hydrant|on|sidewalk", "hydrant"),
    ("A woman with a tennis racket", "woman|with|tennis racket", "racket"),
    ("Two hot dogs on a plate", "hot dog|two; hot dog|on|plate", "dog"),
    ("A stop sign next to a parking meter", "stop sign|next to|parking meter", "sign"),
    ("Stuffed teddy bears on a bed", "teddy bear|on|bed", "bear"),
    ("A man talking on a cell phone", "man|talk on|cell phone", "phone"),
    ("A hot dog bun on a table", "bun|hot dog; bun|on|table", "dog"),
    ("A dog eating a hot dog", "dog|eat|hot dog", ""),
]
PRONOUNS = [
    ("A table with a plate and a cup sitting on it", "plate|sit on|table; cup|sit on|table"),
    ("A plate of food with a fork on it", "fork|on|plate"),
    ("A bench with snow on it", "snow|on|bench"),
    ("A shelf with books and a clock on it", "clock|on|shelf"),
    ("A kitchen counter with a microwave on it", "microwave|on|counter"),
    ("A pizza with cheese and olives on it", "olive|on|pizza"),
    ("A truck has a dog in it", "dog|in|truck"),
    ("A sign that has a picture of a dog on it", "sign|have|picture"),
]
PLACES = [
    ("A reflection of trees in the water", "reflection|of|tree; reflection|in|water", "tree|in|water"),
    ("The shadow of a man on the wall", "shadow|of|man; shadow|on|wall", "man|on|wall"),
    ("A cluster of bananas hanging from a tree", "banana|cluster; banana|hang from|tree", "cluster"),
    ("A row of motorcycles parked on the street", "motorcycle|row; motorcycle|park on|street", "row"),
    ("A pair of giraffes standing in a field", "giraffe|pair; giraffe|stand in|field", "pair"),
    ("A pair of scissors on a table", "scissors|on|table", "scissor"),
    ("A house at the bottom of the hill", "house|at bottom of|hill", "bottom"),
    ("A man stands at the top of the stairs", "man|stand at top of|stair", "top"),
    ("A lamp in the corner of the room", "lamp|in corner of|room", "corner"),
    ("A boat at the edge of the water", "boat|at edge of|water", "edge"),
    ("A car on the left side of the road", "car|on left side of|road", "side"),
    ("A man wearing eyeglasses", "man|wear|eyeglasses", "glass"),
    ("A man wearing glasses", "man|wear|glasses", "glass"),
    ("A woman with glasses and a hat", "woman|with|glasses", "glass"),
    ("Two wine glasses on a table", "wine glass|two; wine glass|on|table", "glasses"),
    ("Glasses of water on a tray", "glass|of|water", "glasses"),
]
SHARED = [
    ("A man and a woman standing on a beach", "man|stand on|beach; woman|stand on|beach", ""),
    ("A dog and a cat sleeping on a couch", "dog|sleep on|couch; cat|sleep on|couch", ""),
    ("A plate and a cup filled with tea", "cup|fill with|tea", "plate|fill with|tea"),
    ("A dog and a man wearing a hat", "man|wear|hat", "dog|wear|hat"),
    ("A table and a chair covered in snow", "chair|cover in|snow", "table|cover in|snow"),
]


def tuples(text: str) -> set[tuple[str, ...]]:
    return {tuple(part.strip().split("|")) for part in text.split(";") if part.strip()}


def check(caption: str, wanted: str, unwanted: str = "") -> None:
    found = set(parse(caption).tuples())
    assert tuples(wanted) <= found
    assert not tuples(unwanted) & found


@pytest.mark.parametrize(("caption", "wanted", "unwanted"), FINITE_VERBS)
def test_finite_verbs_after_phrases(caption: str, wanted: str, unwanted: str) -> None:
    check(caption, wanted, unwanted)


@pytest.mark.parametrize(("caption", "wanted"), FRAGMENTS)
def test_fragments_without_articles(caption: str, wanted: str) -> None:
    check(caption, wanted)


@pytest.mark.parametrize(("caption", "wanted", "unwanted"), COMPOUNDS)
def test_compounds_are_one_object(caption: str, wanted: str, unwanted: str) -> None:
    check(caption, wanted, unwanted)


@pytest.mark.parametrize(("caption", "wanted"), PRONOUNS)
def test_it(caption: str, wanted: str) -> None:
    check(caption, wanted)


@pytest.mark.parametrize("caption", [caption for caption, _ in PRONOUNS] + ["A cat looking at itself in a mirror"])
def test_nothing_is_related_to_itself(caption: str) -> None:
    assert all(item[0] != item[2] for item in parse(caption).tuples() if len(item) == 3)


@pytest.mark.parametrize(("caption", "wanted", "unwanted"), PLACES)
def test_places_quantities_glasses(caption: str, wanted: str, unwanted: str) -> None:
    check(caption, wanted, unwanted)


@pytest.mark.parametrize(("caption", "wanted", "unwanted"), SHARED)
def test_participles_and_coordination(caption: str, wanted: str, unwanted: str) -> None:
    check(caption, wanted, unwanted)


def test_a_hot_dog_is_no_dog_but_a_racket_is_a_racket() -> None:
    assert score_tuples(parse("a hot dog").tuples(), [parse("a dog").tuples()]).f == 0
    assert score_tuples(parse("a teddy bear").tuples(), [parse("a bear").tuples()]).f == 0
    assert score_tuples(parse("a tennis racket").tuples(), [parse("a racket").tuples()]).f == 1
    assert kind_of("fire hydrant") == "hydrant"
    assert kind_of("hot dog") == kind_of("red dog") == kind_of("dog") == ""
    assert find(["two", "hot", "dogs", "and", "french", "fries"]) == {2: "hot dog", 5: "french fries"}


# ---- spelling -------------------------------------------------------------------------------------------------------

MISSPELT = {
    "umbrela": "umbrella", "frisbe": "frisbee", "skiier": "skier", "brocolli": "broccoli", "feild": "field",
    "toliet": "toilet", "buliding": "building", "peopel": "people", "stnading": "standing", "motorcyle": "motorcycle",
    "sandwhich": "sandwich", "elphant": "elephant", "giraffee": "giraffe", "rididng": "riding",
}  # fmt: skip
SPELT = ["biker", "snowboarders", "selfie", "hoodie", "wetsuit", "kawasaki", "obama", "colour", "zebra"]


def test_misspelt_words_are_put_right_and_others_are_not_touched() -> None:
    assert {word: spelt(word) for word in MISSPELT} == MISSPELT
    assert [spelt(word) for word in SPELT] == SPELT


def test_a_misspelt_caption_is_read_as_it_was_meant() -> None:
    assert parse("A man rididng a skatebord on the sidwalk") == parse("A man riding a skateboard on the sidewalk")


# ---- case -----------------------------------------------------------------------------------------------------------


def test_case_changes_nothing() -> None:
    captions = [row[0] for row in (*FINITE_VERBS, *FRAGMENTS, *COMPOUNDS, *PLACES)]
    captions.append("A person holding a cell phone in their hand")
    expected = parse_many(text.lower() for text in captions)
    for changed in (str.title, str.upper, str.capitalize):
        assert parse_many(changed(text) for text in captions) == expected, changed
    assert ("person", "hold", "cell phone") in expected[-1].tuples()


# ---- talk about the picture -----------------------------------------------------------------------------------------

SAME = [
    ("The image features a dog on a couch", "A dog on a couch"),
    ("The image shows a dog on a couch", "A dog on a couch"),
    ("The picture depicts a man riding a horse", "A man riding a horse"),
    ("The scene features two cars on a street", "Two cars on a street"),
    ("This is a photo of a cat on a bed", "A cat on a bed"),
    ("A picture of a dog on a couch", "A dog on a couch"),
    ("A photograph of two men playing frisbee", "Two men playing frisbee"),
    ("There are two cars in the scene", "Two cars"),
    ("In the image, a man is riding a horse", "A man is riding a horse"),
    ("In this picture there is a dog on the grass", "A dog on the grass"),
    ("A close up of a cat on a bed", "A cat on a bed"),
    ("A view of a city with tall buildings", "A city with tall buildings"),
    ("A dog in the center of the image", "A dog"),
    ("A dog on a couch. The overall atmosphere is relaxed.", "A dog on a couch."),
    ("A dog on a couch, adding to the cozy ambience.", "A dog on a couch."),
    ("A man rides a horse, creating a lively atmosphere.", "A man rides a horse."),
]  # fmt: skip


@pytest.mark.parametrize(("talking", "plain"), SAME)
def test_talk_about_the_picture_is_no_content(talking: str, plain: str) -> None:
    assert _content(parse(talking)) == _content(parse(plain))


def _content(graph: SceneGraph) -> set[tuple[str, ...]]:
    return set(graph.tuples(actions=True))


@pytest.mark.parametrize("caption", ["The image is blurry.", "The overall atmosphere is relaxed."])
def test_talk_alone_is_an_empty_graph_with_a_reason(caption: str) -> None:
    graph = parse(caption)
    assert not graph
    assert "picture" in graph.reason


@pytest.mark.parametrize(
    ("caption", "wanted"),
    [
        ("A picture of a dog hanging on the wall", "picture|of|dog"),
        ("A woman posing for a picture", "woman|pose for|picture"),
        ("A man taking a picture of a bird", "man|take|picture"),
        ("A framed photo on the wall", "photo|on|wall"),
        ("A bed with a picture above it", "bed|with|picture"),
    ],
)
def test_pictures_that_are_seen_stay(caption: str, wanted: str) -> None:
    check(caption, wanted)


def test_talk_can_be_kept_and_is_named() -> None:
    kept = parse("The image features a dog on a couch", talk=True)
    assert ("image", "feature", "dog") in kept.tuples()
    assert name(talk=True) == f"{name()}+talk"
