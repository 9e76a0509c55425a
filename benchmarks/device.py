"""Rank by scores on a device: seconds and memory beside the product and beside a copy to the host.

    python benchmarks/device.py [--device cuda] [--users 4096] [--items 1000000] [--dimensions 64]

Needs torch. On `cpu` tensors take the way of a device too, which shows that the script runs and
says nothing about a device. Counts are compared with those of float64 on the host for some users.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch

import sampled_metrics as sm
from sampled_metrics.evaluation import meter
from sampled_metrics.inputs import devices

BATCH = 512
CHECKED = 16  # users whose counts are compared


def main() -> None:
    """Print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--users", type=int, default=4096)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=64)
    given = parser.parse_args()
    torch.manual_seed(0)
    users = torch.randn(given.users, given.dimensions, device=given.device)
    items = torch.randn(given.items, given.dimensions, device=given.device)
    held_out = torch.randint(given.items, (given.users,), device=given.device)
    if given.device == "cpu":
        for module in (devices, meter):
            module.is_elsewhere = lambda scores: isinstance(scores, torch.Tensor)
    print(f"{given.users} users, {given.items} items, {given.dimensions} numbers, {given.device}")
    is_gpu = given.device != "cpu"

    def run(name: str, use: Callable[[torch.Tensor, torch.Tensor], object]) -> None:
        """Take the scores of one batch after the other."""
        for number in range(2):  # the first one warms up
            if is_gpu:
                torch.cuda.reset_peak_memory_stats()
                torch.cuda.synchronize()
            start = time.perf_counter()
            for first in range(0, given.users if number else BATCH, BATCH):
                rows = slice(first, first + BATCH)
                use(users[rows] @ items.T, held_out[rows])
            if is_gpu:
                torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        peak = f", {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB" if is_gpu else ""
        print(f"{name:<34} {seconds:8.3f} s{peak}", flush=True)

    run("product", lambda *_: None)
    counted = sm.RankMeter("hr@10")
    run("product, counted on the device", counted.update)
    on_host = sm.RankMeter("hr@10")
    run(
        "product, copied to the host", lambda s, p: on_host.update(s.cpu().numpy(), p.cpu().numpy())
    )
    there, here = counted.ranks(), on_host.ranks()
    is_same = np.array_equal(there.n_better, here.n_better)
    is_same &= np.array_equal(there.n_tied, here.n_tied)
    print(f"same counts on the device and on the host: {is_same}")
    some = users[:CHECKED].cpu().double() @ items.cpu().double().T
    own = some.gather(1, held_out[:CHECKED, None].cpu())
    exact = (some > own).sum(1).numpy()
    far = np.abs(exact - there.n_better[BATCH : BATCH + CHECKED]).max()  # after the warming batch
    print(f"furthest from float64: {far} places of {given.items}")


if __name__ == "__main__":
    main()
