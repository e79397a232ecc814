# SPDX-License-Identifier: MIT
# Kubernetes' node-problem-detector: the configuration in src/share, in the program itself, without a
# cluster. It reports a problem as a metric.
# apt: curl
# go: k8s.io/node-problem-detector/cmd/nodeproblemdetector@v1.34.0
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# detect NAME OPTION VALUE: runs it on the configuration, with this option for vdsocheck; its metrics
# go to $out.
detect() {
	port=$(free_port)
	sed "s,@bindir@/vdsocheck,$program,; s,\"--format\",\"$2\"\, \"$3\"\, &," \
		"$share/node-problem-detector/vdsocheck.json" >"$work/$1.json"
	start "$1" nodeproblemdetector --enable-k8s-exporter=false --port=0 --prometheus-port="$port" \
		--config.custom-plugin-monitor="$work/$1.json" --v=3
	wait_for 20 grep -q 'Finish running custom plugins' "$work/$1.log"
	sleep 0.3
	run curl -sf "http://127.0.0.1:$port/metrics"
}

# has_problem 0|1: whether the condition is reported as present.
has_problem() {
	grep -q "^problem_gauge{reason=\"ClockCallsAreSystemCalls\",type=\"ClockFallback\"} $1\$" "$out"
}

check_detector() {
	name='node-problem-detector: reads the configuration and reports'
	if ! has nodeproblemdetector || ! has curl || ! has python3; then
		skip "$name" 'no nodeproblemdetector, curl or python3'
		return
	fi
	detect bad --from "$hosts/case-01-ec2-xen/document.json"
	verify "$name the problem of a host that falls back" 'has_problem 1'
	run vdsocheck --format summary --from "$hosts/case-01-ec2-xen/document.json"
	verify 'node-problem-detector: has our summary as its message, uncut' \
		'grep -qF "Message:$(cat "$out")" "$work/bad.log"'
	detect good --from "$hosts/case-04b-c5-tsc/document.json"
	verify "$name no problem of a good host" 'has_problem 0'
	detect strict --require jiffies
	verify "$name a requirement that is not met" 'has_problem 1'
	detect captured --from "$hosts/captured-xen-ec2/document.json"
	verify "$name no problem where it is undetermined" 'has_problem 0'
	detect failing --from "$work/none.json"
	verify "$name no problem where vdsocheck fails" 'has_problem 0'
}

check_detector
