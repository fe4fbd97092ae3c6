"""The fuzzer's seeds, and a few rounds of the fuzzer itself. `fuzz_peer.py --seconds N` does more."""

import random
from pathlib import Path

import fuzz_peer
import pytest


@pytest.mark.parametrize("path", sorted(fuzz_peer.SEEDS.iterdir()), ids=lambda path: path.name)
def test_a_seed_does_no_harm(path: Path) -> None:
    data = path.read_bytes()
    fuzz_peer.check(data, [])
    fuzz_peer.check(data, list(range(0, len(data), 7)))


def test_a_few_mutations_do_no_harm() -> None:
    numbers = random.Random(1)
    seeds = fuzz_peer.read_seeds()
    for _ in range(100):
        fuzz_peer.check(fuzz_peer.mutate(numbers, seeds), [numbers.randrange(2**20) for _ in range(3)])
