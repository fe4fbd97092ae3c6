"""From what a user names to a model. Keys and addresses come from the environment, keys also from a login."""

import asyncio
import fnmatch
import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpella._plain_json import as_dict, as_list, as_str

from ..keys import environment_with_keys
from . import families
from .base import Model, ModelError
from .model_server import ModelLimits, ModelServer, is_loopback, ssl_context

__all__ = ["available", "default", "discover", "key_variables", "open_model"]

DISCOVERY_TIME = 3.0
"""Seconds for a server to say which models it has; a list of options does not wait longer."""

MAX_DISCOVERED = 200
"""Models of one server; an aggregator has thousands, which no menu can show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Provider:
    title: str
    url: str
    keys: tuple[str, ...] = ()
    """Variables that may hold its key; the first that is set counts."""
    url_variables: tuple[str, ...] = ()
    needs_key: bool = True
    not_running: str = ""
    models: tuple[str, ...] = ()
    """Good ones, the default first. Any other name works too."""


_PROVIDERS = {
    "anthropic": _Provider(
        title="Anthropic",
        url="https://api.anthropic.com",
        keys=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        url_variables=("ANTHROPIC_BASE_URL",),
        models=("claude-sonnet-5", "claude-opus-5", "claude-haiku-4-5"),
    ),
    "openai": _Provider(
        title="OpenAI",
        url="https://api.openai.com/v1",
        keys=("OPENAI_API_KEY",),
        url_variables=("OPENAI_BASE_URL",),
        models=("gpt-5.5", "gpt-5-mini", "gpt-4.1"),
    ),
    "google": _Provider(
        title="Google",
        url="https://generativelanguage.googleapis.com/v1beta/openai",
        keys=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        url_variables=("GEMINI_BASE_URL",),
        models=("gemini-3.5-flash", "gemini-2.5-pro", "gemini-2.5-flash"),
    ),
    "openrouter": _Provider(
        title="OpenRouter",
        url="https://openrouter.ai/api/v1",
        keys=("OPENROUTER_API_KEY",),
        url_variables=("OPENROUTER_BASE_URL",),
        models=("openrouter/auto",),
    ),
    "ollama": _Provider(
        title="Ollama",
        url="http://127.0.0.1:11434/v1",
        keys=("OLLAMA_API_KEY",),
        url_variables=("OLLAMA_HOST",),
        needs_key=False,
        not_running="Start it with `ollama serve`, or set OLLAMA_HOST.",
    ),
    "lmstudio": _Provider(
        title="LM Studio",
        url="http://127.0.0.1:1234/v1",
        keys=("LMSTUDIO_API_KEY",),
        url_variables=("LMSTUDIO_BASE_URL",),
        needs_key=False,
        not_running="Start its server (Developer tab, or `lms server start`), or set LMSTUDIO_BASE_URL.",
    ),
    "compatible": _Provider(
        title="the OpenAI-compatible server",
        url="",
        keys=("ACPELLA_COMPATIBLE_API_KEY",),
        url_variables=("ACPELLA_COMPATIBLE_BASE_URL",),
        needs_key=False,
        not_running="Start it, or correct ACPELLA_COMPATIBLE_BASE_URL.",
    ),
}

_WINDOW_VARIABLE = "ACPELLA_CONTEXT_WINDOW"
_OLLAMA_WINDOW = 16_384

_FORMS = "offline, " + ", ".join(f"{name}:MODEL" for name in _PROVIDERS) + ", pydantic:PROVIDER:MODEL"


def open_model(
    name: str, environment: Mapping[str, str] | None = None, *, limits: ModelLimits | None = None
) -> Model:
    """The model of that name, ready to be asked. Nothing is sent before.

    Raises:
        ModelError: no such provider, no key, not allowed by ACPELLA_MODELS; says which variable to set.
    """
    env = environment_with_keys() if environment is None else environment
    name = _full(name)
    provider, _, model = name.partition(":")
    if not _allowed(name, env):
        raise ModelError(f"the model {name!r} is not among those that ACPELLA_MODELS allows")
    if name == "offline":
        from .offline import OfflineModel

        return OfflineModel()
    if provider == "pydantic" and model:
        from .pydantic import PydanticModel

        return PydanticModel(model, context_window=_window(model, provider, env))
    if provider not in _PROVIDERS or not model:
        raise ModelError(f"{name!r} names no model; write one of: {_FORMS}")
    facts = _PROVIDERS[provider]
    variable, key = _key(facts, env)
    if facts.needs_key and not key:
        raise ModelError(
            f"{facts.title} needs a key: set {' or '.join(facts.keys)} in the environment, or store it with "
            "`acpella agent --login`. (ACPELLA_MODEL=offline works without any.)"
        )
    url = _base_url(provider, env)
    if not url:
        raise ModelError(
            f"set {' or '.join(facts.url_variables)} to the address of the server, such as http://host/v1"
        )
    server = ModelServer(
        url + ("/v1/messages" if provider == "anthropic" else "/chat/completions"),
        model,
        provider=facts.title,
        headers=_headers(provider, variable, key),
        secrets=(key,) if key else (),
        key_variable=variable or next(iter(facts.keys), ""),
        not_running=facts.not_running,
        limits=limits,
    )
    window = _window(model, provider, env)
    if provider == "anthropic":
        from .anthropic import AnthropicModel

        return AnthropicModel(name, server, context_window=window)
    from .openai import OpenAIModel

    return OpenAIModel(
        name,
        server,
        context_window=window,
        accepts=families.accepts(model),
        completion_tokens=provider == "openai" and url == facts.url,
        google=provider == "google",
    )


def default(environment: Mapping[str, str] | None = None) -> str:
    """The model to use when none is named: ACPELLA_MODEL, else the first that `available` lists."""
    env = environment_with_keys() if environment is None else environment
    if model := env.get("ACPELLA_MODEL", "").strip():
        return _full(model)
    return available(env)[0]


def available(environment: Mapping[str, str] | None = None) -> list[str]:
    """Names of models that could be used now, best first, "offline" last. Looks at the environment only.

    ACPELLA_MODELS, names or patterns with `*` and commas between, says which of them may be used. Servers
    are not asked for theirs here: `discover` does that.
    """
    env = environment_with_keys() if environment is None else environment
    names: list[str] = []
    if default_model := env.get("ACPELLA_MODEL", "").strip():
        names.append(_full(default_model))
    names += [pattern for pattern in _patterns(env) if not re.search(r"[*?\[]", pattern)]
    for provider, facts in _PROVIDERS.items():
        names += [f"{provider}:{model}" for model in facts.models]
    usable = [name for name in names if _usable(name, env) and _allowed(name, env)]
    return list(dict.fromkeys([*(name for name in usable if name != "offline"), "offline"]))


def key_variables() -> dict[str, str]:
    """The providers that need a key, and the variable that holds it."""
    return {provider.title: provider.keys[0] for provider in _PROVIDERS.values() if provider.needs_key}


async def discover(environment: Mapping[str, str] | None = None) -> list[str]:
    """`available`, and what the servers that can be reached say that they have. Never fails, never long."""
    env = environment_with_keys() if environment is None else environment
    providers = [name for name in _PROVIDERS if _usable(f"{name}:", env) or name in ("ollama", "lmstudio")]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_models_of(name, env)) for name in providers]
    names = [name for task in tasks for name in task.result() if _allowed(name, env)]
    return list(dict.fromkeys([*available(env)[:-1], *names, "offline"]))


async def _models_of(provider: str, env: Mapping[str, str]) -> list[str]:
    import httpx2

    facts = _PROVIDERS[provider]
    url = _base_url(provider, env) + ("/v1/models" if provider == "anthropic" else "/models")
    headers = _headers(provider, *_key(facts, env))
    try:
        async with (
            asyncio.timeout(DISCOVERY_TIME),
            httpx2.AsyncClient(
                verify=await ssl_context(url), trust_env=not is_loopback(url), timeout=DISCOVERY_TIME
            ) as client,
        ):
            answer: Any = (await client.get(url, headers=headers)).raise_for_status().json()
    except (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError, ValueError, ImportError):
        return []  # not running, no such list, wrong key: it will be told when the model is used
    ids = [as_str(as_dict(entry).get("id")) for entry in as_list(as_dict(answer).get("data"))]
    return [f"{provider}:{id.removeprefix('models/')}" for id in ids if id and id.isprintable()][
        :MAX_DISCOVERED
    ]


# -- the environment ------------------------------------------------------------------------------


def _full(name: str) -> str:
    """Models that everybody knows may be named without their provider."""
    name = name.strip()
    if ":" not in name:
        for start, provider in (("claude-", "anthropic"), ("gpt-", "openai"), ("gemini-", "google")):
            if name.startswith(start):
                return f"{provider}:{name}"
    return name


def _patterns(env: Mapping[str, str]) -> list[str]:
    return [_full(name) for name in re.split(r"[,\s]+", env.get("ACPELLA_MODELS", "")) if name]


def _allowed(name: str, env: Mapping[str, str]) -> bool:
    patterns = _patterns(env)
    return (
        name == "offline" or not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
    )


def _usable(name: str, env: Mapping[str, str]) -> bool:
    provider, _, _ = name.partition(":")
    if name == "offline":
        return True
    if provider == "pydantic":
        return importlib.util.find_spec("pydantic_ai") is not None
    facts = _PROVIDERS.get(provider)
    if facts is None or not _base_url(provider, env):
        return False
    return not facts.needs_key or bool(_key(facts, env)[1])


def _key(provider: _Provider, env: Mapping[str, str]) -> tuple[str, str]:
    """The variable that holds the key, and the key."""
    return next(((name, value) for name in provider.keys if (value := env.get(name, "").strip())), ("", ""))


def _headers(provider: str, variable: str, key: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    if provider == "anthropic":
        from .anthropic import VERSION

        headers["anthropic-version"] = VERSION
        if variable == "ANTHROPIC_API_KEY":
            headers["x-api-key"] = key
            return headers
    if key:
        headers["authorization"] = f"Bearer {key}"
    return headers


def _base_url(provider: str, env: Mapping[str, str]) -> str:
    facts = _PROVIDERS[provider]
    url = next((value for name in facts.url_variables if (value := env.get(name, "").strip())), facts.url)
    url = url.rstrip("/")
    if provider == "ollama" and url != facts.url:
        return _ollama_url(url)
    if provider == "anthropic":
        url = url.removesuffix("/v1")
    return url


def _ollama_url(host: str) -> str:
    """OLLAMA_HOST is the server's variable too: without scheme or port, or 0.0.0.0 for everywhere."""
    url = host if "://" in host else f"http://{host}"
    scheme, _, rest = url.partition("://")
    place, slash, path = rest.partition("/")
    if place.startswith(":"):
        place = "127.0.0.1" + place
    if not re.search(r":\d+$", place):
        place += ":443" if scheme == "https" else ":11434"
    place = re.sub(r"^0\.0\.0\.0:", "127.0.0.1:", place)
    url = f"{scheme}://{place}{slash}{path}"
    return url if url.endswith("/v1") else f"{url}/v1"


def _window(model: str, provider: str, env: Mapping[str, str]) -> int:
    for variable in (_WINDOW_VARIABLE, *(("OLLAMA_CONTEXT_LENGTH",) if provider == "ollama" else ())):
        if text := env.get(variable, "").strip():
            if not text.isdecimal() or int(text) < 1024:
                raise ModelError(f"{variable} must be a number of tokens, at least 1024, not {text!r}")
            return int(text)
    if provider == "ollama":  # what the server was started with counts, not what the model could
        return min(_OLLAMA_WINDOW, families.context_window(model))
    return families.context_window(model)
