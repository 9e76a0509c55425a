"""Rank on a device: seconds and memory beside the product and beside a copy to main memory.

    python -m benchmarks.device [--device cuda] [--users 4096] [--items 1000000] [--dimensions 64]

Needs torch. On `cpu` tensors take the way of a device too, which shows that the script runs and
says nothing about a device. For some users each way is compared with scores in float64; those of
cupy and jax are counted too where they are installed.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch

import sampled_metrics as sm
from sampled_metrics.evaluation import meter
from sampled_metrics.inputs import comparisons, counting, products, scores

BATCH = 512
RUNS = 3
KINDS = ("float32", "bfloat16", "float16")
UP_TO = 10
CHECKED = 200  # users whose counts are compared
SMALL = (300, 5000)  # users and items of other libraries


class Machine:
    """A device, its clock and its memory."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.is_gpu = device != "cpu"

    def wait(self) -> None:
        if self.is_gpu:
            torch.cuda.synchronize()

    def measure(self, name: str, use: Callable[[], object], runs: int = RUNS) -> None:
        """Print the median of the seconds, and the most memory above that before."""
        use()  # the first one warms up
        seconds = []
        if self.is_gpu:
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        for _ in range(runs):
            self.wait()
            start = time.perf_counter()
            use()
            self.wait()
            seconds.append(time.perf_counter() - start)
        peak = ""
        if self.is_gpu:
            peak = f"{(torch.cuda.max_memory_allocated() - before) / 2**20:,.0f} MiB"
        each = " ".join(f"{second:.3f}" for second in seconds)
        print(f"{name:<40} {np.median(seconds):9.4f} s {peak:>12}   ({each})", flush=True)


def parts(users: torch.Tensor) -> Iterator[slice]:
    """Cut users into batches."""
    return (slice(first, first + BATCH) for first in range(0, len(users), BATCH))


def exact(users: torch.Tensor, items: torch.Tensor, held_out: torch.Tensor) -> dict[str, object]:
    """Return counts of some users by scores in float64 on the host, and the nearest other score."""
    left = users[:CHECKED].double().cpu().numpy()
    right = items.double().cpu().numpy()
    place = held_out[:CHECKED].cpu().numpy()
    own = np.einsum("uf,uf->u", left, right[place])
    found = {"better": [], "tied": [], "near": []}
    lengths = np.linalg.norm(right, axis=1)
    for number, vector in enumerate(left):
        row = np.einsum("f,if->i", vector, right)
        row[place[number]] = own[number]
        found["better"].append(np.count_nonzero(row > own[number]))
        found["tied"].append(np.count_nonzero(row == own[number]) - 1)
        far = np.abs(row - own[number]) / (np.linalg.norm(vector) * lengths)
        found["near"].append(far)
    return found


def compare(name: str, ranks: sm.Ranks, expected: dict[str, object], error: float) -> None:
    """Print how many users have other counts, and whether scores within an error explain it."""
    better = np.asarray(expected["better"])
    tied = np.asarray(expected["tied"])
    found = ranks.n_better[:CHECKED]
    far = np.abs(found - better)
    near = np.array([np.count_nonzero(away <= error) - 1 for away in expected["near"]])
    differ = np.count_nonzero(far)
    words = f"{differ} of {len(better)} users differ in n_better, by {far.max()} at most"
    words += f"; {np.count_nonzero(ranks.n_tied[:CHECKED] != tied)} in n_tied"
    if differ:
        words += f"; within {error:.1g} of it in all of these: {bool((far <= near).all())}"
    print(f"  {name}: {words}", flush=True)


class Vectors:
    """Vectors of one type, and the ways to rank by them."""

    def __init__(self, machine: Machine, kind: str, given: argparse.Namespace) -> None:
        torch.manual_seed(0)
        self.machine = machine
        self.kind = getattr(torch, kind)
        left = torch.randn(given.users, given.dimensions, device=machine.device)
        right = torch.randn(given.items, given.dimensions, device=machine.device)
        self.users = left.to(self.kind)
        self.items = right.to(self.kind)
        self.held_out = torch.randint(given.items, (given.users,), device=machine.device)
        self.few = min(BATCH, given.users)
        self.made: dict[str, sm.Ranks] = {}

    def product(self) -> None:
        """Multiply, and nothing else."""
        for rows in parts(self.users):
            self.users[rows] @ self.items.T

    def plain(self) -> None:
        """Multiply, and compare in torch."""
        for rows in parts(self.users):
            block = self.users[rows] @ self.items.T
            own = block.gather(1, self.held_out[rows, None])
            (block > own).sum(1).cpu(), (block == own).sum(1).cpu()

    def counted(self, name: str, bring: Callable[[torch.Tensor], object], n: int) -> None:
        """Multiply, and count by a meter."""
        counter = sm.RankMeter("hr@10", n_jobs=-1)
        for rows in parts(self.users[:n]):
            counter.update(bring(self.users[rows] @ self.items.T), self.held_out[rows])
        self.made[name] = counter.ranks()

    def ranked(
        self,
        name: str,
        bring: Callable[[torch.Tensor], object],
        up_to: int | None = None,
    ) -> None:
        """Rank by the vectors: tiles of items grow, and users leave as soon as they are settled."""
        vectors = bring(self.users), bring(self.items)
        self.made[name] = sm.rank(vectors, None, self.held_out.cpu().numpy(), up_to=up_to)

    def measure(self) -> None:
        """Print a row for each way."""
        run, n = self.machine.measure, len(self.users)
        run("product alone", self.product)
        run("product, > and == of torch", self.plain)
        run("product, counted on the device", lambda: self.counted("there", lambda s: s, n))
        run("vectors on the device", lambda: self.ranked("vectors", lambda v: v))
        run("vectors on the device, @10", lambda: self.ranked("cut", lambda v: v, UP_TO))
        run(
            f"product, .cpu(), counted, {self.few} users",
            lambda: self.counted("cpu", lambda s: s.float().cpu(), self.few),
            1,
        )
        run(
            "vectors to main memory, all cores",
            lambda: self.ranked("host", lambda v: v.float().cpu().numpy()),
            1,
        )

    def compare(self) -> None:
        """Print how many counts are other than those by float64."""
        expected = exact(self.users, self.items, self.held_out)
        compare("vectors on the device", self.made["vectors"], expected, 0.0)
        compare("vectors in main memory", self.made["host"], expected, 0.0)
        eps = float(torch.finfo(self.kind).eps)
        error = (self.users.shape[1] + 4) * 2.0**-24
        if self.kind is not torch.float32:
            error += 2.0 * eps
        compare("product in its own type, counted", self.made["there"], expected, error)
        same_counts("vectors on the device and in main memory", self.made, "vectors", "host")
        of_all, cut = self.made["vectors"], self.made["cut"]
        is_found = of_all.n_better < UP_TO
        same = np.array_equal(cut.n_found, is_found)
        same &= np.array_equal(cut.n_better, of_all.n_better[is_found])
        print(f"  vectors on the device, @{UP_TO} and in full: same counts: {same}", flush=True)
        same_counts("product counted on the device and after .cpu()", self.made, "there", "cpu")


def same_counts(name: str, made: dict[str, sm.Ranks], one: str, other: str) -> None:
    """Print whether two ways have the same counts, for the users that both have."""
    n = min(len(made[one]), len(made[other]))
    same = np.array_equal(made[one].n_better[:n], made[other].n_better[:n])
    same &= np.array_equal(made[one].n_tied[:n], made[other].n_tied[:n])
    print(f"  {name}: same counts of {n} users: {same}", flush=True)


def other_libraries() -> None:
    """Count scores of cupy and jax, and compare with those of numpy."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(-50, 50, SMALL).astype(np.float32)
    held_out = rng.integers(0, SMALL[1], SMALL[0])
    expected = sm.rank(matrix, None, held_out)
    for name, take in (("cupy", "asarray"), ("jax.numpy", "asarray")):
        try:
            library = __import__(name, fromlist=["asarray"])
            there = getattr(library, take)(matrix)
            found = sm.rank(there, None, held_out)
            counts = sm.RankMeter("hr@10")
            counts.update(there, held_out)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        same = all(
            np.array_equal(ranks.n_better, expected.n_better)
            and np.array_equal(ranks.n_tied, expected.n_tied)
            for ranks in (found, counts.ranks())
        )
        where = getattr(there, "device", "?")
        print(f"{name} on {where}: same counts as numpy: {same}", flush=True)


def main() -> None:
    """Print a row for each way, for each type of the vectors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--users", type=int, default=4096)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--dimensions", type=int, default=64)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    given = parser.parse_args()
    machine = Machine(given.device)
    name = torch.cuda.get_device_name() if machine.is_gpu else "main memory"
    print(f"{name}, torch {torch.__version__}, numpy {np.__version__}")
    if not machine.is_gpu:
        real = comparisons.is_on_device
        for module in (comparisons, meter, counting, products, scores):
            module.is_on_device = lambda data: isinstance(data, torch.Tensor) or real(data)
    for kind in given.kinds:
        print(f"\n{kind}: {given.users:,} users x {given.items:,} items x {given.dimensions}")
        vectors = Vectors(machine, kind, given)
        vectors.measure()
        vectors.compare()
    print()
    other_libraries()


if __name__ == "__main__":
    main()
