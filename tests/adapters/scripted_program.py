"""A program of a user: an agent of the framework that the environment names. Nothing here depends on ACP.

Its model calls the tool that the last prompt names: `print hello` prints, `note a.txt` reads a note; anything
else is answered with all that the user has said.
"""

import os
from collections.abc import Sequence

import acpella
from adapters import frameworks, toolbelt
from adapters.script import Call, Piece, Script, Seen

print("a greeting that a careless file prints while it is imported")


class Obedient(Script):
    def next(self, seen: Seen) -> Sequence[Piece]:
        words = seen.user[-1].split()
        call_id = f"c{len(seen.user)}"
        if words[0] == "print" and call_id not in seen.results:
            return [Call(call_id, "printing", {"text": words[1]})]
        if words[0] == "note" and call_id not in seen.results:
            return [Call(call_id, "edit_file", {"path": words[1], "old_string": "a", "new_string": "b"})]
        return ["You said: ", " | ".join(seen.user)]


_framework = frameworks.load(os.environ["ACPELLA_TEST_FRAMEWORK"])
agent = _framework.agent(Obedient(), [toolbelt.printing, toolbelt.edit_file])
if _framework.options(agent):  # options that cannot be given on the command line
    agent = acpella.adapt(agent, **_framework.options(agent))


def make():
    """A factory for the agent."""
    return agent
