"""Wrong values, damaged files and killed runs; any raw error is a failure.

python -m tests.robustness [--calls N] [--runs N] [--kills N] [--seed N]
"""

import argparse
import sys

from tests.robustness import fuzz, kills


def main():
    """Run everything, print the outcome in one line, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.robustness")
    parser.add_argument("--calls", type=int, default=fuzz.CALLS, help="of functions")
    parser.add_argument("--runs", type=int, default=fuzz.RUNS, help="of commands")
    parser.add_argument("--kills", type=int, default=kills.RUNS, help="of studies")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    seed = f"--seed={options.seed}"
    is_raw = fuzz.main([f"--calls={options.calls}", f"--runs={options.runs}", seed])
    is_other = options.kills and kills.main([f"--kills={options.kills}", seed])
    print(
        f"robustness: functions and commands {'failed' if is_raw else 'passed'}, "
        f"killed runs {'failed' if is_other else 'passed'}"
    )
    return int(is_raw or is_other)


if __name__ == "__main__":
    sys.exit(main())
