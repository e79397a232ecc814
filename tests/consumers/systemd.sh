# SPDX-License-Identifier: MIT
# systemd, which runs the units of src/share/systemd.
# apt: systemd systemd-container
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

install_units() {
	mkdir -p "$work/units" "$work/told"
	for unit in "$share"/systemd/*; do
		sed "s|@bindir@|$1|" "$unit" >"$work/units/${unit##*/}"
	done
}

check_units() {
	if ! has systemd-analyze; then
		skip 'systemd: the units are valid and confined' 'no systemd-analyze'
		return
	fi
	install_units "${program%/*}"
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

# The units are run by a systemd that boots from this machine's /usr, with all else in memory.
check_boot() {
	if [ "$(id -u)" -ne 0 ] || ! has systemd-nspawn; then
		skip 'systemd: the units run' 'needs root and systemd-nspawn'
		return
	fi
	install_units /opt/bin
	# The manual's example.
	{
		sed -n '/^\[Service\]$/,/^\.Ed/{/^\.Ed/d; s|@bindir@|/opt/bin|; p;}' "$share/../../man/vdsocheck.1"
		echo 'Type=oneshot'
		echo 'ExecStart=/bin/true'
	} >"$work/units/gated.service"
	cat >"$work/units/try.service" <<-'END'
		[Unit]
		Wants=vdsocheck-watch.service
		After=vdsocheck-watch.service
		[Service]
		Type=oneshot
		ExecStart=/opt/told/try
		ExecStopPost=/bin/systemctl poweroff --no-block
	END
	cat >"$work/told/try" <<-'END'
		#!/bin/sh
		exec >/opt/told/log 2>&1
		systemctl show -p ActiveState,StatusText,User vdsocheck-watch
		systemctl stop vdsocheck-watch
		systemctl show -p Result,ExecMainStatus vdsocheck-watch
		mkdir -p /var/lib/prometheus/node-exporter
		systemctl start vdsocheck.service && echo written
		cp /var/lib/prometheus/node-exporter/vdsocheck.prom /opt/told/
		systemctl start gated.service
		systemctl show -p Result gated | sed 's/^/gated: /'
	END
	chmod 755 "$work/told/try"
	run systemd-nspawn -q -D / --volatile=yes --register=no --keep-unit --bind-ro="$work/bin:/opt/bin" \
		--bind-ro="$work/units:/run/systemd/system" --bind="$work/told:/opt/told" \
		/lib/systemd/systemd --unit=try.service \
		systemd.mask=systemd-firstboot.service
	cp "$work/told/log" "$out" 2>/dev/null || {
		skip 'systemd: the units run' 'systemd-nspawn cannot boot here'
		return
	}
	verify 'systemd: vdsocheck-watch.service is ready with its state, and ends with success' \
		'grep -qx ActiveState=active "$out"' 'grep -qE "^StatusText=(ok|fallback|slow|wrong|unknown): " "$out"' \
		'grep -qx Result=success "$out"' 'grep -qx ExecMainStatus=0 "$out"'
	verify 'systemd: vdsocheck.service writes for node_exporter' 'grep -qx written "$out"' \
		'grep -q "^vdsocheck_" "$work/told/vdsocheck.prom"'
	expected=exec-condition
	! vdsocheck -q || expected=success
	verify 'systemd: a service with the ExecCondition= of the manual starts where the verdict is ok' \
		'grep -q ^ExecCondition=/opt/bin/ "$work/units/gated.service"' \
		'grep -qx "gated: Result=$expected" "$out"'
}

check_units
check_boot
