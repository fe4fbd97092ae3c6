"""`AdaptedAgent`: an ACP agent whose prompts a framework's agent answers."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from acpella.agent import Agent, Select, Session, Turn
from acpella.errors import InternalError
from acpella.mcp import SessionServers, transports

from .detect import find_adapter, frameworks
from .failures import turn_failure
from .interface import Adapter, Conversation, Declared
from .permissions import MODES, PermissionKey
from .present import Presentation
from .turn import MEMORY, AdaptedTurn, TurnOptions

__all__ = ["AdaptedAgent", "cannot_adapt"]

log: logging.Logger = logging.getLogger(__name__)


class AdaptedAgent(Agent):
    """What `adapt` returns: an `Agent` like any other. Commands, hooks and logins can be added to it."""

    def __init__(
        self,
        target: Any,
        adapter: Adapter | None,
        *,
        models: Sequence[str] | Mapping[str, Any] = (),
        present: Mapping[str, Presentation] | None = None,
        permission_key: PermissionKey | None = None,
        editor_tools: bool = False,
        framework_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """If `adapter` is None, `target` is a function that makes an agent for each session."""
        declared = Declared() if adapter is None else adapter.declare(target)
        table = dict(models) if isinstance(models, Mapping) else {name: name for name in models}
        if table:
            model = Select("model", "Model", list(table), category="model")
            options["options"] = [*options.get("options", ()), model]
        if adapter is None or adapter.approvals:
            options.setdefault("modes", MODES)
        options = {
            "name": declared.name,
            "images": declared.images,
            "audio": declared.audio,
            "store": "sqlite",
            "mcp": transports(),
            **options,
        }
        super().__init__(**options)
        self._target = target
        self._adapter = adapter
        self._framework_options = dict(framework_options or {})
        self._turn_options: dict[str, Any] = {
            "present": present or {},
            "permission_key": permission_key,
            "editor_tools": editor_tools,
            "models": table,
        }
        self._conversations: dict[str, tuple[Conversation, str]] = {}
        self._servers = SessionServers(self)
        self.on_prompt(self._reply)
        self.on_session(self._servers.open)
        self.on_close(self._close_session)

    async def forget(self, session: Session) -> None:
        """Start over: the framework's agent forgets this session."""
        session.state.pop(MEMORY, None)
        await self._close_conversation(session)

    async def _reply(self, turn: Turn) -> None:
        conversation, framework = await self._conversation(turn.session)
        options = TurnOptions(framework=framework, **self._turn_options)
        servers = self._servers.of(turn.session) if turn.session.mcp_servers else None
        try:
            await conversation.reply(AdaptedTurn(turn, options, servers))
        except Exception as error:
            failure = turn_failure(error, framework)
            raise failure if failure is error else failure from error

    async def _conversation(self, session: Session) -> tuple[Conversation, str]:
        entry = self._conversations.get(session.id)
        if entry is None:
            target, adapter = self._target, self._adapter
            if adapter is None:
                target, adapter = await _made(target, session)
            conversation = adapter.open(target, session, self._framework_options)
            entry = self._conversations[session.id] = conversation, adapter.name
        return entry

    async def _close_session(self, session: Session) -> None:
        await asyncio.gather(self._servers.close(session), self._close_conversation(session))

    async def _close_conversation(self, session: Session) -> None:
        entry = self._conversations.pop(session.id, None)
        if entry is not None:
            try:
                await entry[0].close()
            except Exception:
                log.exception("closing a conversation of %s failed", entry[1])


async def _made(factory: Callable[..., Any], session: Session) -> tuple[Any, Adapter]:
    """What a factory makes for a session, and its adapter."""
    agent = factory(session) if inspect.signature(factory).parameters else factory()
    if inspect.isawaitable(agent):
        agent = await agent
    adapter = find_adapter(agent)
    if adapter is None:
        name = getattr(factory, "__name__", "the factory")
        raise InternalError(f"{name} made a {type(agent).__name__}, for which there is no adapter")
    return agent, adapter


def cannot_adapt(target: object) -> TypeError:
    """The error for an object that no adapter takes."""
    kind = type(target)
    return TypeError(
        f"acpella has no adapter for {kind.__module__}.{kind.__qualname__}. It knows agents of "
        f"{', '.join(frameworks())}. For anything else, a generator is an agent:\n\n"
        "    async def reply(turn):\n"
        "        async for piece in my_agent.stream(turn.text):   # whatever yours is called\n"
        "            yield piece\n\n"
        "    acpella.run(reply)\n"
    )
