# SPDX-License-Identifier: MIT
# ssh and Ansible, which collect the documents for fleet by the examples of vdsocheck-fleet(1).
# apt: ansible-core
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# In place of ssh(1): "ssh -n HOST vdsocheck ..." is that recorded host; the last is not reached.
make_ssh() {
	mkdir "$work/many" "$work/many/bin"
	printf '#!/bin/sh\nhost=$2\nshift 3\n[ "$host" != gone ] || exit 255\n%s\n' \
		'exec vdsocheck --from - "$@" <"$RECORDED/$host/document.json"' >"$work/many/bin/ssh"
	chmod 755 "$work/many/bin/ssh"
	printf '%s\n' lab-6.1-tsc xen-ec2 gone >"$work/many/hosts"
}

# collect NAME: runs an example in the folder with the list of hosts.
collect() {
	run env PATH="$work/many/bin:$PATH" RECORDED="$hosts" sh -c 'cd "$0" && . ./example' "$work/many"
}

check_ssh_example() {
	make_ssh
	example_of_manual 'mkdir clocks' vdsocheck-fleet >"$work/many/example"
	collect
	verify 'fleet: the example with ssh sums up the hosts, and names the one that was not reached' \
		'[ "$status" -eq 1 ]' \
		'head -n 1 "$out" | grep -qx "FALLBACK: 1 of 2 hosts has this verdict, 1 is ok. 1 document was not read."' \
		'grep -q "clocks/gone.json:1: empty" "$err"'
	rm "$work/many/clocks/gone.json"
	example_of_manual 'vdsocheck --json --from clocks/*.json >clocks.jsonl' vdsocheck-fleet \
		>"$work/many/example"
	collect
	verify 'fleet: the example with one file sums up its hosts and shows one' '[ "$status" -eq 1 ]' \
		'is_empty "$err"' '[ "$(grep -c "^FALLBACK: " "$out")" -eq 2 ]'
	rm -r "$work/many/clocks"
}

check_ansible_example() {
	if ! has ansible-playbook; then
		skip 'fleet: the example with Ansible collects documents' 'no ansible-playbook'
		return
	fi
	mkdir "$work/many/clocks"
	example_of_manual '- hosts: all' vdsocheck-fleet >"$work/many/playbook.yml"
	export ANSIBLE_LOCAL_TEMP="$work/ansible" ANSIBLE_REMOTE_TEMP="$work/ansible" ANSIBLE_NOCOLOR=1
	run_with_verdict fallback ansible-playbook -i web-1,web-2, -c local "$work/many/playbook.yml"
	verify 'fleet: the example with Ansible does not fail on a slow host' '[ "$status" -eq 0 ]'
	run vdsocheck fleet "$work/many/clocks"
	verify 'fleet: the example with Ansible collects a document of each host' '[ "$status" -eq 1 ]' \
		'head -n 1 "$out" | grep -q "2 of 2 hosts have this verdict, 0 are ok"' 'grep -q "/web-2\.json$" "$out"'
}

is_empty() { [ ! -s "$1" ]; }

check_ssh_example
check_ansible_example
