# SPDX-License-Identifier: MIT
# cloud-init, with the user data of the manual: its schema accepts it, and the script that it makes
# of it is run.
# apt: cloud-init
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_cloud_init() {
	if ! has cloud-init; then
		skip 'cloud-init: runs the example of the manual' 'no cloud-init'
		return
	fi
	example_of_manual '#cloud-config' vdsocheck-integration.7 >"$work/user-data"
	run cloud-init schema --config-file "$work/user-data"
	verify 'cloud-init: its schema accepts the example' '[ "$status" -eq 0 ]' \
		'grep -q "^Valid cloud-config" "$out"'
	# What its module cc_runcmd writes, made by its own function.
	run /usr/bin/python3 -c 'import sys, yaml
from cloudinit import util
sys.stdout.write(util.shellify(yaml.safe_load(open(sys.argv[1]))["runcmd"]))' "$work/user-data"
	cp "$out" "$work/runcmd"
	for case in $verdict_cases; do
		run_with_verdict "${case%:*}" sh "$work/runcmd"
		verify "cloud-init: the example ends with ${case#*:} for ${case%:*}" \
			'[ "$status" -eq "${case#*:}" ]' 'grep -qi "^${case%:*}: " "$out"'
	done
	run env PATH="$work/nothing" /bin/sh "$work/runcmd"
	verify 'cloud-init: the example fails where vdsocheck is missing' '[ "$status" -ne 0 ]'
}

check_cloud_init
