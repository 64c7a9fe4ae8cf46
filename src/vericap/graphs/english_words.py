"""What the English rules must know of words: base forms, kinds of things, closed lists."""

from __future__ import annotations

from functools import lru_cache

from vericap.text import wordnet


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS"})
VERB_TAGS = frozenset({"VB", "VBD", "VBG", "VBN", "VBP", "VBZ"})
ADJECTIVE_TAGS = frozenset({"JJ", "JJR", "JJS"})

# Only used in the plural: the singular would be another thing or no word.
PLURAL_ONLY = _words(
    """goggles shorts pants jeans sunglasses scissors clothes trousers tights binoculars headphones outdoors
    pajamas suspenders leggings overalls pliers tongs tweezers surroundings belongings remains fries khakis
    sweatpants swimtrunks earphones eyeglasses spectacles contents graffiti people cattle outskirts series
    species means"""
)
# Plural tags on words that are their own singular, or whose first base form is another word.
IRREGULAR = {
    "men": "man", "women": "woman", "children": "child", "feet": "foot", "teeth": "tooth", "mice": "mouse",
    "geese": "goose", "buses": "bus", "busses": "bus", "leaves": "leaf", "wolves": "wolf", "knives": "knife",
    "loaves": "loaf", "shelves": "shelf", "calves": "calf", "halves": "half", "scarves": "scarf",
    "hooves": "hoof", "dice": "die", "skis": "ski", "taxis": "taxi", "kiwis": "kiwi", "cacti": "cactus",
    "fungi": "fungus", "oxen": "ox", "policemen": "policeman", "firemen": "fireman", "fishermen": "fisherman",
    "snowmen": "snowman", "businessmen": "businessman", "sportsmen": "sportsman", "horsemen": "horseman",
    "glasses": "glass", "cookies": "cookie", "brownies": "brownie", "selfies": "selfie", "hoodies": "hoodie",
    "movies": "movie", "zombies": "zombie", "ties": "tie", "pies": "pie", "sheep": "sheep", "deer": "deer",
    "fish": "fish", "oats": "oat", "woods": "wood", "surroundings": "surroundings", "stairs": "stair",
}  # fmt: skip
IRREGULAR_VERBS = {
    "lying": "lie", "dying": "die", "tying": "tie", "left": "leave", "fell": "fall", "felt": "feel",
    "saw": "see", "found": "find", "ground": "grind", "wound": "wind", "bound": "bind", "lit": "light",
    "laid": "lay", "worn": "wear", "torn": "tear", "born": "bear", "is": "be", "are": "be", "was": "be",
    "were": "be", "am": "be", "been": "be", "being": "be", "'s": "be", "'re": "be", "'m": "be", "has": "have",
    "had": "have", "having": "have", "'ve": "have", "does": "do", "did": "do", "done": "do", "doing": "do",
    "putting": "put", "skiing": "ski", "singing": "sing", "swinging": "swing", "bringing": "bring",
    "hanging": "hang", "ringing": "ring", "clinging": "cling", "flinging": "fling", "stringing": "string",
    "singeing": "singe", "hung": "hang", "seen": "see", "sitting": "sit", "setting": "set", "staring": "stare",
    "starring": "star", "barred": "bar", "bared": "bare", "sniffing": "sniff", "painted": "paint",
    "carring": "carry", "ridding": "ride",
}  # fmt: skip

# "a couple of kids": the noun after "of" is the thing, this word its quantity.
QUANTITIES = _words("couple lot lots bunch bunches pair pairs number dozen dozens plenty ton tons handful hundreds "
                    "thousands majority couples cluster clusters row rows bundle bundles trio assortment array variety "
                    "series kind kinds type types sort sorts bit")  # fmt: skip
# Of these, what says nothing of the thing: "some kind of animal".
NO_QUANTITY = _words("kind kinds type types sort sorts bit variety number")
# Determiner-like words that say how many.
COUNT_WORDS = _words("several many few various numerous multiple")
NO_ATTRIBUTE = _words("such same own very more most least much only else about less next up")
# What a caption speaks of when it speaks of itself: the things are in what follows.
DEPICTIONS = _words("image picture photo photograph scene video shot snapshot portrait depiction illustration")
DEPICTING = _words("feature show depict display contain include capture have showcase present portray")
NEGATIONS = _words("no not n't without never nobody none neither nor nothing noone cannot nowhere")
# preposition + noun + "of" that together are one preposition
COMPOUND_PREPOSITIONS = frozenset(
    {("in", "front"), ("on", "top"), ("in", "back"), ("at", "top"), ("in", "between"), ("in", "midst"),
     ("atop", "top"), ("in", "spite"), ("on", "board"), ("in", "place"), ("in", "lieu")}
)  # fmt: skip
# Parts of a thing that say where something is: "at the bottom of the hill", "on the left side of the road".
SIDES = _words("top bottom side sides edge middle center centre corner front back end ends base foot rear left right")
SIDED = _words("at on in along near to by from toward towards down up around")
# What people have while they do something: "enjoying his time playing".
SPENT = _words("time fun day moment break")
# What says of glasses that they are worn.
WORN = _words("eye reading prescription dark sun wire-rimmed rimmed horn-rimmed safety 3d 3-d black-rimmed")
# Said of all nouns before them: "a man and a dog walking", "a knife and a fork lying on a plate".
SHARED_DOINGS = _words("stand sit lie lay walk run sleep play rest pose swim look ride eat talk jump wait travel graze")
SHARED_STATES = _words("sit stand lie lay rest hang park seat place display arrange stack line show gather pile float")
# Adverbs that carry a preposition: "next to", "look out at", "away from".
CHAINING = _words(
    "next close near out off up down away over across back around inside outside onto behind through in on by "
    "adjacent prior due opposite left right parallel"
)
SILENT_CHAIN = _words("together along apart ahead right straight directly just all alone outdoors indoors")
# Prepositions an adjective governs: "full of", "ready for"; others say where ("visible in the background").
GOVERNED = _words("of with to for from about by")
# Verbs that only introduce another one: "appears to wait", "begins to run".
RAISING = _words("appear seem begin start continue happen tend go come be keep let make help get")
PERSON_PRONOUNS = _words("he she him her his hers himself herself")
FEMALE_PRONOUNS = _words("she her hers herself")
THING_PRONOUNS = _words("it its itself")
PLURAL_PRONOUNS = _words("they them their theirs themselves")
FEMALE = _words("woman girl lady female mother mom mum wife bride daughter sister grandmother grandma queen "
                "princess nun actress waitress cowgirl businesswoman policewoman she sportswoman")  # fmt: skip
MALE = _words("man boy guy male father dad husband groom son brother grandfather grandpa king prince monk actor "
              "waiter cowboy gentleman businessman policeman fireman fisherman dude he lad sportsman")  # fmt: skip
PERSONS = _words("people person group crowd team couple family class guy kid child baby toddler crew band trio "
                 "pair duo someone somebody everyone rider skier surfer snowboarder skateboarder biker cyclist "
                 "batter pitcher catcher hiker jogger boarder climber umpire referee")  # fmt: skip
# Nouns that end in -ing and name things.
ING_NOUNS = _words(
    """building painting wedding clothing ceiling railing ring string swing king wing thing awning opening
    clearing crossing landing topping frosting icing parking dining living evening morning earring stocking
    meeting gathering setting lighting drawing dressing something anything nothing everything being pudding
    sibling duckling spring sling herring filling coating covering flooring paneling seating sailing skiing
    surfing snowboarding skateboarding swimming fishing boxing cycling wrestling bowling stuffing carving siding
    rigging bedding plumbing piping scaffolding packaging offering"""
)
# What people and animals in captions are doing, often mistaken for nouns.
DOINGS = _words(
    """standing sitting laying lying walking running playing grazing eating holding riding sleeping looking
    flying jumping wearing posing talking smiling drinking carrying hanging floating resting leaning watching
    taking making using cutting catching throwing hitting kicking pulling pushing"""
)
_ANIMATE_TOPICS = frozenset({"noun.person", "noun.animal"})
_MEASURES = frozenset({"noun.time", "noun.quantity"})
_MANNERS = _words("way side home time foot hand face back bit step mile inch meter bottom end side-by-side up")
_CONVEYANCE = wordnet.synset_number("03100490-n")


@lru_cache(maxsize=1 << 16)
def noun_lemma(word: str, tag: str) -> str:
    """Singular of a plural noun by WordNet's rules; other nouns as they are."""
    if tag not in ("NNS", "NNPS"):
        return IRREGULAR.get(word, word) if word in ("men", "women", "children", "feet") else word
    if word in PLURAL_ONLY:
        return word
    if word in IRREGULAR:
        return IRREGULAR[word]
    bases = [base for base in wordnet.base_forms(word, "n") if base != word and "_" not in base]
    if bases:
        return bases[0]
    head, hyphen, last = word.rpartition("-")
    if hyphen and last:
        return f"{head}-{noun_lemma(last, tag)}"
    return word if wordnet.synsets(word, "n") else _strip_plural(word)


def _strip_plural(word: str) -> str:
    """Singular of a noun WordNet does not know ("snowboarders")."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "sses", "xes", "zes")):
        return word[:-2]
    if word.endswith("men"):
        return word[:-3] + "man"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


@lru_cache(maxsize=1 << 16)
def verb_lemma(word: str, tag: str) -> str:
    """Base form of a verb by WordNet's rules, doubled consonants and silent e minded."""
    if word in IRREGULAR_VERBS and not (tag in ("VB", "VBP") and word in ("left", "saw", "found", "fell", "ground")):
        return IRREGULAR_VERBS[word]
    if tag in ("VB", "VBP"):
        return word
    bases = [base for base in wordnet.base_forms(word, "v") if base != word]
    if bases:
        return bases[0]
    if wordnet.synsets(word, "v"):
        return word
    return _strip_verb(word)


@lru_cache(maxsize=1 << 14)
def participle(word: str, tag: str) -> str:
    """A participle before a noun: itself where it is an adjective ("stuffed"), else its verb ("park")."""
    return word if wordnet.synsets(word, "a") else verb_lemma(word, tag)


def _strip_verb(word: str) -> str:
    """Base form of a verb WordNet does not know ("snowboarding", "skateboards")."""
    for ending in ("ing", "ed"):
        stem = word[: -len(ending)]
        if word.endswith(ending) and len(stem) > 2:
            if wordnet.synsets(stem + "e"):  # "showcasing": WordNet has the noun alone
                return stem + "e"
            if stem[-1] == stem[-2]:
                return stem[:-1] if stem[-1] not in "lsz" else stem
            silent = stem[-1] not in "aeiouwxy" and stem[-2] in "aiou" and stem[-3] not in "aeiou"
            return stem + "e" if silent else stem  # "overbaked"
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("es") and word[:-2].endswith(("ch", "sh", "ss", "x", "zz", "o")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 3 else word


@lru_cache(maxsize=1 << 14)
def is_noun(word: str) -> bool:
    return bool(wordnet.synsets(word, "n"))


@lru_cache(maxsize=1 << 14)
def is_measure(lemma: str) -> bool:
    """A time or a quantity by its commonest sense, or a way of doing ("side by side", "this way")."""
    numbers = wordnet.english().numbers(lemma, "n")
    return lemma in _MANNERS or not numbers or wordnet.english().topic(numbers[0]) in _MEASURES


@lru_cache(maxsize=1 << 14)
def is_adjective(word: str) -> bool:
    return bool(wordnet.synsets(word, "a"))


@lru_cache(maxsize=1 << 14)
def is_verb(word: str, tag: str) -> bool:
    return bool(wordnet.synsets(verb_lemma(word, "VBZ" if tag == "NNS" else tag), "v"))


@lru_cache(maxsize=1 << 14)
def kind(lemma: str) -> str:
    """person, animal, vehicle or thing, by the commonest sense of the noun."""
    if lemma in PERSONS or lemma in MALE or lemma in FEMALE:
        return "person"
    numbers = wordnet.english().numbers(lemma, "n")
    if not numbers:
        return "person" if lemma.endswith(("boarder", "er", "man", "woman", "ist")) else "thing"
    topic = wordnet.english().topic(numbers[0])
    if topic in _ANIMATE_TOPICS:
        return topic.removeprefix("noun.")
    return "vehicle" if _is_a(numbers[0], _CONVEYANCE) else "thing"


def _is_a(number: int, ancestor: int) -> bool:
    waiting, seen = [number], set()
    while waiting:
        current = waiting.pop()
        if current == ancestor:
            return True
        if current not in seen:
            seen.add(current)
            waiting += wordnet.english().hypernym_numbers(current)
    return False
