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
	run systemd-analyze security --no-pager --offline=true --threshold=20 "$work/units/vdsocheck.service"
	if grep -q 'unrecognized option' "$err"; then
		skip 'systemd-analyze security: vdsocheck.service is below 2.0' 'this systemd is older than 250'
	else
		verify 'systemd-analyze security: vdsocheck.service is below 2.0' '[ "$status" -eq 0 ]' \
			'grep -q "Overall exposure level" "$out"'
	fi
	# The manual's drop-in.
	mkdir "$work/units/vdsocheck.service.d"
	example_of_manual '[Unit]' vdsocheck-integration.7 | sed "s|@bindir@|${program%/*}|" \
		>"$work/units/vdsocheck.service.d/alarm.conf"
	run systemd-analyze verify --man=no "$work/units/vdsocheck.service"
	verify 'systemd-analyze verify: nor has the drop-in of the manual that reports failures' '[ "$status" -eq 0 ]' \
		'[ ! -s "$out" ]' '[ ! -s "$err" ]' 'grep -q ^OnFailure= "$work/units/vdsocheck.service.d/alarm.conf"'
	sed -i 's/^OnFailure=.*/&.none/' "$work/units/vdsocheck.service.d/alarm.conf"
	run systemd-analyze verify --man=no "$work/units/vdsocheck.service"
	verify 'systemd-analyze verify: notices a unit that OnFailure= names wrongly' '[ -s "$err" ]'
	rm -r "$work/units/vdsocheck.service.d"
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
		echo '[Service]'
		sed -n 's|@bindir@|/opt/bin|; /^ExecCondition=/p' "$share/../../man/vdsocheck-integration.7"
		echo 'Type=oneshot'
		echo 'ExecStart=/bin/true'
	} >"$work/units/gated.service"
	# In place of a check of a host that falls back; the manual's drop-in is of another unit here.
	printf '#!/bin/sh\nexec /opt/bin/vdsocheck --from /opt/told/fallback.json "$@"\n' >"$work/told/vdsocheck"
	chmod 755 "$work/told/vdsocheck"
	cp "$hosts/xen-ec2/document.json" "$work/told/fallback.json"
	mkdir "$work/units/vdsocheck.service.d" "$work/units/vdsocheck-failed.service.d"
	example_of_manual '[Unit]' vdsocheck-integration.7 | sed 's|@bindir@|/opt/told|' \
		>"$work/units/vdsocheck.service.d/alarm.conf"
	printf '[Service]\nExecStart=\nExecStart=/opt/told/vdsocheck --format summary\nStandardOutput=%s\n' \
		'append:/opt/told/alarm' >"$work/units/vdsocheck-failed.service.d/told.conf"
	cat >"$work/units/try.service" <<-'END'
		[Service]
		Type=oneshot
		ExecStart=/opt/told/try
		ExecStopPost=/bin/systemctl poweroff --no-block
	END
	cat >"$work/told/try" <<-'END'
		#!/bin/sh
		exec >/opt/told/log 2>&1
		systemctl start vdsocheck.service || echo failed
		systemctl start vdsocheck-failed.service
		rm /run/systemd/system/vdsocheck.service.d/alarm.conf && systemctl daemon-reload
		mkdir -p /var/lib/prometheus/node-exporter
		systemctl start vdsocheck.service && echo written
		cp /var/lib/prometheus/node-exporter/vdsocheck.prom /opt/told/
		systemctl start gated.service
		systemctl show -p Result gated | sed 's/^/gated: /'
	END
	chmod 755 "$work/told/try"
	run systemd-nspawn -q -D / --volatile=yes --register=no --keep-unit --bind-ro="$work/bin:/opt/bin" \
		--bind="$work/units:/run/systemd/system" --bind="$work/told:/opt/told" \
		/lib/systemd/systemd --unit=try.service \
		systemd.mask=systemd-firstboot.service
	cp "$work/told/log" "$out" 2>/dev/null || {
		skip 'systemd: the units run' 'systemd-nspawn cannot boot here'
		return
	}
	verify 'systemd: OnFailure= of the manual reports a host that falls back' 'grep -qx failed "$out"' \
		'grep -q "^fallback: " "$work/told/alarm"'
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
