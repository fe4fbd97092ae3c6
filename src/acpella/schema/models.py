"""Choosing a model the way shipped peers still do; config options took its place (legacy)."""

from typing import TypeAlias

from ._wire import Lenient, Meta, Wire, field
from .protocol import SessionId

__all__ = ["ModelId", "ModelInfo", "SessionModelState", "SetSessionModelRequest", "SetSessionModelResponse"]

ModelId: TypeAlias = str


class ModelInfo(Wire, frozen=True, kw_only=True):
    """A model that the agent offers."""

    model_id: ModelId
    name: str
    description: str | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SessionModelState(Wire, frozen=True, kw_only=True):
    """The models of a session and the one in use."""

    current_model_id: ModelId
    available_models: Lenient[list[ModelInfo]]
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModelRequest(Wire, frozen=True, kw_only=True):
    """Change a session's model."""

    session_id: SessionId
    model_id: ModelId
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModelResponse(Wire, frozen=True, kw_only=True):
    """The model was changed."""

    meta: Meta | None = field(default=None, name="_meta")
