# SPDX-License-Identifier: MIT
# ssh and Ansible, which collect documents by the examples of vdsocheck-integration(7), and sort(1)
# and uniq(1), which count them.
# apt: ansible-core
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# In place of ssh(1): "ssh -n HOST vdsocheck ..." is that recorded host; the last is not reached.
make_ssh() {
	mkdir "$work/many" "$work/many/bin"
	printf '#!/bin/sh\nhost=$2\nshift 3\n[ "$host" != gone ] || exit 255\n%s\n' \
		'exec vdsocheck --from - "$@" <"$RECORDED/$host/document.json"' >"$work/many/bin/ssh"
	chmod 755 "$work/many/bin/ssh"
	printf '%s\n' lab-6.1-tsc xen-ec2 hpet-watchdog gone >"$work/many/hosts"
}

# collect LINE: runs the example that begins with it in the folder with the list of hosts.
collect() {
	example_of_manual "$1" vdsocheck-integration.7 >"$work/many/example"
	run env PATH="$work/many/bin:$PATH" RECORDED="$hosts" sh -c 'cd "$0" && . ./example' "$work/many"
}

check_ssh_example() {
	make_ssh
	collect 'mkdir clocks'
	verify 'fleet: the example with ssh collects the documents, and names the host that was not reached' \
		'[ "$status" -eq 3 ]' '[ "$(wc -l <"$work/many/clocks.jsonl")" -eq 3 ]' \
		'grep -q "clocks/gone.json: empty" "$err"'
	rm "$work/many/clocks/gone.json"
	collect 'vdsocheck --format line --from clocks/*.json >lines'
	verify 'fleet: the example with sort and uniq counts the hosts' '[ "$status" -eq 0 ]' 'is_empty "$err"' \
		'[ "$(grep -cE "^ +1 (ok tsc -|fallback xen xen-kernel-too-old|fallback hpet tsc-skewed)$" "$out")" -eq 3 ]'
	verify 'fleet: and lists those that are not ok, the slowest first' \
		'[ "$(sed -n 4p "$out" | cut -d" " -f 1)" = clocks/hpet-watchdog.json ]' \
		'[ "$(sed -n 5p "$out" | cut -d" " -f 1)" = clocks/xen-ec2.json ]' '[ "$(wc -l <"$out")" -eq 5 ]'
	collect 'cat clocks.jsonl | vdsocheck --format line --from -'
	verify 'fleet: the example with a stream prints a line for each document, and shows one' \
		'[ "$status" -eq 0 ]' 'is_empty "$err"' '[ "$(grep -c "^standard_input:" "$out")" -eq 3 ]' \
		'[ "$(grep -cE "^(OK|FALLBACK): " "$out")" -eq 1 ]'
	rm -r "$work/many/clocks"
}

check_ansible_example() {
	if ! has ansible-playbook; then
		skip 'fleet: the example with Ansible collects documents' 'no ansible-playbook'
		return
	fi
	mkdir "$work/many/clocks"
	example_of_manual '- hosts: all' vdsocheck-integration.7 >"$work/many/playbook.yml"
	export ANSIBLE_LOCAL_TEMP="$work/ansible" ANSIBLE_REMOTE_TEMP="$work/ansible" ANSIBLE_NOCOLOR=1
	run_with_verdict fallback ansible-playbook -i web-1,web-2, -c local "$work/many/playbook.yml"
	verify 'fleet: the example with Ansible does not fail on a slow host' '[ "$status" -eq 0 ]'
	run sh -c 'vdsocheck --format line --from "$1"/*.json' sh "$work/many/clocks"
	verify 'fleet: the example with Ansible collects a document of each host' '[ "$status" -eq 1 ]' \
		'[ "$(grep -c "/web-[12]\.json fallback " "$out")" -eq 2 ]'
}

is_empty() { [ ! -s "$1" ]; }

check_ssh_example
check_ansible_example
