"""An MCP server that does nothing but note that it was started. `python mcp_server.py FILE`."""

import json
import sys
from pathlib import Path
from typing import Any, cast

__all__ = ["main"]


def main() -> None:
    """Answer what an MCP client asks first."""
    Path(sys.argv[1]).write_text("started\n", encoding="utf-8")
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if not isinstance(message, dict):
            continue
        request = cast("dict[str, Any]", message)
        if "id" not in request or "method" not in request:
            continue
        result: dict[str, object] = {}
        if request["method"] == "initialize":
            version = request.get("params", {}).get("protocolVersion", "2025-06-18")
            info = {"name": "acpella-check", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif request["method"] == "tools/list":
            result = {"tools": []}
        reply = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        print(json.dumps(reply), flush=True)  # noqa: T201 - the protocol


if __name__ == "__main__":
    main()
