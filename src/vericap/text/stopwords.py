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

# The list of the Glasgow Information Retrieval Group as scikit-learn 1.9 has it (`stop_words="english"`), which the
# authors of VIFIDEL used. It swallows content of captions: fire, top, front, side, bottom, two.
_GLASGOW = """
    a about above across after afterwards again against all almost alone along already also although always am
    among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at
    back be became because become becomes becoming been before beforehand behind being below beside besides
    between beyond bill both bottom but by call can cannot cant co con could couldnt cry de describe detail do
    done down due during each eg eight either eleven else elsewhere empty enough etc even ever every everyone
    everything everywhere except few fifteen fifty fill find fire first five for former formerly forty found
    four from front full further get give go had has hasnt have he hence her here hereafter hereby herein
    hereupon hers herself him himself his how however hundred i ie if in inc indeed interest into is it its
    itself keep last latter latterly least less ltd made many may me meanwhile might mill mine more moreover
    most mostly move much must my myself name namely neither never nevertheless next nine no nobody none noone
    nor not nothing now nowhere of off often on once one only onto or other others otherwise our ours ourselves
    out over own part per perhaps please put rather re same see seem seemed seeming seems serious several she
    should show side since sincere six sixty so some somehow someone something sometime sometimes somewhere
    still such system take ten than that the their them themselves then thence there thereafter thereby
    therefore therein thereupon these they thick thin third this those though three through throughout thru thus
    to together too top toward towards twelve twenty two un under until up upon us very via was we well were
    what whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever whether which
    while whither who whoever whole whom whose why will with within without would yet you your yours yourself
    yourselves
"""
GLASGOW = frozenset(_GLASGOW.split())


def is_content(token: str) -> bool:
    """Whether a token counts as a word of the caption's content."""
    return token not in ENGLISH and any(letter.isalnum() for letter in token)
