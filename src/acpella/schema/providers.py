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
    base_url: str
    meta: Meta | None = field(default=None, name="_meta")


class ProviderInfo(Wire, frozen=True, kw_only=True):
    """A provider that can be configured; without `current` it is disabled."""

    provider_id: ProviderId
    supported: Lenient[list[LlmProtocol]]
    required: bool
    current: Strict[ProviderCurrentConfig | None] = None
    meta: Meta | None = field(default=None, name="_meta")


class ListProvidersRequest(Wire, frozen=True, kw_only=True):
    """Ask for the providers."""

    meta: Meta | None = field(default=None, name="_meta")


class ListProvidersResponse(Wire, frozen=True, kw_only=True):
    """All providers."""

    providers: list[ProviderInfo]
    meta: Meta | None = field(default=None, name="_meta")


class SetProviderRequest(Wire, frozen=True, kw_only=True):
    """Replace a provider's whole configuration."""

    provider_id: ProviderId
    api_type: LlmProtocol
    base_url: str
    headers: Strict[dict[str, str]] = {}
    meta: Meta | None = field(default=None, name="_meta")


class SetProviderResponse(Wire, frozen=True, kw_only=True):
    """The provider is configured."""

    meta: Meta | None = field(default=None, name="_meta")


class DisableProviderRequest(Wire, frozen=True, kw_only=True):
    """Stop using a provider."""

    provider_id: ProviderId
    meta: Meta | None = field(default=None, name="_meta")


class DisableProviderResponse(Wire, frozen=True, kw_only=True):
    """The provider is no longer used."""

    meta: Meta | None = field(default=None, name="_meta")
