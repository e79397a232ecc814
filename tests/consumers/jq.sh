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
}

check_jq
