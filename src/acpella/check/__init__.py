"""Whether agents and clients keep to the protocol.

Requirements are data beside the code that judges them (`agent`, `client`: one module per topic). Audits read
a conversation frame by frame (`Auditor`); scenarios drive the peer (`AgentCheck`, `ClientCheck`).
"""

from acpella.recording import NewerFormat

from .agent import AREAS as AGENT_AREAS
from .auditor import Auditor, BothSides, Finding, Tally
from .baseline import Baseline, Judgement, judge, read_baseline, write_baseline
from .client import AREAS as CLIENT_AREAS
from .client_check import ClientCheck
from .profile import FAKE_MODEL, NEEDS, PromptProfile
from .recorded import check_recording
from .requirement import Area, Audit, Requirement, Side
from .results import CannotJudge, Report, RequirementResult
from .runner import AgentCheck, CheckSelection
from .sets import frozen_set, set_names

__all__ = [
    "AGENT_AREAS",
    "CLIENT_AREAS",
    "FAKE_MODEL",
    "NEEDS",
    "AgentCheck",
    "Area",
    "Audit",
    "Auditor",
    "Baseline",
    "BothSides",
    "CannotJudge",
    "CheckSelection",
    "ClientCheck",
    "Finding",
    "Judgement",
    "NewerFormat",
    "PromptProfile",
    "Report",
    "Requirement",
    "RequirementResult",
    "Side",
    "Tally",
    "check_recording",
    "frozen_set",
    "judge",
    "read_baseline",
    "set_names",
    "write_baseline",
]
