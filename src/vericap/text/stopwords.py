"""Words that carry no content in a caption.

Written for captions: articles, pronouns, auxiliaries, conjunctions and prepositions. Words that name something a
photo can show (fire, top, front, side, bottom), numbers (one, two) and negation (no, not, without) stay content.
"""

from __future__ import annotations

_ENGLISH = """
    a an the this that these those some any each every either neither such own same other another both all
    i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
    she her hers herself it its itself they them their theirs themselves one's
    who whom whose which what where when while why how whoever whatever wherever whenever
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would ought 's 're 've 'd 'll 'm n't ca wo
    and or but nor so yet if then than because as until although though whether since unless
    of in on at by for with about against between into through during before after above below to from
    up down out off over under onto upon along across around near behind beside besides beyond within toward
    towards among amongst via per like unlike inside outside amid
    again further once here there now just only very too also even still ever quite rather really much more most
    few lot lots etc it's there's that's he's she's they're
    appears appear appearing seems seem seen shown showing shows depicted depicting pictured
"""
ENGLISH = frozenset(_ENGLISH.split())


def is_content(token: str) -> bool:
    """Whether a token counts as a word of the caption's content."""
    return token not in ENGLISH and any(letter.isalnum() for letter in token)
