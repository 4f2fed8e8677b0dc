"""Text that others wrote, such as a model's answer, made harmless for each format in which a report may repeat it."""

from __future__ import annotations

import re

from prompt_evaluator.model.characters import visible

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")  # noqa: RUF001 - some spreadsheets read the wide signs, too
"""Also with leading quotes: a text that already has some gets one more, so that removing one is always right."""
_NOT_CSV = re.compile("[\x00\ud800-\udfff]")
_NOT_XML = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""What XML 1.0 forbids or advises against. A carriage return is allowed, but readers turn it into a line feed."""
_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_XML_SIGN = re.compile("[&<>\"']")
_IN_ATTRIBUTES = str.maketrans({"\n": "&#10;", "\t": "&#9;"})

_MARKDOWN = {sign: f"&#{ord(sign)};" for sign in "\\`*[]|~#!$^{}@%"} | {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKDOWN_SIGN = re.compile(r"[\\`*\[\]|~#!$^{}@%&<>]|(?<![^\W_])_|_(?![^\W_])")
"""An underscore within a word means nothing."""
_LINE_START = re.compile(r"[-+=/:]|\d+[.)]")
"""Lists, headings, rules, and commands of GitLab comments."""
_REFERENCE = re.compile(r"[@#!$%~&^](?=[\w\"'])|:(?=//)|(?<=www)(?=\.)|(?<=\bGH)(?=-\d)", re.IGNORECASE)
"""Names of people, issues, labels and addresses. GitHub and GitLab link them after escapes have been resolved."""
_ZERO_WIDTH_SPACE = "\u200b"
_BACKTICKS = re.compile("`+")
_SHORTEST_FENCE = 3


def plain(text: str) -> str:
    """Make control and bidirectional characters visible. Lines and tabs stay."""
    return visible(text)


def one_line(text: str) -> str:
    """The same on one line, with single spaces."""
    return visible(" ".join(text.split()))


def csv_cell(text: str) -> str:
    """Quote a text that a spreadsheet would read as a formula; replace what no CSV file can hold."""
    text = _NOT_CSV.sub("�", text)
    return f"'{text}" if _FORMULA.match(text) else text


def csv_original(cell: str) -> str:
    """The text that was passed to `csv_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def xml_text(text: str) -> str:
    """Escape a text for the content of an element, without characters that XML cannot hold."""
    if not text.isprintable():
        text = _NOT_XML.sub(_xml_replacement, text.replace("\r\n", "\n"))
    return text.translate(_XML) if _XML_SIGN.search(text) else text


def xml_attribute(text: str) -> str:
    """The same for an attribute in quotes, where line feeds and tabs would become spaces."""
    escaped = xml_text(text)
    return escaped if escaped.isprintable() else escaped.translate(_IN_ATTRIBUTES)


def markdown_text(text: str) -> str:
    """Escape a text for one line of Markdown: no markup, HTML, link, mention or reference.

    Signs are written as entities, which also hold in table cells and between HTML tags.
    """
    line = one_line(text)
    start = _LINE_START.match(line)
    head = line[: start.end()] if start else ""
    broken = _REFERENCE.sub(lambda found: found[0] + _ZERO_WIDTH_SPACE, line[len(head) :])
    escaped = _MARKDOWN_SIGN.sub(lambda found: _MARKDOWN.get(found[0], "&#95;"), broken)
    return (head[:-1] + f"&#{ord(head[-1])};" if head else "") + escaped


def markdown_block(text: str) -> str:
    """A text as it is, between fences longer than any in it. It has to begin on a line of its own."""
    shown = plain(text)
    longest = max((len(run) for run in _BACKTICKS.findall(shown)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"


def log_line(text: str) -> str:
    """One line for the log of a CI service, without escape sequences and the service's own commands."""
    return one_line(text).replace("::", ": :").replace("##", "# #")


def _xml_replacement(found: re.Match[str]) -> str:
    shown = visible(found[0])
    return "�" if shown == found[0] else shown  # not a character, such as U+FFFE
