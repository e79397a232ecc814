# SPDX-License-Identifier: MIT
# Nagios: --format nagios as a plugin, under those of monitoring-plugins that wrap another one, and
# under Nagios itself.
# apt: monitoring-plugins-basic nagios4-core
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

PATH=$PATH:/usr/lib/nagios/plugins:/usr/lib/monitoring-plugins:/usr/lib64/nagios/plugins
good=$hosts/case-04b-c5-tsc/document.json
bad=$hosts/case-01-ec2-xen/document.json
captured=$hosts/captured-xen-ec2/document.json

# The example of the manual, for a host that falls back.
check_negate() {
	if ! has negate; then
		skip 'negate: changes the state of our plugin' 'no negate (monitoring-plugins-basic)'
		return
	fi
	sed -n 's/^\.Dl negate/negate/p' "$here/../../man/vdsocheck-integration.7" >"$work/example"
	sed -i "s,@bindir@/vdsocheck,$program --from $bad," "$work/example"
	run sh "$work/example"
	verify "negate: the manual's example makes a fallback critical, in status and text" \
		'[ "$status" -eq 2 ]' 'grep -q "^VDSOCHECK CRITICAL - fallback: .*|" "$out"'
	run negate -s "$program" --format nagios --from "$good"
	verify 'negate: an ok host becomes critical' '[ "$status" -eq 2 ]' \
		'grep -q "^VDSOCHECK CRITICAL - " "$out"'
	run negate -s -u OK "$program" --format nagios --from "$captured"
	verify 'negate: an undetermined host can be made ok' '[ "$status" -eq 0 ]' \
		'grep -q "^VDSOCHECK OK - " "$out"'
	run negate -w CRITICAL "$program" --format nagios --from "$work/none.json"
	verify 'negate: a failure of vdsocheck itself stays unknown' '[ "$status" -eq 3 ]'
}

check_urlize() {
	if ! has urlize; then
		skip 'urlize: keeps status and performance data of our plugin' 'no urlize (monitoring-plugins-basic)'
		return
	fi
	run urlize https://example.org/clock "$program --format nagios --from $bad"
	verify 'urlize: keeps status and performance data of our plugin' '[ "$status" -eq 1 ]' \
		'grep -q "https://example.org/clock.*VDSOCHECK WARNING - .*|  *gettimeofday=" "$out"'
}

# service NAME WORD...: a service of Nagios that runs vdsocheck with these words.
service() {
	cat <<-END
		define service {
			use base
			service_description $1
			check_command $1
		}
		define command {
			command_name $1
			command_line $program --format nagios $2
		}
	END
}

write_nagios() {
	cat >"$work/nagios.cfg" <<-END
		cfg_file=$work/objects.cfg
		log_file=$work/nagios.log
		object_cache_file=$work/objects.cache
		precached_object_file=$work/objects.precache
		status_file=$work/status.dat
		state_retention_file=$work/retention.dat
		command_file=$work/nagios.cmd
		lock_file=$work/nagios.lock
		temp_file=$work/nagios.tmp
		temp_path=$work
		check_result_path=$work/results
		query_socket=$work/nagios.qh
		log_archive_path=$work
		nagios_user=$(id -un)
		nagios_group=$(id -gn)
		interval_length=1
		status_update_interval=1
		service_inter_check_delay_method=n
		max_service_check_spread=1
		check_external_commands=0
		use_syslog=0
	END
	cat >"$work/objects.cfg" <<-END
		define timeperiod {
			timeperiod_name always
			alias always
			monday 00:00-24:00
			tuesday 00:00-24:00
			wednesday 00:00-24:00
			thursday 00:00-24:00
			friday 00:00-24:00
			saturday 00:00-24:00
			sunday 00:00-24:00
		}
		define command {
			command_name none
			command_line /bin/true
		}
		define contact {
			contact_name admin
			host_notification_commands none
			service_notification_commands none
			host_notification_period always
			service_notification_period always
		}
		define host {
			host_name here
			address 127.0.0.1
			check_command none
			check_period always
			max_check_attempts 1
			contacts admin
		}
		define service {
			name base
			register 0
			host_name here
			check_period always
			check_interval 1
			retry_interval 1
			max_check_attempts 1
			contacts admin
		}
	END
	service good "--from $good"
	service bad "--from $bad"
	service strict "--from $good --require kvm-clock --max-ns 50"
	service here ''
}

# value SERVICE KEY: of the service's block in Nagios's status file.
value() {
	sed -n "/service_description=$1\$/,/}/s/^[[:space:]]*$2=//p" "$work/status.dat"
}

check_nagios() {
	name='Nagios: has state, text and performance data of our plugin'
	if ! has nagios4; then
		skip "$name" 'no nagios4'
		return
	fi
	mkdir -p "$work/results"
	write_nagios >"$work/services"
	cat "$work/services" >>"$work/objects.cfg"
	run nagios4 -v "$work/nagios.cfg"
	verify 'Nagios: accepts the commands' '[ "$status" -eq 0 ]'
	start nagios nagios4 "$work/nagios.cfg"
	all_checked() { [ "$(grep -c 'plugin_output=VDSOCHECK ' "$work/status.dat")" -ge 4 ]; }
	wait_for 30 all_checked
	verify "$name: good" '[ "$(value good current_state)" = 0 ]' \
		'value good plugin_output | grep -q "^VDSOCHECK OK - .* are served by the vDSO: 23 ns"' \
		'value good performance_data | grep -q "^gettimeofday=0.0230us;;;0 .* entered_kernel=0%;;;0;100$"'
	verify "$name: bad" '[ "$(value bad current_state)" = 1 ]' \
		'value bad long_plugin_output | grep -q "^Why: "'
	verify "$name: a requirement that is not met" '[ "$(value strict current_state)" = 2 ]' \
		'value strict plugin_output | grep -q "^VDSOCHECK CRITICAL - --require kvm-clock is not met"' \
		'value strict performance_data | grep -q "gettimeofday=0.0230us;;0.0500;0 "'
	run vdsocheck --format nagios
	verify "$name: this host" '[ "$(value here current_state)" = "$status" ]'
}

check_negate
check_urlize
check_nagios
