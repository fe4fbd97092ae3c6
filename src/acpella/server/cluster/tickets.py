"""Tickets of web pages that any node takes: each once, and whichever node gave it."""

import secrets

import msgspec

from acpella.server.access.credentials import (
    MAX_TICKETS_OF_ONE,
    TICKET_SECONDS,
    AuthHook,
    Credential,
    TooManyTickets,
    digest_of,
    scopes_of,
)
from acpella.server.access.tokens import Tokens
from acpella.sessions import Cluster

from .records import Ticket, decode, encode

__all__ = ["ClusterTickets"]


class ClusterTickets:
    """Kept in the database by their SHA-256, with what they stand for; its clock decides when they end."""

    def __init__(self, cluster: Cluster, auth: AuthHook | None) -> None:
        self._cluster = cluster
        self._auth = auth

    def can_hold(self, credential: Credential) -> bool:
        """Whether other nodes would know when it is revoked."""
        return credential.revoked is None or (isinstance(self._auth, Tokens) and bool(credential.key))

    async def issue(self, credential: Credential) -> str:
        """A new ticket. Raises `TooManyTickets`, `StoreError`."""
        ticket = secrets.token_hex(32)
        body = encode(
            Ticket(credential.principal, sorted(credential.scopes), credential.until, credential.key)
        )
        if not await self._cluster.keep_ticket(
            digest_of(ticket),
            body,
            seconds=TICKET_SECONDS,
            limit=MAX_TICKETS_OF_ONE,
            principal=credential.principal,
        ):
            raise TooManyTickets
        return ticket

    async def redeem(self, ticket: str) -> Credential | None:
        """What a ticket stands for; from now on it stands for nothing. Raises `StoreError`."""
        body = await self._cluster.take_ticket(digest_of(ticket))
        if body is None:
            return None
        try:
            stored = decode(body, Ticket)
            credential = Credential(stored.principal, scopes_of(stored.scopes), stored.until)
        except (msgspec.MsgspecError, ValueError):  # of another version
            return None
        if stored.key:
            # of this node's own table, which says when it is revoked
            current = self._auth.by_key(stored.key) if isinstance(self._auth, Tokens) else None
            if (
                current is None
                or current.principal != stored.principal
                or not credential.scopes <= current.scopes
            ):
                return None
            credential = Credential(
                stored.principal, credential.scopes, stored.until, current.revoked, stored.key
            )
        return None if credential.why_over() is not None else credential
