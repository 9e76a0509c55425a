#!/usr/bin/env bash
# run.sh MODULE N TEST...: change a module below src/sampled_metrics in N places, one at a time, in a
# copy of the project, and print the changes that no test notices. The same N places every time.
set -euo pipefail
module=$1 count=$2
shift 2
bin=$PWD/.venv-mutants/bin python=$(command -v python)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents --target-directory="$copy"
cd "$copy"
export PYTHONPATH=$copy/src PYTHONDONTWRITEBYTECODE=1
sed "s|MODULE|$module|; s|PYTHON|$python|; s|TESTS|$*|" tests/mutants/cosmic-ray.toml > session.toml
"$bin/cosmic-ray" init session.toml session.sqlite
"$python" - "$count" << 'END'
import random, sqlite3, sys

database = sqlite3.connect("session.sqlite")
order = "module_path, start_pos_row, start_pos_col, operator_name, occurrence"
jobs = [job for (job,) in database.execute(f"select job_id from mutation_specs order by {order}")]
for job in set(jobs) - set(random.Random(0).sample(jobs, min(int(sys.argv[1]), len(jobs)))):
    for table in ("mutation_specs", "work_items"):
        database.execute(f"delete from {table} where job_id = ?", (job,))
database.commit()
END
"$bin/cosmic-ray" exec session.toml session.sqlite
"$bin/cr-report" --show-diff --surviving-only session.sqlite
