# SPDX-License-Identifier: MIT
# Prometheus: its linter, node_exporter's textfile collector, the alert rules, and each query of the
# Grafana dashboard in a server that scrapes two hosts.
# apt: prometheus prometheus-node-exporter curl
# pip: grafana-foundation-sdk
# By hand: dashboard-linter (github.com/grafana/dashboard-linter), since the Go proxy that CI has does
# not serve it nor all of its modules. Its commit 1be3836 builds in minutes without the two LogQL rules.
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

metrics=$work/metrics
rules=$share/prometheus/vdsocheck.rules.yml
dashboard=$share/grafana/vdsocheck.json

check_metrics() {
	name='promtool check metrics: has nothing to say about the metrics'
	if ! has promtool; then
		skip "$name" 'no promtool'
		return
	fi
	run sh -c 'vdsocheck --format prometheus --require tsc | promtool check metrics'
	verify "$name of this host" '[ "$status" -eq 0 ]' '[ ! -s "$out" ]' '[ ! -s "$err" ]'
	for command in bench compare trace warp; do
		vdsocheck "$command" --help | grep -q prometheus || continue
		vdsocheck "$command" --format prometheus -d 10ms -o "$work/sample" || :
		run promtool check metrics <"$work/sample"
		verify "$name of $command" '[ "$status" -eq 0 ]' '[ -s "$work/sample" ]' '[ ! -s "$err" ]'
	done
	sed -n 's/^== \([^ ]*\) --format prometheus$/\1/p' "$hosts/printed.txt" >"$work/with_metrics"
	while read -r host; do
		sed "1,/^== $host --format prometheus\$/d; /^== /,\$d" "$hosts/printed.txt" >"$work/sample"
		run promtool check metrics <"$work/sample"
		verify "$name of $host" '[ "$status" -eq 0 ]' '[ -s "$work/sample" ]' '[ ! -s "$err" ]'
	done <"$work/with_metrics"
}

check_rules() {
	if ! has promtool; then
		skip 'promtool: the alert rules are valid, and fire when they have to' 'no promtool'
		return
	fi
	run promtool check rules --lint=all --lint-fatal "$rules"
	verify 'promtool check rules: the alert rules are valid' '[ "$status" -eq 0 ]'
	cp "$rules" "$here/prometheus/rules_test.yml" "$work"
	run promtool test rules "$work/rules_test.yml"
	verify 'promtool test rules: each alert fires on the host with the problem, after its time' \
		'[ "$status" -eq 0 ]'
	sed 's/verdict="fallback"} == 1/verdict="fallback"} == 2/' "$rules" >"$work/vdsocheck.rules.yml"
	run promtool test rules "$work/rules_test.yml"
	verify 'promtool test rules: notices a rule that never fires' '[ "$status" -ne 0 ]'
}

# start_exporter NAME: node_exporter on what is in $metrics/NAME; its address is in $exporter.
start_exporter() {
	exporter=127.0.0.1:$(free_port)
	start "exporter-$1" prometheus-node-exporter --web.listen-address="$exporter" \
		--collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$metrics/$1"
	wait_for 20 curl -sf "http://$exporter/metrics"
}

check_exporter() {
	name='node_exporter: its textfile collector serves each of our samples'
	if ! has prometheus-node-exporter || ! has curl || ! has python3; then
		skip "$name" 'no prometheus-node-exporter, curl or python3'
		return
	fi
	mkdir -p "$metrics/here" "$metrics/there"
	vdsocheck --format prometheus -o "$metrics/here/vdsocheck.prom" || :
	vdsocheck --from "$hosts/case-01-ec2-xen/document.json" --require tsc --format prometheus \
		-o "$metrics/there/vdsocheck.prom" || :
	start_exporter there
	there=$exporter
	start_exporter here
	run curl -sf "http://$exporter/metrics"
	# The collector sorts labels and writes numbers its own way: names are enough here.
	grep '^vdsocheck_' "$out" | sed 's/{.*//; s/ .*//' | sort >"$work/served"
	cat "$metrics/here"/*.prom | grep '^vdsocheck_' | sed 's/{.*//; s/ .*//' | sort >"$work/written"
	verify "$name" 'grep -q "^node_textfile_scrape_error 0$" "$out"' '[ -s "$work/written" ]' \
		'cmp "$work/served" "$work/written"'
	verify 'node_exporter: its time of the file is there for the alert on old metrics' \
		'grep -q "^node_textfile_mtime_seconds{file=.*/vdsocheck.prom" "$out"'
	run curl -sf "http://$there/metrics"
	verify 'node_exporter: serves the verdict of another host' \
		'grep -q "^vdsocheck_verdict{verdict=.fallback.} 1$" "$out"'
}

check_dashboard() {
	name="Grafana's model of a dashboard keeps all of ours"
	if ! python3 -c 'import grafana_foundation_sdk' 2>/dev/null; then
		skip "$name" 'no grafana-foundation-sdk'
		return
	fi
	run python3 "$here/prometheus/dashboard.py" model "$dashboard"
	verify "$name" '[ "$status" -eq 0 ]' '[ ! -s "$out" ]'
	sed 's/"gridPos"/"gridpos"/' "$dashboard" >"$work/wrong.json"
	run python3 "$here/prometheus/dashboard.py" model "$work/wrong.json"
	verify "$name, and notices a key that it does not know" '[ "$status" -ne 0 ] || [ -s "$out" ]'
}

check_linter() {
	name="Grafana's dashboard-linter has nothing to report about the dashboard"
	if ! has dashboard-linter; then
		skip "$name" 'no dashboard-linter'
		return
	fi
	run dashboard-linter lint --strict "$dashboard"
	verify "$name" '[ "$status" -eq 0 ]'
	sed 's/,instance=~\\"$instance\\"//' "$dashboard" >"$work/wrong.json"
	run dashboard-linter lint --strict "$work/wrong.json"
	verify "$name, and notices a query of all hosts" '[ "$status" -ne 0 ]'
}

# $1: a query that has to have a result.
has_result() {
	promtool query instant "http://$server" "$1" | grep -q '=>'
}

check_server() {
	name='Prometheus: each query of the dashboard has a result'
	if [ -z "${exporter-}" ] || ! has prometheus; then
		skip "$name" 'no prometheus, or no exporter to scrape'
		return
	fi
	server=127.0.0.1:$(free_port)
	cp "$rules" "$work"
	cat >"$work/prometheus.yml" <<-END
		global: {scrape_interval: 1s, evaluation_interval: 1s}
		rule_files: [vdsocheck.rules.yml]
		scrape_configs:
		  - job_name: node
		    static_configs: [{targets: ["$exporter", "$there"]}]
	END
	start prometheus prometheus --config.file="$work/prometheus.yml" \
		--storage.tsdb.path="$work/tsdb" --web.listen-address="$server" \
		--web.console.templates="$work" --web.console.libraries="$work"
	wait_for 30 has_result "vdsocheck_verdict{instance=\"$exporter\"} and on() \
		vdsocheck_verdict{instance=\"$there\"}"
	python3 "$here/prometheus/dashboard.py" queries "$dashboard" >"$work/queries"
	verify 'the dashboard has queries' '[ "$(lines "$work/queries")" -gt 8 ]'
	while read -r query; do
		wait_for 10 has_result "$query"
		verify "$name: $query" 'has_result "$query"'
	done <"$work/queries"
	wait_for 10 has_result 'ALERTS{alertname="ClockCallsAreSystemCalls"}'
	verify 'Prometheus: the alert of the host that falls back is pending' \
		'has_result "ALERTS{alertname=\"ClockCallsAreSystemCalls\", instance=\"$there\"}"'
}

check_metrics
check_rules
check_exporter
check_dashboard
check_linter
check_server
