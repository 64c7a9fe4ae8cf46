"""Words that make a caption wrong: what may stand in another's place, and what may be said of the same thing."""

from __future__ import annotations

from functools import lru_cache

from vericap.graphs.english_words import FEMALE, IRREGULAR, MALE, PLURAL_ONLY
from vericap.text import wordnet


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _groups(text: str) -> tuple[frozenset[str], ...]:
    """One group a line."""
    return tuple(_words(line) for line in text.strip().splitlines())


# Attributes by kind; words of one group may be true of the same thing, words of two groups are not.
ATTRIBUTES: dict[str, tuple[frozenset[str], ...]] = {
    "colour": _groups(
        """black
        white
        red maroon crimson
        blue navy turquoise teal
        green
        yellow gold golden blond blonde
        orange
        pink
        purple violet
        brown tan beige khaki
        gray grey silver
        red pink orange maroon crimson
        black gray grey navy
        white gray grey silver beige
        brown tan beige khaki golden yellow orange blond blonde
        blue purple violet turquoise navy
        green turquoise teal"""
    ),
    "size": _groups(
        """big large huge giant enormous massive tall oversized
        small little tiny miniature short mini"""
    ),
    "age": _groups(
        """young teenage newborn
        old elderly older aged"""
    ),
    "material": _groups(
        """wooden
        metal steel
        plastic
        brick
        stone
        glass
        leather
        paper cardboard
        concrete"""
    ),
    "pattern": _groups(
        """striped
        plaid checkered
        flowered floral
        spotted"""
    ),
    "length": _groups("long\nshort"),
    "wetness": _groups("wet soaked\ndry"),
    "fullness": _groups("empty\nfull crowded busy"),
    "openness": _groups("open\nclosed"),
    "cleanness": _groups("clean\ndirty muddy"),
    "weather": _groups("sunny clear\ncloudy overcast\nrainy\nsnowy"),
    "mood": _groups("happy smiling\nsad\nangry"),
}
KIND_OF_ATTRIBUTE: dict[str, list[tuple[str, int]]] = {}
for _kind, _sets in ATTRIBUTES.items():
    for _place, _set in enumerate(_sets):
        for _word in sorted(_set):
            KIND_OF_ATTRIBUTE.setdefault(_word, []).append((_kind, _place))
# What is put in: the plain word of its group.
PLAIN_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "colour": ("black", "white", "red", "blue", "green", "yellow", "orange", "pink", "purple", "brown", "gray"),
    "size": ("large", "small"),
    "age": ("young", "old"),
    "material": ("wooden", "metal", "plastic", "brick", "stone", "glass", "leather", "paper", "concrete"),
    "pattern": ("striped", "plaid", "floral", "spotted"),
    "length": ("long", "short"),
    "wetness": ("wet", "dry"),
    "fullness": ("empty", "full"),
    "openness": ("open", "closed"),
    "cleanness": ("clean", "dirty"),
    "weather": ("sunny", "cloudy", "rainy", "snowy"),
    "mood": ("happy", "sad", "angry"),
}

# Prepositions that may hold at once stand in one line; another line says something else.
PREPOSITIONS: tuple[tuple[str, ...], ...] = (
    ("on", "on top of", "atop", "upon", "onto", "over", "above", "across"),
    ("under", "beneath", "underneath", "below"),
    ("behind", "in back of"),
    ("in front of", "before"),
    ("in", "inside", "into", "within", "inside of", "at", "through"),
    ("outside", "outside of"),
    ("beside", "next to", "near", "by", "along", "alongside", "close to", "at", "against", "around"),
    ("away from", "off", "off of", "from", "out of"),
    ("with",),
    ("without",),
    ("to", "toward", "towards", "into", "onto"),
    ("in", "inside", "into", "on", "onto", "at", "upon"),
)
PREPOSITION_GROUPS: dict[tuple[str, ...], frozenset[int]] = {}
for _number, _line in enumerate(PREPOSITIONS):
    for _phrase in _line:
        _key = tuple(_phrase.split())
        PREPOSITION_GROUPS[_key] = PREPOSITION_GROUPS.get(_key, frozenset()) | {_number}
LONGEST_PREPOSITION = max(map(len, PREPOSITION_GROUPS))
NEW_PREPOSITIONS = ("on", "under", "behind", "in front of", "inside", "outside", "next to", "above", "away from",
                    "without")  # fmt: skip

# Verbs with an object and without: words of one line may be true at once.
TRANSITIVE = _groups(
    """hold carry grab clutch
    throw toss
    catch
    kick
    hit strike
    push
    pull drag
    ride drive
    eat bite chew lick
    drink
    watch see view
    chase follow
    wash clean
    paint draw
    kiss hug
    climb
    feed
    read
    cut
    touch pet"""
)
INTRANSITIVE = _groups(
    """sit rest relax crouch kneel
    stand pose wait
    walk stroll hike wander
    run race jog sprint dash
    jump leap bounce
    lie lay sleep rest
    swim float
    fly soar
    dance
    climb
    fall
    sing"""
)
# Taken out, never put in.
OTHER_VERBS = _words("play use wear perform skate surf ski look talk work cross hang lean smile travel cook")
_IRREGULAR_PAST = {
    "hold": "held", "throw": "threw", "catch": "caught", "hit": "hit", "strike": "struck", "ride": "rode",
    "drive": "drove", "eat": "ate", "bite": "bit", "drink": "drank", "see": "saw", "draw": "drew",
    "feed": "fed", "read": "read", "cut": "cut", "sit": "sat", "stand": "stood", "run": "ran", "leap": "leapt",
    "lie": "lay", "lay": "laid", "sleep": "slept", "swim": "swam", "fly": "flew", "fall": "fell", "sing": "sang",
    "kneel": "knelt",
}  # fmt: skip
_DOUBLING = _words("grab hit drag hug cut pet sit run jog swim")

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

# Nouns that may be said of one thing although WordNet keeps them apart.
ALIKE: tuple[frozenset[str], ...] = (
    MALE,
    FEMALE,
    *_groups(
        """lake river ocean sea water pool pond wave creek stream waterfall surf lagoon puddle shore bay
        grass field lawn park yard meadow pasture garden backyard hay weed ground
        beach sand shore coast desert dirt dune
        snow ice slope hill mountain cliff rock boulder stone peak mound ridge ledge hillside mountainside
        street road sidewalk path pavement trail walkway track alley lane crosswalk highway dirt driveway
        building house home shop store restaurant tower church hotel structure wall
        forest tree wood bush branch plant leaf shrub log trunk jungle
        shirt t-shirt top jacket coat sweater clothes clothing outfit uniform suit vest hoodie jersey sweatshirt blouse
        pants jeans trousers shorts clothes clothing leggings outfit uniform suit
        hat cap helmet beanie visor headgear bandanna headband
        dress skirt gown costume outfit clothes clothing uniform swimsuit bikini
        ball football basketball baseball soccer volleyball frisbee tennis toy
        bike bicycle motorcycle motorbike scooter cycle
        car van truck vehicle jeep suv taxi cab bus
        boat ship canoe kayak raft sailboat vessel
        dog puppy hound poodle terrier collie greyhound retriever labrador lab dachshund pitbull
        player athlete runner sportsman team racer
        plate dish bowl tray
        couch sofa chair seat bench stool
        hand arm finger fist
        face head mouth eye nose tongue hair ear
        bag backpack purse suitcase luggage sack pack
        cup mug glass bottle drink beverage beer
        toy stick disc disk frisbee
        fence railing rail gate barrier wall
        skateboard board snowboard surfboard ski ramp
        stage platform deck dock pier
        child kid baby toddler boy girl infant youth teenager"""
    ),
)
ALIKE_OF: dict[str, frozenset[int]] = {}
for _number, _set in enumerate(ALIKE):
    for _word in _set:
        ALIKE_OF[_word] = ALIKE_OF.get(_word, frozenset()) | {_number}

GENERIC = _words("person people child kid baby toddler adult teenager individual youth human infant someone somebody")
COLLECTIVE = _words("group crowd team couple pair band trio duo crew family class bunch line row set lot piece type")
# Never put in nor taken out: they name no thing of their own.
VAGUE = _words(
    """background foreground front back top side bottom middle center centre end edge corner area place scene view
    image picture photo photograph thing object item something air sky day night distance way part half body shape
    ground floor outside inside light shadow left right color colour lap mid-air midair structure animal vehicle one
    other direction action pose position stance setting surface space spot site location equipment material machine
    seaweed sun moon"""
)
MASS = _words(
    """water snow sand grass dirt mud ice food clothing luggage furniture hair fur wood metal glass paper rice bread
    meat fruit cheese smoke dust gravel foam soccer football basketball baseball tennis hockey milk beer wine coffee
    tea juice soup pizza money grain hay surf air rain fire traffic shade sunlight concrete chocolate"""
)
CONCRETE = _words("noun.artifact noun.food noun.plant noun.object noun.body noun.substance")
_ANCHORS = ("clothing", "vehicle", "furniture", "building", "musical instrument", "weapon", "fabric", "container")
NOUNS = _words(
    """man woman boy girl lady guy surfer skier cyclist snowboarder skateboarder climber hiker swimmer
    dancer singer soldier policeman fireman chef doctor farmer fisherman clown cowboy
    dog cat horse cow sheep bird elephant bear zebra giraffe goat monkey rabbit duck pig deer camel goose
    shirt hat dress jacket skirt scarf glove boot tie coat helmet sweater
    car bus truck bicycle motorcycle train boat airplane van tractor canoe skateboard
    chair table bench bed couch desk bookcase
    house church barn tower castle hotel temple tent
    guitar piano violin drum trumpet umbrella kite balloon rope camera phone book laptop clock lamp mirror ladder
    bottle cup bowl basket bucket box bag suitcase vase
    apple banana sandwich cake cookie carrot hamburger donut
    tree flower cactus bush vine
    beach mountain lake river cliff cave island desert waterfall
    hand foot arm leg shoulder nose ear tail
    bridge fence road stadium staircase fountain statue swing slide tunnel ramp
    water snow sand ice mud grass"""
)


def article(word: str) -> str:
    """The indefinite article by spelling, with the commonest exceptions of sound."""
    if word.startswith(("uni", "use", "usu", "one", "eu")) and not word.startswith("unin"):
        return "a"
    return "an" if word[:1] in "aeiou" or word.startswith(("hour", "heir", "honest")) else "a"


_PLURALS = {single: plural for plural, single in reversed(IRREGULAR.items()) if plural != "busses"}


@lru_cache(maxsize=1 << 14)
def plural(lemma: str) -> str:
    """ "dog" -> "dogs", "man" -> "men"; a word only used in the plural is its own."""
    if lemma in PLURAL_ONLY:
        return lemma
    if lemma in _PLURALS:
        return _PLURALS[lemma]
    if lemma.endswith("man") and lemma not in ("human", "german", "roman"):
        return lemma[:-3] + "men"
    if lemma.endswith(("ch", "sh", "s", "x", "z")):
        return lemma + "es"
    if lemma.endswith("y") and lemma[-2:-1] not in "aeiou":
        return lemma[:-1] + "ies"
    return lemma + "s"


@lru_cache(maxsize=1 << 12)
def inflect(verb: str, form: str) -> str:
    """A listed verb as `base`, `s`, `ing` or `past`."""
    if form == "base":
        return verb
    if form == "s":
        if verb.endswith(("ch", "sh", "ss", "x", "z", "o")):
            return verb + "es"
        return verb[:-1] + "ies" if verb.endswith("y") and verb[-2] not in "aeiou" else verb + "s"
    if form == "past" and verb in _IRREGULAR_PAST:
        return _IRREGULAR_PAST[verb]
    stem = verb + verb[-1] if verb in _DOUBLING else verb
    if form == "ing":
        if verb.endswith("ie"):
            return verb[:-2] + "ying"
        return (stem[:-1] if stem.endswith("e") and not stem.endswith("ee") else stem) + "ing"
    if stem.endswith("y") and stem[-2] not in "aeiou":
        return stem[:-1] + "ied"
    return stem + ("d" if stem.endswith("e") else "ed")


@lru_cache(maxsize=1 << 15)
def noun_kind(lemma: str) -> str:
    """What a noun may be exchanged within: male, female, generic, role, animal, clothing, ...; "" for none."""
    if lemma in VAGUE or lemma in COLLECTIVE or len(lemma) < 2:
        return ""
    for name, group in (("male", MALE), ("female", FEMALE), ("generic", GENERIC)):
        if lemma in group:
            return name
    topic = noun_topic(lemma)
    if topic in ("noun.person", "noun.animal"):
        return "role" if topic == "noun.person" else "animal"
    if topic not in CONCRETE:
        return ""
    above = _above(wordnet.english().numbers(lemma, "n")[0])
    return next((name for name in _ANCHORS if _anchor(name) in above), topic.removeprefix("noun."))


@lru_cache(maxsize=64)
def _anchor(name: str) -> int:
    return wordnet.english().numbers(name, "n")[0]


@lru_cache(maxsize=1 << 15)
def _above(number: int) -> frozenset[int]:
    """A synset and all its hypernyms."""
    found, waiting = {number}, [number]
    while waiting:
        fresh = [parent for parent in wordnet.english().hypernym_numbers(waiting.pop()) if parent not in found]
        found.update(fresh)
        waiting += fresh
    return frozenset(found)


_PART = 3  # letters of a part of a compound, at least
_SENSES = 4  # commoner senses of a noun; rare ones would make everything everything's kind


@lru_cache(maxsize=1 << 15)
def _senses(lemma: str) -> frozenset[int]:
    return frozenset(wordnet.english().numbers(lemma, "n")[:_SENSES])


@lru_cache(maxsize=1 << 15)
def _closure(lemma: str, senses: int = _SENSES) -> frozenset[int]:
    return frozenset().union(*map(_above, wordnet.english().numbers(lemma, "n")[:senses]))


@lru_cache(maxsize=1 << 18)
def covers(word: str, other: str, senses: int = _SENSES) -> bool:
    """Whether `word` may be true of what `other` names, in so many of its commonest senses: the same, also spelt in two
    words or as a plural, a synonym, a hypernym, the head of a compound or the compound itself ("board" and
    "snowboard"), or known to be alike."""
    if _kin(word, other, senses):
        return True
    if word[:1] == other[:1] and (_solid(word) == _solid(other) or plural(word) == other or plural(other) == word):
        return True
    return word[-1:] == other[-1:] and (_heads(word, other) or _heads(other, word))


@lru_cache(maxsize=1 << 18)
def resembles(word: str, other: str) -> bool:
    """The generous form, for words that are to be wrong: one may also be a part of the other ("bear" and "beard")."""
    return (len(word) > 3 and word in other) or (len(other) > 3 and other in word) or _kin(word, other)


def _kin(word: str, other: str, senses: int = _SENSES) -> bool:
    if word == other or (ALIKE_OF.get(word, frozenset()) & ALIKE_OF.get(other, frozenset())):
        return True
    return bool(_senses(word) & _closure(other, senses))


def _solid(word: str) -> str:
    """ "surf board" and "surf-board" as "surfboard"."""
    return word.replace(" ", "").replace("-", "")


def _heads(head: str, word: str) -> bool:
    """Whether a word is a compound that ends in another ("long|board"); of words that WordNet knows ("pine|apple") only
    where it says so, and of persons ("fire|man"), of whom it does not."""
    if not word.endswith(head) or len(head) < _PART:
        return False
    front = _solid(word[: -len(head)])
    if len(front) < _PART or not wordnet.base_forms(front):
        return False
    senses = _senses(word)
    return not senses or bool(_senses(head) & _closure(word)) or noun_topic(head) == noun_topic(word) == "noun.person"


def noun_topic(lemma: str) -> str:
    """Lexicographer's file of the commonest sense of a noun; empty for an unknown one."""
    numbers = wordnet.english().numbers(lemma, "n")
    return wordnet.english().topic(numbers[0]) if numbers else ""


@lru_cache(maxsize=1 << 16)
def same_verb(verb: str, other: str) -> bool:
    """Whether two verbs share a line of the lists above or any sense of WordNet."""
    if verb == other or any(verb in line and other in line for line in (*TRANSITIVE, *INTRANSITIVE)):
        return True
    numbers = wordnet.english().numbers
    return bool(set(numbers(verb, "v")) & set(numbers(other, "v")))
