"""Where a PostgreSQL store is: the address with its secret, and what may be said of it."""

import re
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

__all__ = ["PostgresAddress", "is_address"]

_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(:\d{1,5})?"
_HOSTS = re.compile(f"{_HOST}(,{_HOST})*")
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,47}")

_SHAPE = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"


def is_address(spec: str) -> bool:
    """Whether this names a PostgreSQL database rather than a file."""
    return spec.startswith(("postgresql:", "postgres:"))


class PostgresAddress:
    """An address that tells its secret to the driver alone: it is in no message, log or `repr`."""

    __slots__ = ("_dsn", "schema", "where")

    def __init__(self, dsn: str, *, schema: str | None = None) -> None:
        # Nothing of a malformed address is quoted: what looks like a host may be half a password.
        if not dsn.startswith(("postgresql://", "postgres://")):
            raise ValueError(f"a PostgreSQL store is written {_SHAPE}")
        authority, _, rest = dsn.partition("://")[2].partition("/")
        user, _, hosts = authority.rpartition("@")
        if "@" in rest or "#" in dsn or "@" in user or "?" in authority or not _HOSTS.fullmatch(hosts):
            raise ValueError(
                f"the PostgreSQL address cannot be read: it is written {_SHAPE}, "
                "and characters such as @ / # ? in a password are percent-encoded (%40 %2F %23 %3F)"
            )
        scheme, netloc, path, query, _ = urlsplit(dsn)
        options = parse_qsl(query, keep_blank_values=True)
        schemas = [value for name, value in options if name == "schema"]
        self.schema = schema or (schemas[-1] if schemas else "acpella")
        if not _SCHEMA.fullmatch(self.schema):
            raise ValueError(
                f"{self.schema[:60]!r} cannot be a schema: use lower-case letters, digits and underscores"
            )
        pairs = [(name, value) for name, value in options if name != "schema"]
        self._dsn = urlunsplit((scheme, netloc, path, urlencode(pairs), ""))
        database = unquote(path.strip("/")) or dict(pairs).get("dbname") or dict(pairs).get("database") or ""
        host = hosts or dict(pairs).get("host", "")
        self.where = f"the PostgreSQL database {database or 'of the user'}" + (f" on {host}" if host else "")
        """What people are told: the database and its host, no user and no password."""

    def reveal(self) -> str:
        """The address for the driver."""
        return self._dsn

    def __repr__(self) -> str:
        return f"PostgresAddress({self.where!r})"
