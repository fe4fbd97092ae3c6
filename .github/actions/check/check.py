"""Runs `acpella check` in a GitHub job. All input comes from variables; no shell reads it."""

import json
import os
import subprocess
import sys


def words(name: str) -> list[str]:
    """A list of strings from a variable."""
    text = os.environ.get(name) or "[]"
    try:
        value = json.loads(text)
    except ValueError as error:
        text = f'{name} is not JSON ({error}); write a list such as ["python", "agent.py"]'
        raise SystemExit(_explain(text)) from None
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise SystemExit(_explain(f"{name} must be a JSON list of strings, not {text}"))
    return value


def main() -> int:
    """Check the agent; gives the exit code of `acpella check`."""
    command, options = words("ACP_CHECK_COMMAND"), words("ACP_CHECK_OPTIONS")
    if not command:
        raise SystemExit(_explain("the input `command` is empty"))
    report = os.environ.get("ACP_CHECK_REPORT") or "acp-check.json"
    version = os.environ.get("ACP_CHECK_VERSION", "")
    acpella = ["acpella"]
    if version:
        acpella = ["uv", "tool", "run", "--from", f"acpella[standard]=={version}", "acpella"]
    try:
        ran = subprocess.run([*acpella, "check", "--json", report, *options, "--", *command])
    except OSError as error:
        raise SystemExit(_explain(f"cannot start {acpella[0]}: {error}")) from None
    if output := os.environ.get("GITHUB_OUTPUT"):
        with open(output, "a", encoding="utf-8") as file:
            file.write(f"report={report}\n")
    return ran.returncode


def _explain(text: str) -> str:
    """The summary says why nothing was checked."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as file:
            file.write(f"## ACP: nothing was checked\n\n{text}\n")
    return text


if __name__ == "__main__":
    sys.exit(main())
