"""Run a command; print its processor seconds, wall seconds and peak memory in MiB.

A child process begins with the memory of its parent, so this script imports little.
"""

import os
import sys
import time


def main() -> None:
    began = time.perf_counter()
    output = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    process = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=output)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - began
    print(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024)
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
