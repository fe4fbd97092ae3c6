"""Checks the sample agent inside this process."""

from sample_agent import SampleAgent

from acpella.check import FAKE_MODEL, AgentCheck, CheckSelection, PromptProfile, Report
from acpella.client.targets import InProcess

PROFILE = PromptProfile({**FAKE_MODEL, "plan": "!plan", "elicit": "!elicit"})


async def check_sample(
    defect: str = "", *only: str, patience: float = 2.0, profile: PromptProfile = PROFILE
) -> Report:
    """Check the sample agent with one defect, over channels in memory."""
    kept: dict[str, dict[str, object]] = {}
    check = AgentCheck(
        lambda directory: InProcess(SampleAgent(defect, kept)),
        "sample",
        profile=profile,
        selection=CheckSelection(only),
        patience=patience,
    )
    return await check.run()
