"""What an import costs: CPU beyond a bare interpreter, and the third-party modules that came along.

`import_cost.py MODULE[,MODULE] PYTHON` prints one JSON line.
"""

import json
import os
import subprocess
import sys

LIST_THIRD_PARTY = """
import sys
before = set(sys.modules)
import {modules}
names = {{name.partition(".")[0] for name in set(sys.modules) - before}}
foreign = names - sys.stdlib_module_names - {{"{own}"}}
print(*sorted(name for name in foreign if not name.startswith("_sysconfigdata")))
"""


def cpu_seconds(python: str, code: str) -> float:
    """CPU of an interpreter that runs the code and ends."""
    process = subprocess.Popen([python, "-c", code])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # wait4 has reaped it; Popen must not look for it
    if process.returncode:
        raise RuntimeError(f"{python} -c {code!r} failed with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Measure and print one JSON line."""
    modules, python = sys.argv[1:]
    cpu = cpu_seconds(python, f"import {modules}") - cpu_seconds(python, "pass")
    code = LIST_THIRD_PARTY.format(modules=modules, own=modules.partition(".")[0])
    listed = subprocess.run([python, "-c", code], check=True, capture_output=True, encoding="utf-8")
    sys.stdout.write(json.dumps({"cpu_ms": cpu * 1e3, "third_party": listed.stdout.split()}) + "\n")


if __name__ == "__main__":
    main()
