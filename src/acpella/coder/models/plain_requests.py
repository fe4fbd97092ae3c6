"""Understands plain requests in English, such as "read a.txt and then run `make test`", without a model."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["PlainStep", "understand"]

MAX_REQUEST = 20_000
"""Characters that are looked at; nobody types more, and patterns should stay quick."""

MAX_SENTENCE = 600
"""Characters of a request that has no long part, such as the text of a file."""

MAX_STEPS = 20
"""Steps of one request."""


@dataclass(frozen=True, slots=True)
class PlainStep:
    """One thing that was asked for."""

    tool: str
    """The tool that does it; empty if it is nothing that can be done without a real model."""
    arguments: dict[str, Any]
    said: str
    """The words of the user for it."""
    after: bool = False
    """It was asked to come after the one before ("then")."""


_QUOTED = r"""`[^`]*`|"(?:[^"\\\n]|\\.)*"|“[^”\n]*”|(?<!\w)'[^'\n]*'(?!\w)"""
_SPANS = re.compile(rf"```.*?```|{_QUOTED}", re.DOTALL)
_WORD = rf"(?:{_QUOTED}|[^\s,;]+)"
_URL = r"https?://[^\s`\"'<>]+"

_VERBS = (
    "read|show|open|cat|print|display|view|list|ls|search|grep|find|look|locate|run|execute|replace|change|"
    "substitute|rename|create|make|write|save|add|fetch|download|plan|edit|delete|fix|explain|summari[sz]e|tell|describe"
)
# what ends one step: a new line, "then", or "and" before a verb
_BREAK = re.compile(
    rf"(?P<then>[,;.]?\s+(?:and\s+)?(?:then|after(?:wards| that)|next|finally),?\s+)|(?P<line>\s*\n+\s*)"
    rf"|(?:[,;]\s+|[,;]?\s+and\s+|\.\s+)(?:also\s+|please\s+)*(?=(?:{_VERBS})\b)",
    re.IGNORECASE,
)
_POINT = r"(?:[-*•]\s+|\d+[.)]\s+)"
_POLITE = re.compile(
    rf"^(?:{_POINT}|(?:please|ok(?:ay)?|(?:hi|hello|hey)(?: there)?|now|first(?:ly)?|next|then|finally|also|"
    r"and|just|so|lets|let's|let us|(?:can|could|would|will) you|i want you to|i(?:'d| would) like you to|"
    r"you should|go and|try to)\b[,.!:]?\s+)",
    re.IGNORECASE,
)
_TAIL = re.compile(r"(?:[\s,]+(?:please|for me|first|thanks|thank you|now))*[\s.!?]*$", re.IGNORECASE)
_HERE = re.compile(
    r"(?:here|everything|(?:the |this |my |your |all )*(?:current |whole |working )*"
    r"(?:directory|folder|project|repo(?:sitory)?|code(?: ?base)?|files?|workspace|sources?))$",
    re.IGNORECASE,
)


def understand(text: str) -> list[PlainStep]:
    """The steps of a request in their order; those that are not understood have no tool."""
    text = text[:MAX_REQUEST].strip()
    whole = _one(text)
    if whole is not None and (
        whole.tool == "plan"
        or (whole.tool == "write_file" and "\n" in text)
        or (whole.tool == "run" and "```" in text)
    ):
        return [whole]  # a list of points, the text of a file, a script: its lines are not steps
    steps: list[PlainStep] = []
    for clause, after in _clauses(text):
        steps += _several(clause, after=after)
    if any(step.tool for step in steps):  # the other lines are explanations
        steps = [step for step in steps if step.tool or _is_task(step.said)]
    return steps[:MAX_STEPS]


def _clauses(text: str) -> Iterator[tuple[str, bool]]:
    """The request cut at its breaks, but for those within quotes."""
    hidden = _SPANS.sub(lambda span: "\0" * len(span[0]), text)
    start, after = 0, False
    for match in _BREAK.finditer(hidden):
        if re.fullmatch(r"\s*in\s+\S+", text[start : match.start()], re.IGNORECASE):
            continue  # "in a.txt, replace ..."
        if text[start : match.start()].strip():
            yield text[start : match.start()].strip(), after
            after = False
        after = after or match["then"] is not None
        start = match.end()
    if text[start:].strip():
        yield text[start:].strip(), after


def _several(clause: str, *, after: bool) -> list[PlainStep]:
    """One step, or one for each of the files and pages that are read."""
    step = _one(clause)
    if step is None:
        return [PlainStep("", {}, clause, after)]
    for many, key in (("paths", "path"), ("urls", "url")):
        if many in step.arguments:
            each: list[str] = step.arguments[many]
            return [PlainStep(step.tool, {key: one}, clause, after and n == 0) for n, one in enumerate(each)]
    return [PlainStep(step.tool, step.arguments, clause, after)]


def _one(clause: str) -> PlainStep | None:
    words = clause.strip()
    while (shorter := _POLITE.sub("", words, count=1)) != words:
        words = shorter
    for rule in _RULES if len(words) <= MAX_SENTENCE else _LONG_RULES:
        if (request := rule(words)) is not None:
            tool, arguments = request
            return PlainStep(tool, arguments, clause)
    return None


def _is_task(words: str) -> bool:
    verbs = f"{_VERBS}|refactor|implement|improve|test|review|remove"
    return re.match(rf"(?:{verbs})\b", words, re.IGNORECASE) is not None


# -- rules: each gives a tool and its arguments, or None -----------------------------------------------

_Found = tuple[str, dict[str, Any]] | None

_THE_FILE = r"(?:the\s+)?(?:file\s+)?"
_INSIDE = rf"(?:\s+(?:in|under|inside|within)\s+((?:{_QUOTED}|.)+?))?"
_END = r"[\s.!?]*"


def _match(pattern: str, words: str) -> re.Match[str] | None:
    return re.fullmatch(pattern, words, re.IGNORECASE | re.DOTALL)


def _bare(word: str) -> str:
    """A word without its quotes."""
    word = word.strip()
    if len(word) >= 2 and (word[0], word[-1]) in {("`", "`"), ('"', '"'), ("'", "'"), ("“", "”")}:
        inner = word[1:-1]
        return (
            inner if word[0] == "`" else inner.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        )
    return word


def _path(word: str) -> str:
    """A word without its quotes, or without the end of the sentence."""
    bare = _bare(word)
    return bare if bare != word.strip() else re.sub(r"[.,!?:;]+$", "", bare) or bare


def _is_path(word: str) -> bool:
    """Looks like the name of a file, not like a word of a sentence."""
    usual = r"(?:Makefile|Dockerfile|LICENSE|README)"
    return re.search(rf"^(?:{_QUOTED}|{usual}|\.\.?)$|[./~]\w|/$", word.strip()) is not None


def _place(word: str | None) -> dict[str, Any]:
    """The `path` argument, none for here."""
    word = _TAIL.sub("", (word or "").strip())
    if not word or _HERE.match(word):
        return {}
    return {"path": _path(_short_place(word))}


def _short_place(word: str) -> str:
    return re.sub(r"^the\s+|\s+(?:directory|folder)$", "", word, flags=re.IGNORECASE)


def _run(words: str) -> _Found:
    match = _match(r"(?:[$!]\s*|(?:run|execute|exec)\s+(?:the\s+)?(?:(?:shell\s+)?command:?\s+)?)(.+)", words)
    if match is None:
        return None
    command, arguments = match[1].strip(), {}
    limit = re.search(
        r"[\s,](?:with\s+)?(?:a\s+)?time(?:out| limit)\s+(?:of\s+)?(\d+)\s*s?(?:econds?)?\.?$", command
    )
    if limit:
        command, arguments = command[: limit.start()].strip(), {"timeout": int(limit[1])}
    command = re.sub(r"\s+in\s+(?:the|a|your)\s+(?:terminal|shell|console)[.!?]*$", "", command)
    command = re.sub(r"(?:[,\s]+(?:please|for me))*[.!?]?$", "", command)
    quoted = re.match(r"```(?:\w*\n)?(.*?)```|`([^`]+)`|\"([^\"]+)\"$|'([^']+)'$", command, re.DOTALL)
    if quoted:
        command = next(part for part in quoted.groups() if part is not None).strip()
    if re.fullmatch(
        r"(?:(?:all|the|its?|unit)\s+)*tests?(?: suite)?(?: again)?|it(?: again)?|this|that", command
    ):
        return "", {}  # which command that is, only a real model finds out
    return "run", {"command": command, **arguments}


def _fetch(words: str) -> _Found:
    verbs = "fetch|download|get|open|read|show(?: me)?|curl|visit|load|look at"
    if _match(rf"(?:{verbs})\s+(?:the\s+)?(?:pages?|url|website|site)?\s*[`\"'<]?{_URL}[`\"'>]?.*", words):
        urls = [url.rstrip(".,!?;:)") for url in re.findall(_URL, words)]
        return "fetch", {"url": urls[0]} if len(urls) == 1 else {"urls": urls}
    host = r"(?:[a-z\d-]+\.)+[a-z]{2,}"
    if match := _match(rf"(?:fetch|download|visit|curl)\s+({host}(?:/\S*?)?){_END}", words):
        return "fetch", {"url": f"https://{match[1]}"}
    return None


def _lines(words: str) -> _Found:
    verb = r"(?:read|show(?: me)?|print|display|view|cat|open|look at)"
    lines = r"lines?\s+(\d+)(?:\s*(?:-|–|to|through|until|till|and|\.\.)\s*(?:line\s+)?(\d+))?"
    if match := _match(rf"{verb}\s+{_THE_FILE}({_WORD})[,:]?\s+\(?(?:from\s+|at\s+)?{lines}\)?{_END}", words):
        return _range(match[1], match[2], match[3])
    if match := _match(rf"{verb}\s+(?:only\s+)?{lines}\s+(?:of|from|in)\s+{_THE_FILE}({_WORD}){_END}", words):
        return _range(match[3], match[1], match[2])
    first = r"(?:the\s+)?first\s+(\d+)\s+lines\s+(?:of|from|in)"
    if match := _match(rf"{verb}\s+{first}\s+{_THE_FILE}({_WORD}){_END}", words):
        return "read_file", {"path": _path(match[2]), "limit": int(match[1])}
    return None


def _range(path: str, first: str, last: str | None) -> _Found:
    line = max(1, int(first))
    return "read_file", {"path": _path(path), "line": line, "limit": max(1, int(last or first) - line + 1)}


def _read(words: str) -> _Found:
    verbs = r"(read|cat|show(?: me)?|open|print|display|view|look at|what(?:'s| is) in)"
    match = _match(rf"{verbs}\s+(?:the\s+)?(?:(?:files?|contents? of)\s+)*(.+)", words)
    if match is None:
        return None
    rest = match[2].strip()
    if rest not in (".", ".."):
        rest = re.sub(r"^(?:the\s+)|\s+file$", "", _TAIL.sub("", rest), flags=re.IGNORECASE)
    if match[1].lower().startswith("what") and _HERE.match(rest):
        return "list_files", {}
    hidden = _SPANS.sub(lambda span: "\0" * len(span[0]), rest)
    if all(map(_is_path, rest.split())):
        hidden = re.sub(r"(?<!,) ", ",", hidden)  # names with nothing between
    names: list[str] = []
    start = 0
    for between in [*re.finditer(r",\s*(?:and\s+)?|\s+(?:and|&)\s+", hidden), None]:
        names.append(rest[start : between.start() if between else None].strip())
        start = between.end() if between else start
    if not all(re.fullmatch(_WORD, name) for name in names):
        return None  # a sentence, not names
    if match[1].lower() not in ("read", "cat") and not all(_is_path(name) for name in names):
        return None
    paths = [name if name in (".", "..") else _path(name) for name in names]
    if len(paths) == 1 and (paths[0].endswith("/") or paths[0] in (".", "..")):
        return "list_files", {} if paths[0] in (".", "./") else {"path": paths[0]}
    return "read_file", {"path": paths[0]} if len(paths) == 1 else {"paths": paths}


def _list(words: str) -> _Found:
    filler = r"me|all|the|every|files?|contents?|is|are|there|and|folders?|director(?:y|ies)|structure"
    match = _match(
        rf"(?:(list|ls|dir|show(?: me)?)(?:\s+-\w+)*|what)(?:\s+(?:{filler})\b)*"
        rf"(?:\s+(?:in|of|under|inside|from)\b)?(?:\s+(.+?))?{_END}",
        words,
    )
    if match is None:
        return None
    of_files = re.search(r"\b(?:files?|director(?:y|ies)|folders?)\b", words, re.IGNORECASE)
    if (match[1] or "").lower() not in ("list", "ls", "dir") and not of_files:
        return None
    place = match[2]
    if place and not _HERE.match(place) and len(_SPANS.sub("x", _short_place(place)).split()) > 1:
        return None
    return "list_files", _place(place)


_LANGUAGES = {
    **{"python": "py", "javascript": "js", "typescript": "ts", "rust": "rs", "go": "go", "java": "java"},
    **{"markdown": "md", "json": "json", "yaml": "yaml", "toml": "toml", "html": "html", "css": "css"},
}


def _find_files(words: str) -> _Found:
    verbs = r"(?:find|locate|search(?: for)?|list|look for)\s+(?:me\s+)?(?:(?:all|every|any|the)\s+)*"
    kinds = "|".join(_LANGUAGES)
    if match := _match(rf"{verbs}({kinds})\s+(?:source\s+)?files?{_INSIDE}{_END}", words):
        return "find_files", {"pattern": f"**/*.{_LANGUAGES[match[1].lower()]}", **_place(match[2])}
    before_name = r"(?:that\s+are\s+)?(?:(?:named|called|matching|like|ending (?:in|with))\s+)?"
    glob = r"[^\s\"'`]*[*?][^\s\"'`]*|\.\w+|`[^`]*\*[^`]*`"
    match = (
        _match(rf"{verbs}files?\s+{before_name}({_WORD}){_INSIDE}{_END}", words)
        or _match(rf"{verbs}({glob})(?:\s+files?)?{_INSIDE}{_END}", words)
        or _match(rf"locate\s+({_WORD}){_INSIDE}{_END}", words)
    )
    if match is None:
        return None
    pattern = _path(match[1])
    named_one = re.search(r"[.*?/]", pattern) or re.match(
        r"(?:find|locate)\b.*(?:named|called)", words, re.IGNORECASE
    )
    if not named_one:
        return None  # "list files here", "find files with bugs"
    if re.fullmatch(r"\.\w+", pattern) and not pattern.startswith((".git", ".env")):
        pattern = f"*{pattern}"
    if "/" not in pattern:
        pattern = f"**/{pattern}"  # anywhere below, whatever a bare name means to the tool
    return "find_files", {"pattern": pattern, **_place(match[2])}


def _search(words: str) -> _Found:
    if match := _match(r"(?:search|look)\s+(?:in|through|inside)\s+(\S+)\s+for\s+(.+)", words):
        return _pattern(match[2], match[1], literal=True)
    if match := _match(rf"grep(?:\s+-\w+)+\s+({_WORD})\s+({_WORD})", words):  # as in a shell
        return _pattern(match[1], match[2], literal=False)
    if match := _match(rf"grep(?:\s+-\w+)*(?:\s+for)?\s+({_QUOTED}|.+?){_INSIDE}[\s?!]*", words):
        return _pattern(match[1], match[2], literal=False)
    where = r"(?:\s+(?:the\s+)?(?:code|files?|project|repo(?:sitory)?))?(?:\s+for)?"
    uses = r"(?:\s+all)?(?:\s+(?:uses|occurrences|usages|mentions)\s+of)?"
    verbs = rf"(?:search{where}|find{uses}|look\s+for|where\s+is|where\s+do\s+we\s+use)"
    word = r"(?:the\s+(?:word|text|string|name|function|class|method|variable|definition\s+of)\s+)?"
    if match := _match(rf"{verbs}\s+{word}({_QUOTED}|.+?){_INSIDE}[\s?!]*", words):
        return _pattern(match[1], match[2], literal=True)
    return None


def _pattern(what: str, inside: str | None, *, literal: bool) -> _Found:
    what = re.sub(r"\s+(?:defined|used|called|implemented)[\s?.]*$", "", what.strip(), flags=re.IGNORECASE)
    if inside and len(_SPANS.sub("x", inside).split()) > 3:
        return None
    if re.match(r"(?:the\s+)?(?:web|internet|bugs?|errors?|problems?|a way)\b", what, re.IGNORECASE):
        return None
    pattern = _bare(what) if re.fullmatch(_QUOTED, what) else _TAIL.sub("", what)
    if re.fullmatch(r"/.+/", pattern):
        pattern = pattern[1:-1]
    elif literal:
        pattern = re.sub(r"([\\()\[\]{}+?^$|*])", r"\\\1", pattern)  # the tool takes patterns
    return ("search", {"pattern": pattern, **_place(inside)}) if pattern else None


def _replace(words: str) -> _Found:
    verb = r"(?:replace|change|substitute|swap|rename|edit)"
    between = r"\s+(?:by|with|to|into|for|->|=>|→)\s+"
    piece = rf"((?:{_QUOTED})|.+?)"
    if match := _match(rf"(?:in|edit)\s+{_THE_FILE}({_WORD}),?\s+{verb}\s+{piece}{between}{piece}", words):
        return _edit(match[1], match[2], match[3])
    what = r"(?:the\s+(?:word|text|line|string)\s+)?"
    inside = rf"\s+(?:in|inside|within|of)\s+{_THE_FILE}({_WORD})[\s!?]*"
    if match := _match(rf"{verb}\s+{what}{piece}{between}{piece}{inside}", words):
        return _edit(match[3], match[1], match[2])
    return None


def _edit(path: str, old: str, new: str) -> _Found:
    if re.search(r"\sfrom\s", old) and not re.fullmatch(_QUOTED, old):
        return None  # "the version from 1": which text that is, only a real model finds out
    return "edit_file", {"path": _path(path), "old": _bare(old), "new": _bare(new)}


def _write(words: str) -> _Found:
    before_name = r"(?:an?\s+|the\s+)?(?:new\s+|empty\s+)*(?:file\s+)?(?:(?:called|named)\s+)?"
    holding = r"(?:with|containing|that (?:says|contains)|saying)"
    the_text = r"(?:\s+(?:the\s+|this\s+)?(?:text|contents?|lines?|words?)\b)?\s*:?"
    match = _match(
        rf"(?:create|make|write|add|save)\s+{before_name}({_WORD})"
        rf"(?:,?\s+{holding}{the_text}\s*(.+)|\s*:\s*\n(.+)|[\s.!]*)",
        words,
    )
    if match and _is_path(re.sub(r"[:.]$", "", match[1])):
        return _file(match[1], match[2] or match[3] or "")
    text = rf"((?:```.*?```|{_QUOTED})|.+?)"
    match = _match(rf"(?:write|save|put)\s+{text}\s+(?:to|into|in|as)\s+{before_name}({_WORD})[\s.!]*", words)
    return _file(match[2], match[1]) if match and _is_path(match[2]) else None


def _file(path: str, text: str) -> _Found:
    fenced = re.fullmatch(r"\s*```\w*\n(.*?)\n?```\s*", text, re.DOTALL)
    text = fenced[1] if fenced else _bare(text)
    return "write_file", {
        "path": _path(path),
        "text": text if not text or text.endswith("\n") else text + "\n",
    }


def _plan(words: str) -> _Found:
    verb = r"(?:(?:make|create|write|show)\s+(?:me\s+)?(?:an?\s+|the\s+)?)?"
    match = _match(rf"{verb}plan\b(?:\s+(?:for|to|how to))?\s*:?\s*(.+)", words)
    if match is None:
        return None
    text = _TAIL.sub("", match[1])
    between = r"\s*\n+\s*" if "\n" in text else r"\s*[,;]\s*(?:(?:and|then)\s+)*|\s+(?:and\s+)?then\s+"
    points = [re.sub(rf"^{_POINT}", "", point).strip() for point in re.split(between, text)]
    entries = [{"content": point, "status": "pending"} for point in points if point]
    return ("plan", {"entries": entries[:MAX_STEPS]}) if entries else None


_LONG_RULES: list[Callable[[str], _Found]] = [_run, _plan, _write]
_RULES: list[Callable[[str], _Found]] = [
    _run,
    _fetch,
    _plan,
    _replace,
    _lines,
    _write,
    _find_files,
    _list,
    _read,
    _search,
]
"""In the order in which they are tried."""
