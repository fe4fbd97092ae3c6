"""Suggesting the next edit, and the documents it needs to know (legacy)."""

from typing import Literal, TypeAlias

from ._wire import I64, U32, U64, Meta, Unknown, Wire, field
from .protocol import SessionId

__all__ = [
    "AcceptNesNotification",
    "ClientNesCapabilities",
    "CloseNesRequest",
    "CloseNesResponse",
    "DidChangeDocumentNotification",
    "DidCloseDocumentNotification",
    "DidFocusDocumentNotification",
    "DidOpenDocumentNotification",
    "DidSaveDocumentNotification",
    "NesCapabilities",
    "NesContextCapabilities",
    "NesDiagnostic",
    "NesDiagnosticSeverity",
    "NesDiagnosticsCapabilities",
    "NesDocumentDidChangeCapabilities",
    "NesDocumentDidCloseCapabilities",
    "NesDocumentDidFocusCapabilities",
    "NesDocumentDidOpenCapabilities",
    "NesDocumentDidSaveCapabilities",
    "NesDocumentEventCapabilities",
    "NesEditHistoryCapabilities",
    "NesEditHistoryEntry",
    "NesEditSuggestion",
    "NesEventCapabilities",
    "NesExcerpt",
    "NesJumpCapabilities",
    "NesJumpSuggestion",
    "NesOpenFile",
    "NesOpenFilesCapabilities",
    "NesRecentFile",
    "NesRecentFilesCapabilities",
    "NesRejectReason",
    "NesRelatedSnippet",
    "NesRelatedSnippetsCapabilities",
    "NesRenameCapabilities",
    "NesRenameSuggestion",
    "NesRepository",
    "NesSearchAndReplaceCapabilities",
    "NesSearchAndReplaceSuggestion",
    "NesSuggestContext",
    "NesSuggestion",
    "NesTextEdit",
    "NesTriggerKind",
    "NesUserAction",
    "NesUserActionsCapabilities",
    "Position",
    "PositionEncodingKind",
    "Range",
    "RejectNesNotification",
    "StartNesRequest",
    "StartNesResponse",
    "SuggestNesRequest",
    "SuggestNesResponse",
    "TextDocumentContentChangeEvent",
    "TextDocumentSyncKind",
    "WorkspaceFolder",
]

PositionEncodingKind: TypeAlias = Literal["utf-16", "utf-32", "utf-8"] | str
TextDocumentSyncKind: TypeAlias = Literal["full", "incremental"] | str
NesTriggerKind: TypeAlias = Literal["automatic", "diagnostic", "manual"] | str
NesDiagnosticSeverity: TypeAlias = Literal["error", "warning", "information", "hint"] | str
NesRejectReason: TypeAlias = Literal["rejected", "ignored", "replaced", "cancelled"] | str


class NesDocumentDidOpenCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants to know of opened documents."""

    meta: Meta | None = field(default=None, name="_meta")


class NesDocumentDidChangeCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants to know of changes, whole or in parts."""

    sync_kind: TextDocumentSyncKind
    meta: Meta | None = field(default=None, name="_meta")


class NesDocumentDidCloseCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants to know of closed documents."""

    meta: Meta | None = field(default=None, name="_meta")


class NesDocumentDidSaveCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants to know of saved documents."""

    meta: Meta | None = field(default=None, name="_meta")


class NesDocumentDidFocusCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants to know which document is looked at."""

    meta: Meta | None = field(default=None, name="_meta")


class NesDocumentEventCapabilities(Wire, frozen=True, kw_only=True):
    """Which events of documents the agent wants."""

    did_open: NesDocumentDidOpenCapabilities | None = None
    did_change: NesDocumentDidChangeCapabilities | None = None
    did_close: NesDocumentDidCloseCapabilities | None = None
    did_save: NesDocumentDidSaveCapabilities | None = None
    did_focus: NesDocumentDidFocusCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesEventCapabilities(Wire, frozen=True, kw_only=True):
    """Which events the agent wants."""

    document: NesDocumentEventCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesRecentFilesCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants the files used last."""

    max_count: U32 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesRelatedSnippetsCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants related pieces of code."""

    meta: Meta | None = field(default=None, name="_meta")


class NesEditHistoryCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants the edits made last."""

    max_count: U32 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesUserActionsCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants the user's last actions."""

    max_count: U32 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesOpenFilesCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants the open files."""

    meta: Meta | None = field(default=None, name="_meta")


class NesDiagnosticsCapabilities(Wire, frozen=True, kw_only=True):
    """The agent wants errors and warnings."""

    meta: Meta | None = field(default=None, name="_meta")


class NesContextCapabilities(Wire, frozen=True, kw_only=True):
    """Which context the agent wants with a request."""

    recent_files: NesRecentFilesCapabilities | None = None
    related_snippets: NesRelatedSnippetsCapabilities | None = None
    edit_history: NesEditHistoryCapabilities | None = None
    user_actions: NesUserActionsCapabilities | None = None
    open_files: NesOpenFilesCapabilities | None = None
    diagnostics: NesDiagnosticsCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesCapabilities(Wire, frozen=True, kw_only=True):
    """The agent suggests edits, and what it wants to be told for that."""

    events: NesEventCapabilities | None = None
    context: NesContextCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesJumpCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows suggestions to go elsewhere."""

    meta: Meta | None = field(default=None, name="_meta")


class NesRenameCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows suggestions to rename."""

    meta: Meta | None = field(default=None, name="_meta")


class NesSearchAndReplaceCapabilities(Wire, frozen=True, kw_only=True):
    """The client shows suggestions to search and replace."""

    meta: Meta | None = field(default=None, name="_meta")


class ClientNesCapabilities(Wire, frozen=True, kw_only=True):
    """Which suggestions the client shows beyond edits."""

    jump: NesJumpCapabilities | None = None
    rename: NesRenameCapabilities | None = None
    search_and_replace: NesSearchAndReplaceCapabilities | None = None
    meta: Meta | None = field(default=None, name="_meta")


class Position(Wire, frozen=True, kw_only=True):
    """A place in a text, both numbers counted from 0."""

    line: U32
    character: U32
    meta: Meta | None = field(default=None, name="_meta")


class Range(Wire, frozen=True, kw_only=True):
    """From a place up to, not including, another."""

    start: Position
    end: Position
    meta: Meta | None = field(default=None, name="_meta")


class WorkspaceFolder(Wire, frozen=True, kw_only=True):
    """A folder of the workspace."""

    uri: str
    name: str
    meta: Meta | None = field(default=None, name="_meta")


class NesRepository(Wire, frozen=True, kw_only=True):
    """The repository of the workspace."""

    name: str
    owner: str
    remote_url: str
    meta: Meta | None = field(default=None, name="_meta")


class StartNesRequest(Wire, frozen=True, kw_only=True):
    """Begin a session of suggestions, apart from any conversation."""

    workspace_uri: str | None = None
    workspace_folders: list[WorkspaceFolder] | None = None
    repository: NesRepository | None = None
    meta: Meta | None = field(default=None, name="_meta")


class StartNesResponse(Wire, frozen=True, kw_only=True):
    """The session of suggestions."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class CloseNesRequest(Wire, frozen=True, kw_only=True):
    """End a session of suggestions."""

    session_id: SessionId
    meta: Meta | None = field(default=None, name="_meta")


class CloseNesResponse(Wire, frozen=True, kw_only=True):
    """The session of suggestions is over."""

    meta: Meta | None = field(default=None, name="_meta")


class NesRecentFile(Wire, frozen=True, kw_only=True):
    """A file used lately."""

    uri: str
    language_id: str
    text: str
    meta: Meta | None = field(default=None, name="_meta")


class NesExcerpt(Wire, frozen=True, kw_only=True):
    """Some lines of a file."""

    start_line: U32
    end_line: U32
    text: str
    meta: Meta | None = field(default=None, name="_meta")


class NesRelatedSnippet(Wire, frozen=True, kw_only=True):
    """Pieces of a file that matter here."""

    uri: str
    excerpts: list[NesExcerpt]
    meta: Meta | None = field(default=None, name="_meta")


class NesEditHistoryEntry(Wire, frozen=True, kw_only=True):
    """An edit made lately."""

    uri: str
    diff: str
    meta: Meta | None = field(default=None, name="_meta")


class NesUserAction(Wire, frozen=True, kw_only=True):
    """Something the user did."""

    action: str
    uri: str
    position: Position
    timestamp_ms: U64
    meta: Meta | None = field(default=None, name="_meta")


class NesOpenFile(Wire, frozen=True, kw_only=True):
    """An open file."""

    uri: str
    language_id: str
    visible_range: Range | None = None
    last_focused_ms: U64 | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesDiagnostic(Wire, frozen=True, kw_only=True):
    """An error or a warning in a file."""

    uri: str
    range: Range
    severity: NesDiagnosticSeverity
    message: str
    meta: Meta | None = field(default=None, name="_meta")


class NesSuggestContext(Wire, frozen=True, kw_only=True):
    """What the agent may know when it suggests."""

    recent_files: list[NesRecentFile] | None = None
    related_snippets: list[NesRelatedSnippet] | None = None
    edit_history: list[NesEditHistoryEntry] | None = None
    user_actions: list[NesUserAction] | None = None
    open_files: list[NesOpenFile] | None = None
    diagnostics: list[NesDiagnostic] | None = None
    meta: Meta | None = field(default=None, name="_meta")


class SuggestNesRequest(Wire, frozen=True, kw_only=True):
    """Ask for suggestions at a place in a document."""

    session_id: SessionId
    uri: str
    version: I64
    position: Position
    trigger_kind: NesTriggerKind
    selection: Range | None = None
    context: NesSuggestContext | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesTextEdit(Wire, frozen=True, kw_only=True):
    """Text to put in place of a range."""

    range: Range
    new_text: str
    meta: Meta | None = field(default=None, name="_meta")


class NesEditSuggestion(Wire, frozen=True, kw_only=True, tag_field="kind", tag="edit"):
    """Change a file."""

    id: str
    uri: str
    edits: list[NesTextEdit]
    cursor_position: Position | None = None
    meta: Meta | None = field(default=None, name="_meta")


class NesJumpSuggestion(Wire, frozen=True, kw_only=True, tag_field="kind", tag="jump"):
    """Go to a place."""

    id: str
    uri: str
    position: Position
    meta: Meta | None = field(default=None, name="_meta")


class NesRenameSuggestion(Wire, frozen=True, kw_only=True, tag_field="kind", tag="rename"):
    """Rename what is at a place."""

    id: str
    uri: str
    position: Position
    new_name: str
    meta: Meta | None = field(default=None, name="_meta")


class NesSearchAndReplaceSuggestion(
    Wire, frozen=True, kw_only=True, tag_field="kind", tag="searchAndReplace"
):
    """Search and replace in a file."""

    id: str
    uri: str
    search: str
    replace: str
    is_regex: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


NesSuggestion: TypeAlias = (
    NesEditSuggestion | NesJumpSuggestion | NesRenameSuggestion | NesSearchAndReplaceSuggestion | Unknown
)


class SuggestNesResponse(Wire, frozen=True, kw_only=True):
    """What the agent suggests."""

    suggestions: list[NesSuggestion]
    meta: Meta | None = field(default=None, name="_meta")


class AcceptNesNotification(Wire, frozen=True, kw_only=True):
    """The user took a suggestion."""

    session_id: SessionId
    id: str
    meta: Meta | None = field(default=None, name="_meta")


class RejectNesNotification(Wire, frozen=True, kw_only=True):
    """The user did not take a suggestion."""

    session_id: SessionId
    id: str
    reason: NesRejectReason | None = None
    meta: Meta | None = field(default=None, name="_meta")


class DidOpenDocumentNotification(Wire, frozen=True, kw_only=True):
    """A document was opened."""

    session_id: SessionId
    uri: str
    language_id: str
    version: I64
    text: str
    meta: Meta | None = field(default=None, name="_meta")


class TextDocumentContentChangeEvent(Wire, frozen=True, kw_only=True):
    """New text for a range, or for the whole document without one."""

    text: str
    range: Range | None = None
    meta: Meta | None = field(default=None, name="_meta")


class DidChangeDocumentNotification(Wire, frozen=True, kw_only=True):
    """A document was changed."""

    session_id: SessionId
    uri: str
    version: I64
    content_changes: list[TextDocumentContentChangeEvent]
    meta: Meta | None = field(default=None, name="_meta")


class DidCloseDocumentNotification(Wire, frozen=True, kw_only=True):
    """A document was closed."""

    session_id: SessionId
    uri: str
    meta: Meta | None = field(default=None, name="_meta")


class DidSaveDocumentNotification(Wire, frozen=True, kw_only=True):
    """A document was saved."""

    session_id: SessionId
    uri: str
    meta: Meta | None = field(default=None, name="_meta")


class DidFocusDocumentNotification(Wire, frozen=True, kw_only=True):
    """A document is looked at."""

    session_id: SessionId
    uri: str
    version: I64
    position: Position
    visible_range: Range
    meta: Meta | None = field(default=None, name="_meta")
