"""Modes, options and commands."""

from typing import Any

from acpella.check.conversation import CheckedConversation, CheckedFrame, as_list, as_object
from acpella.check.link import Failed, NotOffered
from acpella.check.probe import Probe
from acpella.check.requirement import OK, Area, Verdict
from acpella.check.shapes import declare_answer, declare_update
from acpella.schema import methods as m

__all__ = ["COMMANDS", "MODES", "OPTIONS"]

MODES = Area("modes", "agent", "Modes", page="session-modes")
OPTIONS = Area("options", "agent", "Options", page="session-config-options")
COMMANDS = Area("commands", "agent", "Commands", page="slash-commands")
SETUP = ("answer session/new", "answer session/load", "answer session/resume", "answer session/fork")
OPTION_LISTS = (*SETUP, "answer session/set_config_option", "update config_option_update")

declare_answer(MODES, "set", m.SET_MODE, rule="R-300", level="capability")
declare_update(MODES, "current_mode_update", rule="R-300")
declare_answer(OPTIONS, "set", m.SET_CONFIG_OPTION, rule="R-304", level="capability")
declare_update(OPTIONS, "config_option_update", rule="R-304")
declare_update(COMMANDS, "available_commands_update", rule="R-310")

# -- modes -------------------------------------------------------------------------------------


def _modes(frame: CheckedFrame) -> dict[str, Any] | None:
    modes = as_object(frame.result).get("modes")
    return as_object(modes) if isinstance(modes, dict) else None


@MODES.audit("current", rule="R-300", level="capability", on=SETUP, tck="ACP-MODES-001")
def current_mode(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The current mode of a session is one of its modes."""
    modes = _modes(frame)
    if modes is None:
        return None
    ids = [as_object(mode).get("id") for mode in as_list(modes.get("availableModes"))]
    current = modes.get("currentModeId")
    return OK if current in ids else f"the current mode is {current!r}, and the modes are {ids}"


@MODES.audit("unique", rule="R-300", level="capability", on=SETUP)
def unique_modes(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Each mode has an id of its own."""
    modes = _modes(frame)
    if modes is None:
        return None
    ids = [as_object(mode).get("id") for mode in as_list(modes.get("availableModes"))]
    twice = [id for id in ids if ids.count(id) > 1]
    return f"two modes have the id {twice[0]!r}" if twice else OK


@MODES.audit("update-known", rule="R-300", level="capability", on=("update current_mode_update",))
def update_known(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """A change of the mode names one of the session's modes."""
    session, id = talk.session_of(frame), frame.update.get("currentModeId")
    if session is None or session.modes is None:
        return None
    return OK if id in session.mode_ids else f"the new mode is {id!r}, and the modes are {session.mode_ids}"


@MODES.scenario("set", rule="R-300", level="capability", tck="ACP-MODES-002")
async def set_mode(probe: Probe) -> None:
    """Each mode that is offered can be chosen."""
    session = await probe.new_session()
    for mode in as_list(probe.modes_of(session).get("availableModes"))[:10]:
        id = as_object(mode).get("id")
        reply = await probe.link.call("session/set_mode", {"sessionId": session, "modeId": id})
        if reply.is_error:
            raise Failed(f"the mode {id!r} cannot be chosen", reply.request, reply)


@MODES.scenario("unknown", rule="R-300", level="should")
async def unknown_mode(probe: Probe) -> None:
    """A mode that is not offered is refused."""
    session = await probe.new_session()
    probe.modes_of(session)
    params = {"sessionId": session, "modeId": "acpella-does-not-exist"}
    reply = await probe.link.call("session/set_mode", params)
    if not reply.is_error:
        raise Failed("a mode that does not exist was chosen", reply.request, reply)


# -- options -----------------------------------------------------------------------------------


def _options(frame: CheckedFrame) -> list[dict[str, Any]]:
    source = frame.update if frame.kind == "notification" else as_object(frame.result)
    return [as_object(option) for option in as_list(source.get("configOptions"))]


def _values(option: dict[str, Any]) -> list[Any]:
    """The values of an option, whose list may be flat or grouped."""
    values: list[Any] = []
    for entry in map(as_object, as_list(option.get("options"))):
        if "value" in entry:
            values.append(entry["value"])
        values += [as_object(item).get("value") for item in as_list(entry.get("options"))]
    return values


@OPTIONS.audit("unique", rule="R-304", level="capability", on=OPTION_LISTS)
def unique_options(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Each option has an id of its own."""
    ids = [option.get("id") for option in _options(frame)]
    twice = [id for id in ids if ids.count(id) > 1]
    return f"two options have the id {twice[0]!r}" if twice else (OK if ids else None)


@OPTIONS.audit("current", rule="R-303", level="capability", on=OPTION_LISTS, tck="ACP-CONFIG-001")
def current_value(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The value of an option is one of those that it offers."""
    options = [option for option in _options(frame) if option.get("type") == "select"]
    for option in options:
        if option.get("currentValue") not in _values(option):
            return (
                f"the option {option.get('id')!r} is {option.get('currentValue')!r}, which it does not offer"
            )
    return OK if options else None


@OPTIONS.audit("boolean-gate", rule="R-302", level="must", on=(*OPTION_LISTS, "answer session/prompt"),
               tck="ACP-CONFIG-003")  # fmt: skip
def boolean_gate(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Options that are on or off are shown only to clients that announced them."""
    if talk.client_can("session.configOptions.boolean"):
        return None
    boolean_ids = [option.get("id") for option in _options(frame) if option.get("type") == "boolean"]
    return (
        f"the option {boolean_ids[0]!r} is boolean, which the client did not announce" if boolean_ids else OK
    )


@OPTIONS.audit("mode-in-sync", rule="R-301", level="should", on=SETUP, page="session-config-options")
def in_sync(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """An agent with modes offers them as an option, too, and both have the same value."""
    modes, options = _modes(frame), _options(frame)
    if not modes or not options:
        return None
    mode = [option for option in options if option.get("category") == "mode"]
    if not mode:
        return "there are modes and options, and no option has the category mode"
    current, value = modes.get("currentModeId"), mode[0].get("currentValue")
    return OK if current == value else f"the mode is {current!r}, and the option for it is {value!r}"


async def _choice(probe: Probe) -> tuple[str, dict[str, Any], Any]:
    """A session, one of its options, and a value other than the current one."""
    session = await probe.new_session()
    for option in probe.options_of(session):
        if option.get("type") == "select":
            others = [value for value in _values(option) if value != option.get("currentValue")]
            if others:
                return session, option, others[0]
    raise NotOffered("no option has a second value")


async def _set(probe: Probe, session: str, id: Any, value: Any) -> CheckedFrame:
    params = {"sessionId": session, "configId": id, "value": value}
    return await probe.link.call("session/set_config_option", params)


@OPTIONS.scenario("set", rule="R-304", level="capability", tck="ACP-CONFIG-002")
async def set_option(probe: Probe) -> None:
    """An option that is set has the new value in the answer."""
    session, option, value = await _choice(probe)
    reply = await _set(probe, session, option.get("id"), value)
    now = [o.get("currentValue") for o in _options(reply) if o.get("id") == option.get("id")]
    if reply.is_error or now != [value]:
        raise Failed(
            f"the option {option.get('id')!r} was set to {value!r} and is {now}", reply.request, reply
        )


@OPTIONS.scenario("complete", rule="R-304", level="capability", tck="ACP-CONFIG-002")
async def complete(probe: Probe) -> None:
    """Setting an option is answered with all options, not with the changed one alone."""
    session, option, value = await _choice(probe)
    before = {o.get("id") for o in probe.options_of(session)}
    reply = await _set(probe, session, option.get("id"), value)
    if reply.is_error:
        raise Failed("an option could not be set", reply.request, reply)
    after = {o.get("id") for o in _options(reply)}
    if len(before) > 1 and after == {option.get("id")}:
        raise Failed("the answer holds only the option that was set", reply.request, reply)
    if not after:
        raise Failed("the answer holds no options", reply.request, reply)


@OPTIONS.scenario("wrong-value", rule="R-307", level="should")
async def wrong_value(probe: Probe) -> None:
    """A value that an option does not offer is refused."""
    session, option, _ = await _choice(probe)
    reply = await _set(probe, session, option.get("id"), "acpella-does-not-exist")
    if not reply.is_error:
        raise Failed("a value that is not offered was accepted", reply.request, reply)


@OPTIONS.scenario("unknown", rule="R-307", level="should")
async def unknown_option(probe: Probe) -> None:
    """An option that does not exist is refused."""
    session, _, value = await _choice(probe)
    reply = await _set(probe, session, "acpella-does-not-exist", value)
    if not reply.is_error:
        raise Failed("an option that does not exist was set", reply.request, reply)


@OPTIONS.scenario("ignored", rule="R-303", level="capability")
async def ignored(probe: Probe) -> None:
    """The agent works if the client ignores its options."""
    session = await probe.new_session()
    probe.options_of(session)
    await probe.hello(session)


# -- commands ----------------------------------------------------------------------------------


@COMMANDS.audit("no-slash", rule="R-310", level="should", on=("update available_commands_update",))
def no_slash(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """The name of a command does not begin with a slash."""
    names = [as_object(c).get("name") for c in as_list(frame.update.get("availableCommands"))]
    bad = [name for name in names if isinstance(name, str) and name.startswith("/")]
    return f"a command is named {bad[0]!r}" if bad else (OK if names else None)


@COMMANDS.audit("unique", rule="R-310", level="should", on=("update available_commands_update",))
def unique_commands(frame: CheckedFrame, talk: CheckedConversation) -> Verdict:
    """Each command has a name of its own."""
    names = [as_object(c).get("name") for c in as_list(frame.update.get("availableCommands"))]
    twice = [name for name in names if names.count(name) > 1]
    return f"two commands are named {twice[0]!r}" if twice else (OK if names else None)
