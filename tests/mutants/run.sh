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
"$python" - "$count" "src/sampled_metrics/$module" << 'END'
import ast, pathlib, random, sqlite3, sys

# `int | None` of an annotation is no part of what the program does.
nodes = list(ast.walk(ast.parse(pathlib.Path(sys.argv[2]).read_text("utf-8"))))
notes = [getattr(node, name, None) for node in nodes for name in ("annotation", "returns")]
spans = [((x.lineno, x.col_offset), (x.end_lineno, x.end_col_offset)) for x in notes if x]
database = sqlite3.connect("session.sqlite")
columns = "start_pos_row, start_pos_col, operator_name, occurrence, job_id"
specs = sorted(database.execute(f"select {columns} from mutation_specs"))
kept = [s for s in specs if "BitOr_" not in s[2] or not any(a <= s[:2] < b for a, b in spans)]
sample = random.Random(0).sample(kept, min(int(sys.argv[1]), len(kept)))
for job in {s[-1] for s in specs} - {s[-1] for s in sample}:
    for table in ("mutation_specs", "work_items"):
        database.execute(f"delete from {table} where job_id = ?", (job,))
database.commit()
END
"$bin/cosmic-ray" exec session.toml session.sqlite
"$bin/cr-report" --show-diff --surviving-only session.sqlite
