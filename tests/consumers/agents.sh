# SPDX-License-Identifier: MIT
# Programs that test images, keep inventories or collect metrics, each with its lines of the manual.
# apt: ansible-core facter zabbix-agent
# pip: pytest-testinfra==10.2.2
# go: github.com/goss-org/goss/cmd/goss@v0.4.9
#
# Telegraf has hundreds of plugins, of which four are needed:
#   GOFLAGS=-tags=custom,inputs.exec,outputs.file,parsers.nagios make consumer-deps CONSUMER=agents
# go: github.com/influxdata/telegraf/cmd/telegraf@v1.37.2
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# lines_for PROGRAM: its lines in the manual.
lines_for() {
	awk -v item=".It $1" 'index($0, item) == 1 { found = 1 } found && /^\.Ed/ { exit }
		on; found && /^\.Bd/ { on = 1 }' "$here/../../man/vdsocheck-integration.7"
}

# check_each NAME COMMAND [WORD]...: of a program whose status says whether the host is accepted.
check_each() {
	name=$1
	shift
	for case in $verdict_cases; do
		run_with_verdict "${case%:*}" "$@"
		verify "$name: the manual's test ends with ${case#*:} for ${case%:*}" '[ "$status" -eq "${case#*:}" ]'
	done
}

check_tests() {
	if has goss; then
		lines_for goss >"$work/goss.yaml"
		check_each goss goss --gossfile "$work/goss.yaml" validate
	else
		skip "goss: the manual's test" 'no goss: make consumer-deps CONSUMER=agents'
	fi
	if python3 -c 'import testinfra' 2>/dev/null; then
		mkdir "$work/testinfra"
		lines_for testinfra >"$work/testinfra/test_clock.py"
		check_each testinfra python3 -m pytest -q -p no:cacheprovider "$work/testinfra"
	else
		skip "testinfra: the manual's test" 'no testinfra'
	fi
	skip "InSpec: the manual's test" 'in no registry that is reached here'
}

# executable PROGRAM FILE: its lines of the manual.
executable() {
	mkdir -p "${2%/*}"
	lines_for "$1" >"$2"
	chmod 755 "$2"
}

check_inventories() {
	if has ansible; then
		executable Ansible "$work/facts.d/clock.fact"
		run_with_verdict fallback env ANSIBLE_LOCAL_TEMP="$work/ansible" ANSIBLE_REMOTE_TEMP="$work/ansible" \
			ansible localhost -i localhost, -c local -m setup -a "fact_path=$work/facts.d filter=ansible_local"
		verify "Ansible: has the manual's local fact of a host that falls back" '[ "$status" -eq 0 ]' \
			'grep -q "\"verdict\": \"fallback\"" "$out"'
	else
		skip "Ansible: has the manual's local fact" 'no ansible'
	fi
	if has facter; then
		executable Facter "$work/facter/vdsocheck.sh"
		run_with_verdict fallback facter --external-dir "$work/facter" vdsocheck.verdict
		verify "Facter: has the manual's fact of a host that falls back" '[ "$(cat "$out")" = fallback ]'
	else
		skip "Facter: has the manual's fact" 'no facter'
	fi
}

check_collectors() {
	if has telegraf; then
		{
			lines_for Telegraf
			echo '[[outputs.file]]'
		} >"$work/telegraf.conf"
		run_with_verdict fallback telegraf --config "$work/telegraf.conf" --test
		verify 'Telegraf: has state and performance data of a host that falls back' '[ "$status" -eq 0 ]' \
			'grep -q "service_output=\"VDSOCHECK WARNING - fallback: .*,state=1i" "$out"' \
			'grep -q "^> nagios,.*perfdata=CLOCK_MONOTONIC" "$out"'
	else
		skip 'Telegraf: has state and performance data' 'no telegraf: make consumer-deps CONSUMER=agents'
	fi
	PATH=$PATH:/usr/sbin
	if has zabbix_agentd; then
		{
			echo Server=127.0.0.1
			lines_for Zabbix
		} >"$work/zabbix.conf"
		run_with_verdict fallback zabbix_agentd -c "$work/zabbix.conf" -t vdsocheck
		sed -i '1s/^.*|{/{/; $s/]$//' "$out"
		verify 'Zabbix: the item is the document of a host that falls back' \
			'[ "$("$document" get verdict <"$out")" = fallback ]'
	else
		skip 'Zabbix: the item is the document' 'no zabbix_agentd'
	fi
	skip 'PCP, OpenTelemetry: read what the manual names' 'takes a running systemd, or minutes to build'
	skip 'Checkmk: runs the plugin' 'in no registry that is reached here'
}

check_tests
check_inventories
check_collectors
