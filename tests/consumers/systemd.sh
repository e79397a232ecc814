# SPDX-License-Identifier: MIT
# systemd, which runs the units of src/share/systemd.
# apt: systemd
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_systemd() {
	if ! has systemd-analyze; then
		skip 'systemd: the units are valid and confined' 'no systemd-analyze'
		return
	fi
	mkdir "$work/units"
	for unit in "$share"/systemd/*; do
		sed "s|@bindir@|${program%/*}|" "$unit" >"$work/units/${unit##*/}"
	done
	run systemd-analyze verify --man=no "$work"/units/*
	verify 'systemd-analyze verify: the units have no mistake' '[ "$status" -eq 0 ]' \
		'[ ! -s "$out" ]' '[ ! -s "$err" ]'
	for unit in vdsocheck.service vdsocheck-watch.service; do
		run systemd-analyze security --no-pager --offline=true --threshold=20 "$work/units/$unit"
		if grep -q 'unrecognized option' "$err"; then
			skip "systemd-analyze security: $unit is below 2.0" 'this systemd is older than 250'
		else
			verify "systemd-analyze security: $unit is below 2.0" '[ "$status" -eq 0 ]' \
				'grep -q "Overall exposure level" "$out"'
		fi
	done
}

check_systemd
