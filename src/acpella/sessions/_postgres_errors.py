"""What an error of PostgreSQL means for a person, without the address that has the password in it."""

import asyncio
import os

import asyncpg

from ._postgres_address import PostgresAddress
from .store import StoreError, StoreUnavailable

__all__ = ["explain", "is_passing"]

_PASSING = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
    asyncpg.SerializationError,
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby, which may be promoted in a moment
    asyncpg.InternalClientError,  # the driver lost track of a connection that is being cut
    OSError,  # TimeoutError and all kinds of ConnectionError too
    asyncio.IncompleteReadError,
)


def is_passing(error: BaseException) -> bool:
    """Whether the same may work in a moment: the database restarts, or the connection was cut."""
    if isinstance(error, asyncpg.InterfaceError):
        return "closed" in str(error) or "in progress" in str(error)  # another way to say: cut
    return isinstance(error, _PASSING) and not isinstance(error, PermissionError)


def explain(address: PostgresAddress, error: BaseException) -> StoreError:
    """The same error for whoever must act. To be raised `from None`: a driver's error may quote too much."""
    where = address.where
    match error:
        case StoreError():
            return error
        case asyncpg.DiskFullError():
            return StoreError(
                f"the disk of {where} is full, and nothing was changed; free some space there and try again"
            )
        case asyncpg.InvalidAuthorizationSpecificationError():  # a wrong password too
            return StoreError(
                f"{where} refuses the user or the password; look at both in the address of the store"
            )
        case asyncpg.InvalidCatalogNameError():
            return StoreError(f"{where} does not exist; make it (createdb), or name another in the address")
        case asyncpg.InsufficientPrivilegeError():
            return StoreError(
                f"the user may not do this in {where}: {error.args[0]}; an administrator can run "
                f"CREATE SCHEMA {address.schema} AUTHORIZATION that user, or grant it rights on what is there"
            )
        case asyncpg.ReadOnlySQLTransactionError():
            return StoreUnavailable(
                f"{where} only allows reading; is it a standby? Name the primary in the address, or all "
                "hosts with ?target_session_attrs=read-write"
            )
        case asyncpg.ClientConfigurationError() | ValueError() if not isinstance(
            error, asyncpg.PostgresError
        ):
            return StoreError(
                f"the address of {where} has an option that PostgreSQL's driver does not take, "
                "or a value that cannot be stored"
            )
        case TimeoutError():
            return StoreUnavailable(f"{where} does not answer; look whether it runs and can be reached")
        case _ if is_passing(error):
            return StoreUnavailable(f"{where} cannot be reached: {_reason(error)}; look whether it runs")
        case _:
            return StoreError(f"{where}: {_reason(error)}")


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno).lower()
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
