"""The sending half of the raw limit: lines encoded beforehand, written in big blocks, no protocol.

Called with the number of updates. Writes a line when they are ready, waits for one, then writes them all.
"""

import os
import sys

BLOCK = 1 << 20

LINE = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"token %d "}}}}\n'
)


def main() -> None:
    """Encode, wait for the start, write."""
    lines = "".join(LINE % number for number in range(int(sys.argv[1]))).encode()
    os.write(1, b"ready\n")
    sys.stdin.readline()
    rest = memoryview(lines)
    while rest:
        rest = rest[os.write(1, rest[:BLOCK]) :]


if __name__ == "__main__":
    main()
