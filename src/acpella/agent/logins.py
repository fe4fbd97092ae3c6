"""Who is logged in, and how that changes."""

import msgspec

from acpella.errors import AuthRequired, InvalidParams

from .declare import EnvLogin, TerminalLogin
from .definition import Definition
from .editor import Editor
from .operations import LogIn

__all__ = ["Logins"]


class Logins:
    """The logins of an agent, for all its connections."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition
        self._logged_in: dict[str, bool] = {}  # by user: who has logged in or out

    async def check(self, editor: Editor) -> None:
        """Raises `AuthRequired` until the user of this editor is logged in (R-051)."""
        if self._definition.logins and not await self.is_logged_in(editor.principal):
            ways = [msgspec.to_builtins(method) for method in editor.codec.auth_methods()]
            raise AuthRequired(data={"authMethods": ways})

    async def is_logged_in(self, principal: str) -> bool:
        if "logged_in" in self._definition.hooks:
            return bool(await self._definition.call_hook("logged_in"))
        remembered = self._logged_in.get(principal)
        if remembered is None:
            return any(isinstance(login, EnvLogin) and not login.missing for login in self._definition.logins)
        return remembered

    async def log_in(self, request: LogIn, principal: str) -> None:
        """Raises `AuthRequired` if it failed, `InvalidParams` for a login that is not done here."""
        logins = self._definition.logins
        login = next((login for login in logins if login.id == request.login_id), None)
        if login is None:
            login_ids = ", ".join(login.id for login in logins)
            raise InvalidParams(f"no login {request.login_id!r}; there are: {login_ids}")
        if isinstance(login, TerminalLogin):
            raise InvalidParams(f"the login {login.id!r} happens in a terminal")
        if await self.is_logged_in(principal):
            return
        if isinstance(login, EnvLogin):
            missing = login.missing
            if missing:
                raise AuthRequired(f"start the agent with {', '.join(missing)} set")
        else:
            await login.run()
        self._logged_in[principal] = True

    async def log_out(self, principal: str) -> None:
        self._logged_in[principal] = False
        await self._definition.call_hook("logout")
