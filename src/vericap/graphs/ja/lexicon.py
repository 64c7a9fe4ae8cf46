"""Small closed word lists the Japanese rules need, from `data/japanese/words.txt`; open classes come from JumanDIC."""

from __future__ import annotations

from vericap.text.japanese_lists import pairs, words

PLACE_WORDS = words("PLACE_WORDS")
MORE_PLACE_WORDS = words("MORE_PLACE_WORDS")
HELPERS = words("HELPERS")
SECOND_VERBS = words("SECOND_VERBS")
DO_VERBS = words("DO_VERBS")
HOLDING = words("HOLDING")
TAKES_NI = words("TAKES_NI")
EXISTENCE = words("EXISTENCE")
MOTION = words("MOTION")
SAYING = words("SAYING")
TRANSITIVE = words("TRANSITIVE")
OUTER_NOUNS = words("OUTER_NOUNS")
PLURALS = words("PLURALS")
HONORIFICS = words("HONORIFICS")
MANNERS = words("MANNERS")
QUANTITIES = words("QUANTITIES")
JOINING = words("JOINING")
COLOURS = words("COLOURS")
PATTERNS = words("PATTERNS")
SILENT_ADNOMINALS = words("SILENT_ADNOMINALS")
GIVING = words("GIVING")
TAKING = words("TAKING")
MANNER_ENDINGS = ("製", "用", "付き", "つき", "風", "造り", "入り")
SETTING = frozenset({"置く", "設置する", "飾る", "売る", "並べる", "敷く"})  # done to things: a passive needs no mark
DEGREES = words("DEGREES")
HAPPENING = words("HAPPENING")
COVERING = words("COVERING")
SIDES = words("SIDES")
PICTURE_WORDS = words("PICTURE_WORDS")
ALL_PLACES = PLACE_WORDS | MORE_PLACE_WORDS
PLACE_SPELLINGS = pairs("PLACE_SPELLINGS")
CASE_OF = pairs("CASE_OF")
