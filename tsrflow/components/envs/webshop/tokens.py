"""Lucene's English analysis, as Anserini runs it: words, possessives off, lower case, stop words, Porter stems.

Words are those of Lucene's standard tokenizer (UAX #29, Unicode 12.1): emoji are words of their own, Han and Hiragana
characters too. Stemming is Porter's algorithm with Martin Porter's own extensions, from nltk.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import regex

MAX_WORD = 255
"""Longer words are cut into pieces of this length."""
_STOP_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_STOP_WORDS.split())
_PICTOGRAPHS = (
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 "
    "25C0 25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 "
    "274C 274E 2753-2755 2757 2763-2767 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D "
    "3297 3299 1F000-1F0FF 1F10D-1F10F 1F12F 1F16C-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A "
    "1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F 1F7D5-1F7FF "
    "1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1FAFF 1FC00-1FFFD"
)
"""Extended_Pictographic of Unicode 12 to 15; later versions, which the regex module follows, dropped symbols."""


def _ranges(text: str) -> str:
    """Hexadecimal code points and ranges as the inside of a character class."""
    return "".join("-".join(f"\\U{int(end, 16):08X}" for end in item.split("-")) for item in text.split())


def _pattern() -> Any:
    """What Lucene takes for one word, as a pattern of the regex module."""
    follow = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*"
    letter = rf"[\p{{WB=ALetter}}\p{{WB=Hebrew_Letter}}]{follow}"
    hebrew = rf"\p{{WB=Hebrew_Letter}}{follow}"
    digit = rf"[\p{{WB=Numeric}}\uFF10-\uFF19]{follow}"
    katakana = rf"\p{{WB=Katakana}}{follow}"
    joiner = rf"(?:\p{{WB=ExtendNumLet}}{follow})"
    in_word = rf"(?:[:\u00B7\u0387\u055F\u05F4\u2027\uFE13\uFE55\uFF1A\p{{WB=MidNumLet}}']{follow})"
    in_number = rf"(?:[\p{{WB=MidNum}}\p{{WB=MidNumLet}}']{follow})"
    quoted = rf"{hebrew}(?:'{follow}(?!{letter})|\"{follow}{hebrew})"
    number = rf"{digit}(?:(?:{joiner}*|{in_number}){digit})*"
    word = rf"{letter}(?:(?:{joiner}*|{in_word}){letter})*"
    part = rf"(?:{katakana}(?:{joiner}*{katakana})*|(?:{quoted}|{number}|{word})+)"
    words = rf"{joiner}*{part}(?:{joiner}+{part})*{joiner}*"
    picture = f"[{_ranges(_PICTOGRAPHS)}]"
    drawn = rf"{picture}(?:[[\p{{WB=Extend}}\p{{WB=Format}}]--[\uFE0E\uFE0F]]|\u200D(?!{picture}))*\uFE0F?"
    emoji = rf"\u200D*{drawn}(?:\u200D+{drawn})*|[0-9#*]\uFE0F?\u20E3|[\U0001F1E6-\U0001F1FF]{{2}}"
    asian = rf"\p{{Line_Break=Complex_Context}}+|[\p{{Script=Han}}\p{{Script=Hiragana}}]{follow}"
    return regex.compile(f"{emoji}|{words}|{asian}", regex.V1)


_WORD = _pattern()
_POSSESSIVE = ("'s", "’s", "＇s", "'S", "’S", "＇S")


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # loads much of nltk, so only once something is searched

    return PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)


@lru_cache(maxsize=1 << 17)
def term_of(word: str) -> str | None:
    """The term a word is indexed under; None for stop words."""
    if word.endswith(_POSSESSIVE):
        word = word[:-2]
    word = word.lower()
    if word in STOP_WORDS:
        return None
    return str(_stemmer().stem(word, to_lowercase=False))


def terms(text: str) -> list[str]:
    """Terms of ``text`` in order, repeats included."""
    found = []
    for word in _WORD.findall(text):
        pieces = (word,) if len(word) <= MAX_WORD else (word[i : i + MAX_WORD] for i in range(0, len(word), MAX_WORD))
        found += [term for piece in pieces if (term := term_of(piece)) is not None]
    return found
