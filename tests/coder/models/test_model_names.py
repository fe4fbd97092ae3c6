"""From names to models: keys and addresses from the environment, and errors that say what is missing (E8)."""

import asyncio
import socket

import pytest

from acpella.coder.models import ModelError, TextDelta
from acpella.coder.models.anthropic import AnthropicModel
from acpella.coder.models.model_names import available, default, discover, open_model
from acpella.coder.models.model_server import ModelLimits, ModelServer
from acpella.coder.models.offline import OfflineModel
from acpella.coder.models.openai import OpenAIModel
from coder.fake_provider import FakeProvider
from coder.models.asking import KEY, asked, joined

pytestmark = pytest.mark.anyio

NOBODY = "http://127.0.0.1:1"  # a port where nothing listens


async def test_without_a_key_there_is_the_offline_model() -> None:
    assert default({}) == "offline"
    assert available({}) == ["offline"]
    assert isinstance(open_model("offline", {}), OfflineModel)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"ANTHROPIC_API_KEY": KEY}, "anthropic:claude-sonnet-5"),
        ({"ANTHROPIC_AUTH_TOKEN": KEY}, "anthropic:claude-sonnet-5"),
        ({"OPENAI_API_KEY": KEY}, "openai:gpt-5.5"),
        ({"GEMINI_API_KEY": KEY}, "google:gemini-3.5-flash"),
        ({"GOOGLE_API_KEY": KEY}, "google:gemini-3.5-flash"),
        ({"OPENROUTER_API_KEY": KEY}, "openrouter:openrouter/auto"),
        ({"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}, "anthropic:claude-sonnet-5"),
        ({"ANTHROPIC_API_KEY": "  "}, "offline"),
        ({"ANTHROPIC_API_KEY": KEY, "ACPELLA_MODEL": "ollama:qwen3"}, "ollama:qwen3"),
        ({"ANTHROPIC_API_KEY": KEY, "ACPELLA_MODEL": "offline"}, "offline"),
        ({"ACPELLA_MODEL": " claude-opus-5 "}, "anthropic:claude-opus-5"),
        ({"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "ACPELLA_MODELS": "openai:*"}, "openai:gpt-5.5"),
    ],
)
async def test_the_default_is_the_first_that_can_be_used(environment: dict[str, str], expected: str) -> None:
    assert default(environment) == expected


async def test_the_allow_list_names_models_and_patterns() -> None:
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY}
    allowed = {**keys, "ACPELLA_MODELS": "anthropic:*opus*, openai:my-own google:gemini-x, ollama:qwen3"}
    assert available(allowed) == ["openai:my-own", "ollama:qwen3", "anthropic:claude-opus-5", "offline"]
    assert open_model("anthropic:claude-opus-4-1", allowed).name == "anthropic:claude-opus-4-1"
    with pytest.raises(ModelError, match="not among those that ACPELLA_MODELS allows"):
        open_model("openai:gpt-5.5", allowed)
    assert open_model("offline", allowed).name == "offline"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("anthropic:x", "Anthropic needs a key: set ANTHROPIC_API_KEY"),
        ("openai:x", "OpenAI needs a key: set OPENAI_API_KEY"),
        ("google:x", "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("openrouter:a/b", "set OPENROUTER_API_KEY"),
        ("compatible:x", "set ACPELLA_COMPATIBLE_BASE_URL to the address"),
        ("nobody:x", "names no model; write one of: offline, anthropic:MODEL"),
        ("anthropic:", "names no model"),
        ("anthropic", "names no model"),
        ("pydantic:", "names no model"),
        ("", "names no model"),
    ],
)
async def test_what_is_missing_is_named(name: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        open_model(name, {})


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"OPENAI_BASE_URL": "ftp://x"}, "must be http"),
        ({"OPENAI_BASE_URL": "nonsense"}, "must be http"),
        ({"OPENAI_BASE_URL": "http://[::1"}, "must be http"),
        ({"OPENAI_BASE_URL": "http://x:99999/"}, "must be http"),
        ({"OPENAI_BASE_URL": f"https://me:{KEY}@host/v1"}, "holds a password; use OPENAI_API_KEY"),
        ({"OPENAI_API_KEY": f"{KEY}\nx"}, "OPENAI_API_KEY holds characters that no key has"),
        ({"OPENAI_API_KEY": f"{KEY}ü"}, "OPENAI_API_KEY holds characters that no key has"),
        ({"ACPELLA_CONTEXT_WINDOW": "many"}, "ACPELLA_CONTEXT_WINDOW must be a number"),
    ],
)
async def test_a_bad_setting_is_named_without_its_secret(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        open_model("openai:x", {"OPENAI_API_KEY": KEY, **environment})
    assert KEY[:8] not in str(caught.value)


async def test_models_are_of_the_right_kind() -> None:
    keys = {"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": KEY, "OPENROUTER_API_KEY": KEY, "GEMINI_API_KEY": KEY}
    assert isinstance(open_model("anthropic:claude-sonnet-5", keys), AnthropicModel)
    for name in (
        "openai:gpt-5.5",
        "openrouter:a/b",
        "google:gemini-3.5-flash",
        "ollama:qwen3:8b",
        "lmstudio:x",
    ):
        model = open_model(name, keys)
        assert isinstance(model, OpenAIModel)
        assert model.name == name


@pytest.mark.parametrize(
    ("name", "window", "accepts"),
    [
        ("anthropic:claude-sonnet-5", 200_000, {"image"}),
        ("openai:gpt-4o", 128_000, {"image"}),
        ("openai:gpt-4.1-mini", 1_000_000, {"image"}),
        ("google:gemini-3.5-flash", 1_000_000, {"image", "audio"}),
        ("compatible:my-own-model", 32_768, set[str]()),
        ("ollama:qwen3:8b", 16_384, set[str]()),
        ("ollama:llava", 16_384, {"image"}),
        ("openrouter:anthropic/claude-opus-5", 200_000, {"image"}),
    ],
)
async def test_families_are_known(name: str, window: int, accepts: set[str]) -> None:
    environment = dict.fromkeys(
        ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"), KEY
    )
    model = open_model(name, {**environment, "ACPELLA_COMPATIBLE_BASE_URL": NOBODY})
    assert (model.context_window, model.accepts) == (window, accepts)


async def test_the_window_can_be_set() -> None:
    assert open_model("ollama:x", {"OLLAMA_CONTEXT_LENGTH": "65536"}).context_window == 65_536
    both = {"OLLAMA_CONTEXT_LENGTH": "65536", "ACPELLA_CONTEXT_WINDOW": "40000"}
    assert open_model("ollama:x", both).context_window == 40_000


@pytest.mark.parametrize(
    "form",
    [
        "{host}:{port}",
        "http://{host}:{port}",
        "http://{host}:{port}/",
        "{host}:{port}/v1",
        ":{port}",
        "0.0.0.0:{port}",
    ],
)
async def test_every_form_of_ollama_host_is_understood(form: str) -> None:
    async with FakeProvider(["ok"]) as fake:
        port = fake.url.rpartition(":")[2]
        model = open_model("ollama:qwen3", {"OLLAMA_HOST": form.format(host="127.0.0.1", port=port)})
        assert joined(await asked(model), TextDelta) == "ok"
        assert fake.requests[0].path == "/v1/chat/completions"
        assert "authorization" not in fake.requests[0].headers


async def test_ollama_that_is_not_running_is_told_at_once() -> None:
    with pytest.raises(
        ModelError, match=r"Ollama cannot be reached at 127.0.0.1:1\. Start it with `ollama serve`"
    ):
        await asked(open_model("ollama:qwen3", {"OLLAMA_HOST": NOBODY}))


@pytest.mark.parametrize("suffix", ["", "/", "/v1"])
async def test_a_base_url_of_anthropic_may_hold_the_version(suffix: str) -> None:
    async with FakeProvider(["ok"]) as fake:
        environment = {"ANTHROPIC_AUTH_TOKEN": KEY, "ANTHROPIC_BASE_URL": fake.url + suffix}
        await asked(open_model("anthropic:x", environment))
        assert fake.requests[0].path == "/v1/messages"
        assert fake.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert "x-api-key" not in fake.requests[0].headers


async def test_a_wrong_base_url_is_told() -> None:
    async with FakeProvider([]) as fake:
        model = open_model("compatible:x", {"ACPELLA_COMPATIBLE_BASE_URL": f"{fake.url}/wrong"})
        fake.turns = [{"body": "<html>hello</html>", "type": "text/html"}]
        with pytest.raises(ModelError, match="is not the API of the OpenAI-compatible server"):
            await asked(model)


async def test_a_connection_that_cannot_be_secured_is_told_at_once() -> None:
    """A server without TLS behind https://; a certificate that is not trusted is told in the same way."""

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        with pytest.raises(ModelError, match=r"no secure connection to .*SSL.* Check the base URL, or name"):
            await asked(open_model("compatible:x", {"ACPELLA_COMPATIBLE_BASE_URL": url}))


async def test_a_server_that_cannot_be_found_is_tried_again_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    environment = {"ACPELLA_COMPATIBLE_BASE_URL": "http://models.invalid/v1"}
    model = open_model("compatible:x", environment, limits=ModelLimits(attempts=2, backoff=0.01))
    with pytest.raises(
        ModelError, match=r"in 2 attempts \(models.invalid cannot be reached\). Is this machine online"
    ):
        await asked(model)


async def test_no_proxy_stands_between_this_machine_and_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, NOBODY)
    async with FakeProvider(["ok"], models=["m"]) as fake:
        assert joined(await asked(open_model("ollama:x", {"OLLAMA_HOST": fake.url})), TextDelta) == "ok"
        assert "ollama:m" in await discover({"OLLAMA_HOST": fake.url})


async def test_a_proxy_of_the_environment_is_used_for_the_world(monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeProvider(["ok"]) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        model = open_model("compatible:x", {"ACPELLA_COMPATIBLE_BASE_URL": "http://models.invalid/v1"})
        assert joined(await asked(model), TextDelta) == "ok"
        assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"


async def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    model = open_model("compatible:x", {"ACPELLA_COMPATIBLE_BASE_URL": "http://models.invalid/v1"})
    with pytest.raises(ModelError, match="the proxy named in the environment cannot be used"):
        await asked(model)


def test_keys_of_any_shape_are_taken_out_of_words() -> None:
    """R-052: also short ones without a known beginning, and as they stand in a URL."""
    server = ModelServer("http://127.0.0.1:1", "m", provider="P", headers={}, secrets=("hunter2+/x", "none"))
    assert server.errors.clean("bad hunter2+/x here, see /?q=hunter2%2B%2Fx") == "bad *** here, see ***"
    assert server.errors.clean("none of this") == "none of this"  # a stand-in for a key is no secret


# -- asking servers for their models --------------------------------------------------------------------


async def test_servers_are_asked_for_their_models() -> None:
    async with FakeProvider(models=["qwen3:8b", "llama3.2"]) as fake:
        found = await discover({"OLLAMA_HOST": fake.url, "LMSTUDIO_BASE_URL": NOBODY})
    assert found == ["ollama:qwen3:8b", "ollama:llama3.2", "offline"]


async def test_discovery_keeps_to_the_allow_list() -> None:
    async with FakeProvider(models=["a", "b"]) as fake:
        environment = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": fake.url, "LMSTUDIO_BASE_URL": NOBODY}
        found = await discover({**environment, "OLLAMA_HOST": NOBODY, "ACPELLA_MODELS": "anthropic:b"})
        assert fake.requests[0].path == "/v1/models"
        assert fake.requests[0].headers["x-api-key"] == KEY
    assert found == ["anthropic:b", "offline"]


async def test_discovery_does_not_wait_for_a_silent_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acpella.coder.models.model_names.DISCOVERY_TIME", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        async with asyncio.timeout(60):
            assert await discover({"OLLAMA_HOST": url, "LMSTUDIO_BASE_URL": "nonsense"}) == ["offline"]
