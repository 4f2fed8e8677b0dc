"""How long a regular expression gets when its repeats are written out, which compiling it does."""

from __future__ import annotations

import re

_TOKENS = r"""
    (?P<comment> \(\?\#[^)]*\) {verbose_comment} )
  | (?P<open> \( (?: \?(?: P?<\w+> | <?[=!] | [>|] | [\w-]*: ) )? )
  | (?P<close> \) )
  | (?P<repeat> \{{ {space} (?P<least>[0-9]{{1,15}}) {space} (?: , {space} [0-9]* {space} )? \}} )
  | (?P<atom> \\[pPN]\{{[^}}]*\}} | \\. | \[ \^?\]? (?: \\. | \[:[^]]*:\] | [^]\\] )* \] | [^\[] )
  | (?P<unclosed> \[ )
"""
_PLAIN = re.compile(_TOKENS.format(verbose_comment="", space=""), re.VERBOSE | re.DOTALL)
_SPACED = re.compile(_TOKENS.format(verbose_comment=r"| \#[^\n]* | \s+", space=r"\s*"), re.VERBOSE | re.DOTALL)
_FREE_SPACING = re.compile(r"\(\?\w*x\w*\)")


def added_by_repeats(pattern: str, *, verbose: bool) -> int:
    """Count the characters, classes and escapes that the least counts in braces add: 4 for `a{5}` or `(a{2}b){2,}`.

    Args:
        pattern: The expression. What is wrong in it is left to the compiler.
        verbose: Whether blanks and comments in it mean nothing.
    """
    sizes, last, written = [0], 0, 0
    for token in (_SPACED if verbose or _FREE_SPACING.search(pattern) else _PLAIN).finditer(pattern):
        match token.lastgroup:
            case "open":
                sizes.append(0)
            case "close":
                last = sizes.pop()
                sizes = sizes or [0]
                sizes[-1] += last
            case "repeat":
                copies = last * (max(1, int(token["least"])) - 1)
                last += copies
                sizes[-1] += copies
            case "unclosed":  # not a valid expression
                return 0
            case "atom":
                last, written = 1, written + 1
                sizes[-1] += 1
    return sum(sizes) - written
