"""Takes secrets out of text before it is logged, kept or shown in an error."""

import functools
import re
from collections.abc import Callable

__all__ = ["COMMAND_RULES", "HINTS", "SECRET_KEY", "VERSION", "redact", "rules"]

VERSION = 3
"""Of the rules below, counted up when they change: a recording says which ones it was written with."""

_WORDS = (
    "(?:api|access|account|private|proxy)[_-]?key|token|secret|passw(?:or[dt]|d)|kennwort|passphrase|[_-]pwd"
    "|authorization|cookie|credential"
)
_QUERY_WORDS = (
    "ticket|sig|signature|code|key|auth|pwd|session|jwt|assertion|x-(?:amz|goog)-(?:signature|credential)"
)

_LAST_WORDS = "otp|totp|pin|jwt"
_X_AUTH = "x-auth(?:-?key)?"

SECRET_KEY = re.compile(rf"{_WORDS}|^{_X_AUTH}$|(?<![a-z])(?:{_LAST_WORDS})$", re.IGNORECASE)
"""Names whose values are secrets: some wherever they occur in a name, short ones as its last word."""

# Possessive repeats (`++`) never try again: a peer may print anything, and this must stay quick.
_KEY = rf"(?=[\w.-]*?(?:{_WORDS}))[\w.-]++"
_VALUE = r"""(?:'[^'\n]*+'?|"[^"\n]*+"?|[^\s,;&"']++)"""
_NO_PLACE = r"(?![/~.$`\\])"  # a directory, or a variable
_NO_PORT = r"(?!(?:[\d.]++:)*+\d{1,5}(?:/\w++)?(?!\w))"  # 8080, 127.0.0.1:8080:80/tcp
_NO_SECRET = r"(?!\w*(?:PUBLIC|PRIMARY|FOREIGN|SORT|PARTITION|CACHE|HOT)_?KEY=)"
_SAME_COMMAND = r"[^\n;|&`]{0,256}?(?<![\w.-])"
_LOGIN = rf"(?:a(?<![_.]a)uthorization|(?<![\w-]){_X_AUTH})"
_SCHEMES = (
    "(?:bearer|basic|digest|token|(?:api-?)?key|negotiate|ntlm|mac|oauth|hawk|signature|jwt|dpop"
    "|aws4-hmac-sha256)"
)
_NOT_HIDDEN = rf"(?!(?:{_SCHEMES}\s++)?(?:<secret \d|\*\*\*))"
_NO_PROSE = (  # nor a type
    "(?!(?:required|optional|needed|missing|invalid|denied|failed|headers?|none|null|undefined|true|false|any"
    "|str|string|bool|boolean|an?|and|are|as|by|each|for|if|in|is|no|not|of|on|only|option|or|see|that|the"
    r"|this|to|when|with|\.\.\.)(?![\w+/=~-]|\.\w))"
)
_PASS = (
    r"-(?<![\w.-]-)-?(?:(?:admin|db|ftp|http|key|proxy|root|smtp|ssl|store|sudo|user)[_-])?+"
    "(?:db|key|store)?pass(?:in|out)?"
)

# Works on pieces of JSON too: frames are shortened before they are redacted, so the end may be missing.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?$)'

_CASED = ("variables", "shapes", "pem", "passwords of redis", "passwords of samba", "databases of Go")

_RULES = {
    # "env": {...} and "headers": {...}: every value of the map
    "maps": rf'"(?:env|headers)"\s*+:\s*+\{{(?P<secret>(?:[^"}}]|{_STRING})++)',
    # {"name": "...", "value": "..."}: variables and headers of MCP servers and terminals
    "pairs": rf'"name"\s*+:\s*+{_STRING}\s*+,\s*+"value"\s*+:\s*+(?P<secret>{_STRING})',
    "pairs, value first": rf'"value"\s*+:\s*+(?P<secret>{_STRING})\s*+,\s*+"name"\s*+:',
    # backslashes: JSON inside a string
    "json": rf'"(?:{_KEY}|{_X_AUTH}|(?:[\w.-]*?[._-])?(?:{_LAST_WORDS}))\\*+"'
    rf"\s*+:\s*+\\*+(?P<secret>{_STRING})",
    # {'api_key': '...'}: how Python shows it in logs and tracebacks
    "single quotes": rf"'{_KEY}'\s*+:\s*+(?P<secret>'[^'\n]*+'?)",
    # a password or code may be a number; a number of tokens is none
    "numbers": rf'"(?:[\w.-]*?(?:passw(?:or)?d|passphrase|secret)|(?:[\w.-]*?[._-])?(?:{_LAST_WORDS}))'
    r'\\*+"'
    r"\s*+:\s*+(?P<secret>\d{4,})",
    "elements": rf"<{_KEY}>(?P<secret>[^<\n]++)",
    "netrc": rf"\blogin\s++\S++\s++password\s++{_NOT_HIDDEN}(?P<secret>\S++)",
    # Cookie: a=b; sid=...: all of them, to the end of the line
    "cookies": rf"\bcookie\d?:\s*+{_NOT_HIDDEN}(?P<secret>[^\s\"'][^\n\"']*+)",
    # a login for a registry, as docker keeps it
    "logins": r'"auth\\*+"\s*+:\s*+\\*+"(?P<secret>[A-Za-z0-9+/=_-]{8,})',
    "encoded": rf"%22(?:[\w.-]*?(?:{_WORDS}))[\w.-]*?%22(?:%20)?%3A(?:%20)?%22(?P<secret>[^%\s]++)",
    "errors about keys": r"\b(?:API|access)[ -]key(?: \w++){0,2}: ?(?P<secret>[\w.~+/=-]{8,})",
    # [["X-Api-Key", "..."], ...]: headers as a list; a single list may be one of names
    "pairs in a list": rf'[\[,]\s*+\[\s*+"{_KEY}"\s*+,\s*+(?P<secret>{_STRING})',
    "schemes": r"\b(?:Bearer|Basic)\s++(?P<secret>[\w.~+/=-]{4,})",
    # Authorization: Digest a="b", response="...": to the end of the line. A quote after `=` opens a value if
    # one follows; any other ends the header, and so does `\n` in JSON. What begins like code stays.
    "authorization": rf"{_LOGIN}\s*+(?::|=(?=\s*+{_SCHEMES}\s))[ \t]*+"
    rf"{_NOT_HIDDEN}(?:{_SCHEMES}[ \t]++)?+{_NO_PROSE}(?!{_SCHEMES}[^\w+/=~.-])"
    r"""(?P<secret>'(?=[\w+/.~=-])[^'\n]*+'?|"(?=[\w+/.~=-])(?:[^"\\\n]|\\.)*+"?"""
    r"""|(?![\s{}()[\]<>$%|`"',;&*#\\])(?:[^\n"'=\\]|\\(?![nr])|=(?:\\*+"(?![\s,;)\]}]|\Z)[^"\n]*+"?)?+)++)""",
    "assignments": rf"(?<![\w.-]){_KEY}\s*+(?:=|(?<!(?<![_.])authorization):|:(?=[ \t]*+\n))\s*+"
    rf"{_NOT_HIDDEN}(?P<secret>{_VALUE})",
    "options": rf"(?<![\w.-])--?{_KEY}\s++(?!-){_NOT_HIDDEN}(?P<secret>{_VALUE})",
    "variables": rf"(?<![\w.-])(?=[A-Z]\w*?(?:_PASS|_PWD|KEY)=){_NO_SECRET}[A-Z][A-Z0-9_]++="
    rf"{_NOT_HIDDEN}{_NO_PLACE}(?P<secret>{_VALUE})",
    # Server=x;Pwd=...; but PWD=/home/me is a directory
    "connection strings": rf";\s*+pwd={_NOT_HIDDEN}{_NO_PLACE}(?P<secret>[^\s;&\"']++)",
    "one-time codes": rf"(?<![a-z])(?:{_LAST_WORDS})[=:] ?(?P<secret>\d{{4,8}})(?!\w)",
    # curl -u me:...; but 1000:1000 and www:www are a user and a group
    "users": rf"-(?<![\w.-]-)(?:u|-(?:proxy-)?user=?)(?: ++|(?<==)|\", ?)[\"']?(?!\d++:\d)"
    rf"(?P<user>[\w.@+-]++):(?!(?P=user)(?![^\s\"'])){_NOT_HIDDEN}{_NO_PLACE}(?P<secret>[^\s\"']++)",
    # --pass ..., openssl -passin pass:...; but --pass-through stays
    "options named pass": rf"{_PASS}(?:[ =]++|\", ?)(?!-|(?:env|file|fd):|stdin\b|\d\b){_NO_PROSE}"
    rf"(?:pass:)?+{_NOT_HIDDEN}{_NO_PLACE}(?P<secret>{_VALUE})",
    # docker login -p ...; but mkdir -p dir stays
    "passwords of logins": rf"(?:\b(?:login|sshpass|mongo\w*+)|(?<![\w.-])--?{_KEY})\s{_SAME_COMMAND}"
    rf"(?-i:-p)[ =]++(?!-){_NO_PORT}{_NOT_HIDDEN}{_NO_PLACE}(?P<secret>{_VALUE})",
    # mysql -p...; but find /var/lib/mysql -print stays
    "passwords of databases": rf"\b(?:mysql\w*+|mariadb[\w-]*+|sshpass)\s{_SAME_COMMAND}(?-i:-p)"
    rf"(?!(?:ath|erm|rint0?|rune)\b|-){_NO_PORT}{_NOT_HIDDEN}(?P<secret>{_VALUE})",
    # redis-cli -a ...; but tar -a stays
    "passwords of redis": rf"(?:redis|valkey|keydb)-cli\s{_SAME_COMMAND}-a ++(?!-)"
    rf"{_NOT_HIDDEN}{_NO_PLACE}(?P<secret>{_VALUE})",
    # smbclient -U me%...
    "passwords of samba": rf"(?:smb\w++|rpcclient|winexe|net (?:ads|rpc))\s{_SAME_COMMAND}"
    rf"(?:-U *+|--user(?:name)?[ =]++)[\"']?[^\s%\"']++%{_NOT_HIDDEN}{_NO_PLACE}(?P<secret>[^\s\"']++)",
    # me:...@tcp(host:3306)/db: how programs in Go name a database
    "databases of Go": rf":(?<=[\w.%+-]:)(?!//){_NOT_HIDDEN}(?P<secret>[^\s\"']{{1,256}}?)"
    r"@(?:tcp6?|unix|cloudsql)\(",
    "webhooks": r"/(?:api/webhooks/\d++|(?<=hooks\.slack\.com/)\w++)/(?P<secret>[\w/-]++)",
    "user information of a URL": r"://(?P<secret>[^\s/@\"'<*]++)@",
    # how a WebSocket or an event stream brings a token or ticket when it can set no header
    "subprotocols": r"\bacpella\.(?:token|ticket)\.(?P<secret>[^\s&\"',]++)",
    "queries": rf"[?&](?:{_QUERY_WORDS})={_NOT_HIDDEN}(?P<secret>[^\s&\"'#]++)",
    "pem": r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?P<secret>(?:[^-]|-(?!----))*+)",
    "shapes": r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-F]{2}))(?P<secret>"
    r"(?:sk|pk|rk|ghp|gho|ghu|ghs|ghr|github_pat|glpat"
    r"|xox[abeoprs]|npm|hf|gsk|xai|dop_v1|pypi|shpat|tvly|r8|nvapi|whsec|fw|pplx|lin_api)[-_][\w-]{12,}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{12,}|SG\.[\w-]{10,}\.[\w-]{10,}"
    r"|eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*+)?|AGE-SECRET-KEY-1[0-9A-Z]{20,}"
    r"|dapi[0-9a-f]{32}|hv[sb]\.[\w-]{20,}|ATATT3[\w=-]{20,}|ntn_\w{20,}|\d{8,10}:AA[\w-]{30,}"
    r"|key-[0-9a-f]{32}|sbp_[0-9a-f]{40})",
}


@functools.cache
def rules() -> dict[str, re.Pattern[str]]:
    """What a secret looks like in text; the group `secret` is what is hidden, the rest stays to be read.

    Compiled when a text may hold a secret for the first time: that takes longer than most imports.
    """
    return {
        name: re.compile(pattern, 0 if name in _CASED else re.IGNORECASE) for name, pattern in _RULES.items()
    }


COMMAND_RULES = (
    *("users", "options named pass", "passwords of logins", "passwords of databases"),
    *("passwords of redis", "passwords of samba"),
)
"""Those whose secret is a word of its own, after others of the same command."""

HINTS = (
    *("key", "token", "secret", "passw", "passphrase", "authorization", "cookie", "credential", "bearer"),
    *("basic", '"env', '"headers', '"value', "://", "-----begin", "\\u00"),
    *("ticket", "sig", "code=", "auth=", "pwd=", "session=", "jwt", "assertion=", "kennwort"),
    *("_pwd", "-pwd", "sbp_", "_pass", "-pass", "dbpass", "keypass", "storepass", "x-auth"),
    *("otp", 'pin"', "pin\\", "pin=", "pin:", "-u ", '"-u', "--user", "proxy-user"),
    *("login", "sshpass", "mongo"),
    *("redis-cli", "valkey-cli", "keydb-cli", "smb", "rpcclient", "winexe", "net ads", "net rpc"),
    *("@tcp", "@unix(", "@cloudsql("),
    *("mysql", "mariadb", "hooks.slack", "api/webhooks"),
    *(
        "sk-",
        "sk_",
        "pk-",
        "pk_",
        "rk-",
        "rk_",
        "ghp",
        "gho_",
        "ghu",
        "ghs",
        "ghr",
        "gho-",
        "github_pat",
        "glpat",
    ),
    *(
        "xox",
        "npm_",
        "npm-",
        "hf_",
        "hf-",
        "gsk",
        "xai",
        "dop_v1",
        "pypi",
        "shpat",
        "tvly",
        "r8_",
        "r8-",
        "nvapi",
    ),
    *('"auth', "%22", "dapi", "hvs.", "hvb.", "atatt3", "ntn_", ":aa"),
    # letters that the rules, which ignore case, take for `i`, `k` and `s`; one of them in lower case; in JSON
    *("\u0130", "\u0131", "\u017f", "\u212a", "\u0307", "\\u0130", "\\u0131", "\\u017f", "\\u212a"),
    *("whsec", "fw_", "fw-", "pplx", "lin_api", "akia", "asia", "aiza", "ya29.", "sg.", "eyj"),
)
"""Text that holds none of these holds nothing that a rule would find. Looking for them is quick.

Put it into lower case first, as `str` or as UTF-8.
"""


def redact(text: str, hide: Callable[[str], str] = lambda secret: "***") -> str:
    """The text with tokens, keys, passwords, header and environment values hidden, as `***` by default."""

    def replace(match: re.Match[str]) -> str:
        start, end = match.span("secret")
        secret = match["secret"]
        quote = secret[:1] if secret[:1] in ('"', "'") else ""
        inner = secret[len(quote) :].removesuffix(quote) if quote else secret
        return text[match.start() : start] + quote + hide(inner) + quote + text[end : match.end()]

    lower = text.lower()
    if not any(hint in lower for hint in HINTS):
        return text
    for pattern in rules().values():
        text = pattern.sub(replace, text)
    return text
