"""The rules of the Penn Treebank tokeniser, as the Stanford program applies them to captions.

Written from the Treebank's conventions and from what the program does when run: `check.py` compares the two.
The longest match wins; among equally long ones the first rule. Tokens that the COCO tool drops afterwards
(`vericap.text.ptb.DROPPED`) need no rule of their own shape: their action is `drop`.
"""

from __future__ import annotations

import json
from pathlib import Path

from automaton import Rule, span


def observed() -> dict[str, object]:
    """Sets of characters that behave alike, as ranges of code units."""
    sets: dict[str, object] = {}
    for name, text in json.loads(Path(__file__).with_name("characters.json").read_text()).items():
        mask = 0
        for item in text.split():
            first, _, last = item.partition("-")
            mask |= span(int(first, 16), int(last or first, 16))
        sets[name] = mask
    return sets


NAMES: dict[str, object] = {
    **observed(),
    "blank": r"[\ \t\u00A0\u2000-\u200A\u3000]",
    "line": r"[\n\r\f\u000B\u0085\u2028\u2029]",
    # words
    "entity": r"& (?i: [aeiou] (acute|grave|uml)) ;",
    "L": r"[{letter}{mark}\u00AD] | {entity}",
    "D": r"{digit}",
    "LD": r"{letter} | {digit}",
    "word": r"{L} ({L}|{D})* ([.!?] {L} ({L}|{D})*)*",
    "apos": r"['\u0092\u2019] | &(?i:apos);",
    "aposlike": r"{apos} | [`\u0091\u2018\u201B]",
    "clitic": r"{apos} ([msdMSD] | (?i:re|ve|ll))",
    "not": r"(?i:n) {apos} (?i:t)",
    # things joined by hyphens and slashes
    "particle": r"[dDoOlL] {aposlike} ({letter}|{digit})",
    "hyphen": r"[-_\u058A\u2010\u2011]",
    "alnum": r"({letter}|{digit})+",
    "thing": r"({particle})? {alnum} ({hyphen} ({particle})? {alnum})*",
    "slashed": r"[A-Za-z0-9]+ (-[A-Za-z]+){0,2} (\\? / [A-Za-z0-9]+ (-[A-Za-z]+){0,2}){1,2}",
    "amped": r"[A-Z]+ (([+&]|&(?i:amp);) [A-Z]+)+",
    # numbers
    "num": r"{D}+ | {D}* ([.:,\u00AD\u066B\u066C] {D}+)+",
    "fraction": r"({D}{1,4} [-\ \u00A0])? {D}{1,4} (\\? / | \u2044) {D}{1,4}",
    "date": r"{D}{1,2} [-/] {D}{1,2} [-/] {D}{2,4}",
    "phone": r"""(\( [0-9]{2,3} \) [\ \u00A0]? | (\+\+?)? ([0-9]{2,4} [-\ \u00A0])? [0-9]{2,4} [-\ \u00A0])
                 [0-9]{3,4} [-\ \u00A0]? [0-9]{3,5}
               | ((\+\+?)? [0-9]{2,4} \.)? [0-9]{2,4} \. [0-9]{3,4} \. [0-9]{3,5}""",
    # the net
    "url": r"""(?i:https?):// [^\ \t\n\f\r"<>|(){}]+ [^\ \t\n\f\r"<>|.!?(){},-]""",
    "site": r"""( (?i:www)\. ([^\ \t\n\f\r"<>|.!?(){},]+ \.)+ [a-zA-Z]{2,4}
                | ([^\ \t\n\f\r"`'<>|.!?(){},-_$]+ \.)+ (?i:com|net|org|edu) )
                (/ [^\ \t\n\f\r"<>|()]+ [^\ \t\n\f\r"<>|.!?(){},-])?""",
    "mail": r"""(&(?i:lt);|<)? [a-zA-Z0-9] [^\ \t\n\f\r"<>|()\u00A0{}]* @ ([^\ \t\n\f\r"<>|().\u00A0{}]+ \.)*
                [^\ \t\n\f\r"<>|().\u00A0{}]+ (&(?i:gt);|>)?""",
    "sgml": r"""< ( [!?] [A-Za-z-] [^>\r\n]*
                  | / [A-Za-z] [A-Za-z0-9:._-]* [\ ]*
                  | [A-Za-z] [A-Za-z0-9:._-]*
                    ([\ ]+ [A-Za-z] [A-Za-z0-9:._-]* ([\ ]* = [\ ]* ('[^'\r\n]*' | "[^"\r\n]*"))? )*
                    [\ ]* /? [\ ]* ) >""",
    # abbreviations: with the full stop one token
    # "early" ones end before the next two characters, whatever they are ("etc.a"), "late" ones give way to a word
    "caps": r"A(?i:rk|z)|D(?i:el)|I(?i:ll)|L(?i:a)|M(?i:ass|iss)|O(?i:re)|P(?i:a)|T(?i:ex)|W(?i:ash)",
    "early": r"""(?i: al|ala|apr|ariz|assn|aug|bancorp|bhd|bldg|blvd|bros|calif|cos?|colo|conn|corp|ct|dak|dec|esq|est
        |etc|ext|feb|fla|fri|ga|inc|ind|intl|jan|jr|jul|jun|kans?|ky|ltd|mar|md|mich|minn|mo|mon|mont|neb|nev|nov|oct
        |okla|penn|plc|rd|rt|sept?|seq|sq|sr|sys|tel|tenn|thu|thurs|tues?|univ|va|vt|wed|wisc?|wyo)
        | {caps} | [Pp]{1,2}[Tt][ey][Ss]? | (?i:ph|ed)\.(?i:d)""",
    "late": r"""(?i: adj|adm|adv|alex|assoc|asst|atty|ave|brig|capt|cf|cie|cmdr|col|comdr|cpl|dept|det|drs?|elec|ens|ft
        |gen|govs?|hon|insp|invt|jos|lieut|lt|maj|messrs|mlle|mme|mrs?|ms|msgr|mt|natl|pfc|ph|pres|profs?|pvt|reps?|rev
        |sens?|sfc|sgt|spc|st|ste|supt|vs|wm) | [Mm][ft][Gg]""",
    "numbered": r"(?i: art|ca|figs?|nos?|op|pp|prop)",
    "initials": r"""(?i: [a-z] (\.[a-z])* | (canada|sino|korean|eu|japan|non)-u\.s | u\.s\.-(u\.k|u\.s\.s\.r))""",
    "starter": r"""A|About|According|Additionally|After|An|As|At|But|Earlier|He|Her|Here|However|If|In|It|Last|Many|More
        |Mr\.|Ms\.|Now|Once|One|Other|Our|She|Since|So|Some|Such|That|The|Their|Then|There|These|They|This|We|What|When
        |While|Yet|You""",
    # words with an apostrophe inside
    "apoword": r"""{apos} [nN] ({apos})? | [lLdDjJ] {apos} | (?i:dunkin|somethin|ol) {apos} | {apos} (?i:em)
        | {apos} [2-9] 0 [sS] | {apos} (?i:till?|cause) | [oO] ({aposlike}) [oO]
        | [A-HJ-XZn] ({aposlike}) {letter}{2} {letter}*
        | {letter}+ [aeiouyAEIOUY] ({aposlike}) [aeiouA-Z] {letter}*
        | (?i: c{apos}mon | nor{apos}easter | e{apos}er | ev{apos}ry | li{apos}l | nat{apos}l | cap{apos}n | c{apos}est
             | d{apos}ye | s{apos}mores | cont{apos}d\.)""",
    "file": r"""({L}|{D})+ (\. ({L}|{D})+)* \. (?i: bat|bmp|c|class|cgi|cpp|dll|doc|docx|exe|gif|gz|h|htm|html|jar
        |java|jpeg|jpg|mov|mp3|pdf|php|pl|png|ppt|ps|py|sql|tar|txt|wav|x|xml|zip)""",
    "compound": r"[A-Za-z0-9] [A-Za-z0-9.,\u00AD]* (- ([A-Za-z0-9\u00AD]+ | [A-Za-z](\.[A-Za-z])+\.))+",
    "smiley": r"""[<>]? [:;=] [-o*']? [()DPdpO\\{@|\[\]]""",
    "face": r"""[-^x=~<>'] _ [-^x=~<>'] | \( [-^x=~<>'] [_.]? [-^x=~<>'] \)""",
}

RULES: list[Rule] = [
    Rule(r"(?i:can)", "word", ahead=r"(?i:not)"),
    Rule(r"(?i:gon|wan)", "word", ahead=r"(?i:na)"),
    Rule(r"(?i:got)", "word", ahead=r"(?i:ta)"),
    Rule(r"(?i:lem|gim)", "word", ahead=r"(?i:me)"),
    Rule(r"'(?i:t)", "word", ahead=r"[iI\u0130][sS]|(?i:was)"),
    Rule(r"{sgml}", "joined"),
    Rule(r"&(?i:md|mdash|ndash);|[\u0096\u0097\u2013-\u2015]", "drop"),
    Rule(r"&(?i:amp);", "amp"),
    Rule(r"&((?i:ht|tl|ur|lr|qc|ql|qr|odq|cdq)|#[0-9]+);", "asis"),
    Rule(r"{word}", "word", ahead=r"{clitic}"),
    Rule(r"[A-Za-z\u00AD]* [A-MO-Za-mo-z] \u00AD*", "word", ahead=r"(?i:n) ({aposlike}) (?i:t)"),
    Rule(r"{word}", "word"),
    Rule(r"({word}|{thing}|{compound}|{amped})\.", "word", ahead=r"[,;:\u3001]"),
    Rule(r"{apoword}", "asis"),
    Rule(r"[yY]{apos}", "asis", ahead=r"{letter}"),
    Rule(r"{url}", "asis"),
    Rule(r"{site}", "asis"),
    Rule(r"{mail}", "asis"),
    Rule(r"@[a-zA-Z_][a-zA-Z_0-9]*", "asis"),
    Rule(r"#({L})+", "asis"),
    Rule(r"{clitic}", "quotes", ahead=r"[^A-Za-z]"),
    Rule(r"(?i:n) ({aposlike}) (?i:t)", "quotes", ahead=r"[^A-Za-z]"),
    Rule(r"{date}", "asis"),
    Rule(r"[-+]?({num})", "word"),
    Rule(r"[\u207A\u207B\u208A\u208B]? ([\u2070\u00B9\u00B2\u00B3\u2074-\u2079]+ | [\u2080-\u2089]+)", "asis"),
    Rule(r"{fraction}", "joined"),
    Rule(r"[\u00BC-\u00BE\u2153\u2154]", "halves"),
    Rule(r"(?i: c\.d\.s|pro-|anti-|s(&|&amp;)p-500|s(&|&amp;)ls)", "amped"),
    Rule(r"({apos})[0-9][0-9]", "asis", ahead=r"{blank}|{line}"),
    Rule(r"({early})\.", "asis", ahead=r"[^][^]"),
    Rule(r"({early}|{late})\.", "asis"),
    Rule(r"{numbered}\.", "asis", ahead=r"({blank}|{line})? {digit}"),
    Rule(r"[A-Za-z]", "asis", ahead=r"\. ({blank}|{line})+ ({starter}|{sgml}) ({blank}|{line})"),
    Rule(r"({initials})\.", "asis"),
    Rule(r"(?i: (canada|sino|korean|eu|japan|non)-u\.s)", "asis"),
    Rule(r"{file}", "asis", ahead=r"{blank}|{line}|[.?!,]"),
    Rule(r"{thing}", "asis"),
    Rule(r"{compound}", "word"),
    Rule(r"{slashed}", "asis"),
    Rule(r"{amped}", "amped"),
    Rule(r"[Cc]\+\+ | [CcFf]#", "asis"),
    Rule(r"{phone}", "joined"),
    Rule(r"{smiley}", "joined", ahead=r"[^A-Za-z0-9]"),
    Rule(r"{face}", "joined"),
    Rule(r"[A-Z]*\$", "asis"),
    Rule(r"[\u0080\u00A4\u20A0\u20AC]", "money"),
    Rule(r"\u00A3", "pound"),
    Rule(r"\u00A2", "cents"),
    Rule(r"&(?i:lt);", "less"),
    Rule(r"&(?i:gt);", "more"),
    Rule(r"&(?i:nbsp);", "drop"),
    Rule(r"&quot;|\"|&apos;", "drop"),
    Rule(r"&(?i:quot|apos);", "asis"),
    Rule(r"'", "drop", ahead=r"[A-Za-z][^\ \t\n\r\u00A0]"),
    Rule(r"{clitic}", "quotes"),
    Rule(r"'' | ' | [`\u2018-\u201F\u0091-\u0094\u2039\u203A\u00AB\u00BB]{1,2}", "quotes"),
    Rule(r"[()\[\]{}]", "escaped"),
    Rule(r"[!?]+ | @+ | #+ | _+ | \*+ | (\\\*){1,3} | <{1,2} | >{1,2}", "asis"),
    Rule(r"-{5}-*", "asis"),
    Rule(r"-{1,4} | \.{3,5} | (\.[\ \u00A0]){2,4}\. | [\u0085\u2026]", "drop"),
    Rule(r"[{symbol}\u2044]|[!-~]", "asis"),
    Rule(r"({blank})+", "drop"),
    Rule(r"[^\n]", "drop"),
    Rule(r"\n", "drop"),
]
