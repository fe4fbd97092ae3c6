"""Choosing a model the way shipped peers still do; config options took its place (legacy)."""

from typing import TypeAlias

from ._wire import Lenient, Meta, Wire, field
from .protocol import SessionId

__all__ = ["ModelId", "ModelInfo", "SessionModelState", "SetSessionModelRequest", "SetSessionModelResponse"]

ModelId: TypeAlias = str


class ModelInfo(Wire, frozen=True, kw_only=True):
    """A model that the agent offers."""

    model_id: ModelId
    """The agent's id for the model; `session/set_model` names it."""
    name: str
    """What the user sees when choosing a model."""
    description: str | None = None
    """More about the model, to show beside its name."""
    meta: Meta | None = field(default=None, name="_meta")


class SessionModelState(Wire, frozen=True, kw_only=True):
    """The models of a session and the one in use."""

    current_model_id: ModelId
    """The model that the session uses now."""
    available_models: Lenient[list[ModelInfo]]
    """Every model that the session can use."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModelRequest(Wire, frozen=True, kw_only=True):
    """Change a session's model."""

    session_id: SessionId
    """The session whose model should change."""
    model_id: ModelId
    """The model to use, by its id from the session's list of models."""
    meta: Meta | None = field(default=None, name="_meta")


class SetSessionModelResponse(Wire, frozen=True, kw_only=True):
    """The model was changed."""

    meta: Meta | None = field(default=None, name="_meta")
