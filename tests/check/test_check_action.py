"""The GitHub action: its inputs reach the command as words, and the summary is always written."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "check"
SAMPLE = Path(__file__).parent / "sample_agent.py"


def run(directory: Path, **inputs: str) -> tuple[subprocess.CompletedProcess[str], str]:
    """Run the script as the action does; gives what came of it and the summary."""
    summary = directory / "summary.md"
    bin = str(Path(sys.executable).parent)
    ran = subprocess.run(
        [sys.executable, str(ACTION / "check.py")],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=100,
        env={
            **os.environ,
            "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_OUTPUT": str(directory / "output"),
            **{f"ACP_CHECK_{name.upper()}": value for name, value in inputs.items()},
        },
    )
    return ran, summary.read_text(encoding="utf-8") if summary.exists() else ""


def test_an_agent_is_checked_and_the_report_is_named(tmp_path: Path) -> None:
    command = json.dumps([sys.executable, str(SAMPLE)])
    ran, summary = run(tmp_path, command=command, options='["--only", "sessions.new"]')
    assert ran.returncode == 0, ran.stderr
    assert "ACP v1: conforms" in summary
    assert (tmp_path / "output").read_text() == "report=acp-check.json\n"
    assert json.loads((tmp_path / "acp-check.json").read_text())["conforms"]


def test_no_shell_reads_the_inputs(tmp_path: Path) -> None:
    command = json.dumps(["no-such-agent; touch pwned", "$(touch pwned)"])
    ran, summary = run(tmp_path, command=command, options='["--only", "sessions.new"]')
    assert ran.returncode == 3
    assert "did not start" in summary
    assert not (tmp_path / "pwned").exists()
    text = (ACTION / "action.yml").read_text(encoding="utf-8")
    steps = re.findall(r"run: (.*)", text)
    assert steps == ['python3 "$ACP_CHECK_SCRIPT"']


def test_input_that_is_not_a_list_is_explained(tmp_path: Path) -> None:
    for command in ("python agent.py", '"python"', "[1]", "[]"):
        ran, summary = run(tmp_path, command=command)
        assert ran.returncode == 1
        assert "nothing was checked" in summary
