"""Mutates conversations and feeds them to a peer: `python tests/fuzz/fuzz_peer.py --seconds 60`.

The seeds are in `seeds/`, one stream of bytes a file. A round checks that nothing raises, that what goes out
is well formed, that no call ends twice, and that the same bytes in other pieces give the same answers. A
round that fails is written to `found/` and ends the run.
"""

import argparse
import json
import logging
import random
import re
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from acpella.rpc import Failure, Limits, Peer, Reply, Request
from acpella.schema import methods

HERE = Path(__file__).parent
SEEDS = HERE / "seeds"
FOUND = HERE / "found"

TOKENS = [
    *(b"{", b"}", b"[", b"]", b":", b",", b'"', b"\\", b"\n", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf"),
    *(b"null", b"true", b"NaN", b"Infinity", b"-0", b"1e999", b"1.5"),
    b"9" * 5000,
    b'"\\ud83d"',
    b'"\\u0000"',
    b'"id":1',
    b'"id":null',
    b'"id":"x"',
    b'"method":"session/update"',
    b'"method":"$/cancel_request"',
    b'"result":null',
    b'"error":"x"',
    b'"jsonrpc":"2.0"',
    b"Content-Length: 10\r\n\r\n",
    b"Content-Length: -1\r\n",
    b"[" * 2000,
    b"x" * 3000,
]

# Two updates on one line and a blank one beside them pass for two lines when they are read at once.
TWO_ON_A_LINE = re.compile(rb"\}[ \t\r]*\{")


def read_seeds() -> list[bytes]:
    return [path.read_bytes() for path in sorted(SEEDS.iterdir())]


def mutate(random: random.Random, seeds: list[bytes]) -> bytes:
    """A seed, changed in a few places."""
    data = bytearray(random.choice(seeds))
    for _ in range(random.choice([1, 1, 2, 3, 5, 10])):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice([0, 1, 1, 2, 8, 64]))
        kind = random.randrange(5)
        if kind == 0:
            data[at:end] = b""
        elif kind == 1:
            data[at:at] = random.choice(TOKENS)
        elif kind == 2:
            data[at:end] = random.randbytes(end - at)
        elif kind == 3:
            data[at:at] = data[at:end]
        else:
            other = random.choice(seeds)
            start = random.randrange(len(other) + 1)
            data[at:at] = other[start : start + random.choice([10, 100, 1000])]
    return bytes(data)


def play(vocabulary: Any, chunks: list[bytes]) -> bytes:
    """Drive a peer; check what it reports, and give what it writes."""
    peer = Peer(vocabulary, limits=Limits(max_frame=4096))
    calls = {peer.call("m", None) for _ in range(3)}
    calls.add(peer.call(methods.INITIALIZE, methods.INITIALIZE.params(protocol_version=1)))
    peer.take()
    for events in [*map(peer.receive, chunks), peer.finish()]:
        for event in events:
            if isinstance(event, Request):
                peer.answer(event.id, {"params": event.params})
            elif isinstance(event, Reply | Failure):
                calls.remove(event.id)  # fails if it ended twice
    assert set(peer.forget_calls()) <= calls
    return bytes(peer.take())


def read_answers(out: bytes) -> list[Any]:
    """Read strictly what a peer wrote, in either framing."""
    answers: list[Any] = []
    while out:
        header = re.match(rb"Content-Length: (\d+)\r\n\r\n", out)
        if header:
            end = header.end() + int(header[1])
            body, out = out[header.end() : end], out[end:]
        else:
            body, newline, out = out.partition(b"\n")
            assert newline, "the last line is not ended"
        answers.append(json.loads(body.decode("utf-8")))
    return answers


def check(data: bytes, cuts: list[int]) -> None:
    """Fail if these bytes do harm to an agent or a client."""
    cuts = sorted(cut % (len(data) + 1) for cut in cuts)
    parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    for vocabulary in (methods.AGENT, methods.CLIENT):
        whole = play(vocabulary, [data])
        for answer in read_answers(whole):
            assert answer["jsonrpc"] == "2.0"
            assert set(answer) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), answer
        if not TWO_ON_A_LINE.search(data):
            assert play(vocabulary, parts) == whole, "other pieces, other answers"
        else:
            play(vocabulary, parts)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60, help="how long to run (default: 60)")
    parser.add_argument("--seed", type=int, default=None, help="of the random numbers, to repeat a run")
    arguments = parser.parse_args()
    logging.disable()
    seed = arguments.seed if arguments.seed is not None else random.randrange(2**32)
    numbers = random.Random(seed)
    seeds = read_seeds()
    end = time.monotonic() + arguments.seconds
    rounds = 0
    while time.monotonic() < end:
        data = mutate(numbers, seeds)
        cuts = [numbers.randrange(2**20) for _ in range(numbers.choice([0, 1, 3, 30]))]
        try:
            check(data, cuts)
        except Exception:
            FOUND.mkdir(exist_ok=True)
            path = FOUND / f"{seed}-{rounds}"
            path.write_bytes(data)
            traceback.print_exc()
            print(f"round {rounds} of --seed {seed} failed; kept as {path}, cuts {cuts}", file=sys.stderr)
            return 1
        rounds += 1
    print(f"{rounds} rounds, nothing found (--seed {seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
