"""Where the agent gets its models from (unstable)."""

from typing import Literal, TypeAlias

from ._wire import Lenient, Meta, Strict, Wire, field

__all__ = [
    "DisableProviderRequest",
    "DisableProviderResponse",
    "ListProvidersRequest",
    "ListProvidersResponse",
    "LlmProtocol",
    "ProviderCurrentConfig",
    "ProviderId",
    "ProviderInfo",
    "ProvidersCapabilities",
    "SetProviderRequest",
    "SetProviderResponse",
]

ProviderId: TypeAlias = str
LlmProtocol: TypeAlias = Literal["anthropic", "openai", "azure", "vertex", "bedrock"] | str


class ProvidersCapabilities(Wire, frozen=True, kw_only=True):
    """The client may configure the agent's providers."""

    meta: Meta | None = field(default=None, name="_meta")


class ProviderCurrentConfig(Wire, frozen=True, kw_only=True):
    """How a provider is reached now."""

    api_type: LlmProtocol
    """Which API the agent speaks with the provider, such as `anthropic` or `openai`."""
    base_url: str
    """The address that requests to the provider start with."""
    meta: Meta | None = field(default=None, name="_meta")


class ProviderInfo(Wire, frozen=True, kw_only=True):
    """A provider that can be configured; without `current` it is disabled."""

    provider_id: ProviderId
    """The agent's id for the provider, such as `main`."""
    supported: Lenient[list[LlmProtocol]]
    """The APIs that the client can choose from for this provider."""
    required: bool
    """True if the agent cannot do without this provider, so that it must not be disabled."""
    current: Strict[ProviderCurrentConfig | None] = None
    """How the provider is reached now, without secrets. Absent means that it is disabled."""
    meta: Meta | None = field(default=None, name="_meta")


class ListProvidersRequest(Wire, frozen=True, kw_only=True):
    """Ask for the providers."""

    meta: Meta | None = field(default=None, name="_meta")


class ListProvidersResponse(Wire, frozen=True, kw_only=True):
    """All providers."""

    providers: list[ProviderInfo]
    """Every provider that the client can configure, also those that are disabled."""
    meta: Meta | None = field(default=None, name="_meta")


class SetProviderRequest(Wire, frozen=True, kw_only=True):
    """Replace a provider's whole configuration."""

    provider_id: ProviderId
    """The provider to configure, by the id that the agent gave it."""
    api_type: LlmProtocol
    """Which API the agent should speak with the provider; it has to be one that is supported."""
    base_url: str
    """The address that requests to the provider should start with."""
    headers: Strict[dict[str, str]] = {}
    """The headers to send with each request; they often hold secrets. Absent means none at all."""
    meta: Meta | None = field(default=None, name="_meta")


class SetProviderResponse(Wire, frozen=True, kw_only=True):
    """The provider is configured."""

    meta: Meta | None = field(default=None, name="_meta")


class DisableProviderRequest(Wire, frozen=True, kw_only=True):
    """Stop using a provider."""

    provider_id: ProviderId
    """The provider to stop using; it may not be a required one."""
    meta: Meta | None = field(default=None, name="_meta")


class DisableProviderResponse(Wire, frozen=True, kw_only=True):
    """The provider is no longer used."""

    meta: Meta | None = field(default=None, name="_meta")
