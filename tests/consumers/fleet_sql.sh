# SPDX-License-Identifier: MIT
# The SQL of src/share/sql, run by DuckDB and by ClickHouse's engine over COUNT documents (20,000
# by default), against what the documents have.
# apt: python3 python3-venv
# pip: duckdb chdb
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_fleet_sql() {
	engine=$1
	status=0
	(cd "$work/sql" && python3 -B "$here/fleet_sql.py" "$engine" "$share/sql" lines) \
		>"$out" 2>"$err" || status=$?
	if [ "$status" -eq 2 ]; then
		skip "$engine: counts what the documents have" "$(cat "$out")"
	else
		sed -n '/^      /p' "$out"
		verify "$engine: counts what the documents have" '[ "$status" -eq 0 ]'
	fi
}

# Documents of all the hosts of the tests, as a fleet of many.
mkdir "$work/sql"
vdsocheck --json --from "$hosts"/*/document.json >"$work/few.jsonl"
python3 -B "$here/documents.py" "${COUNT:-20000}" <"$work/few.jsonl" >"$work/sql/clocks.jsonl"
python3 -B -c '
import os, resource, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
start = time.monotonic()
subprocess.run(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("      vdsocheck --format line: %s documents in %.1f s on one core, %.1f s of CPU time" % (
    sys.argv[1], time.monotonic() - start, used.ru_utime + used.ru_stime))' "${COUNT:-20000}" \
	vdsocheck --format line --from "$work/sql/clocks.jsonl" -o "$work/sql/lines"
for name in duckdb clickhouse; do
	check_fleet_sql $name
done
rm -r "$work/sql"
