# SPDX-License-Identifier: MIT
# jq, by which scripts read --json.
# apt: jq
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_jq() {
	if ! has jq; then
		skip 'jq: reads the verdict of --json' 'no jq'
		return
	fi
	run sh -c 'vdsocheck --json | jq -r .verdict'
	verify 'jq: reads the verdict of --json' '[ "$status" -eq 0 ]' \
		'grep -qxE "ok|fallback|slow|wrong|unknown" "$out"'
	run sh -c 'vdsocheck --from "$0"/*/document.json --json | jq -s "map(.verdict) | length"' "$hosts"
	verify 'jq: reads the documents of several hosts, a line each' \
		'[ "$(cat "$out")" -eq "$(find "$hosts" -name document.json | wc -l)" ]'
	# The manual's command, with a document in which one call takes twice as long.
	awk '/^jq -rn/ { inside = 1 } /^\.Ed/ { inside = 0 } inside' "$here/../../man/vdsocheck-bench.1" |
		sed 's/\\e$/\\/' >"$work/compare"
	(cd "$work" && vdsocheck bench -d 50ms --json -o before.json &&
		jq '.calls |= map(if .call == "gettimeofday" and .path == "libc"
			then .min_ns = 10 * .batch_p99_ns else .min_ns = .batch_p99_ns end)' before.json >after.json)
	run sh -c 'cd "$0" && . ./compare' "$work"
	verify "jq: the manual's comparison of benchmarks names the call that got slower" '[ "$status" -eq 0 ]' \
		'[ "$(cut -f 1,3 "$out")" = "gettimeofday	libc" ]'
	run sh -c 'cd "$0" && cp before.json after.json && . ./compare' "$work"
	verify "jq: and none if none did" '[ "$status" -eq 0 ]' '[ ! -s "$out" ]'
}

check_jq
