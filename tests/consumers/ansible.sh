# SPDX-License-Identifier: MIT
# ansible-playbook, which runs the playbooks of the manual as they stand.
# apt: ansible-core
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

check_ansible() {
	if ! has ansible-playbook; then
		skip 'ansible: runs the example of the manual' 'no ansible-playbook'
		return
	fi
	example_of_manual '- name: Check a host' vdsocheck-integration.7 >"$work/playbook.yml"
	export ANSIBLE_LOCAL_TEMP="$work/ansible" ANSIBLE_REMOTE_TEMP="$work/ansible" ANSIBLE_NOCOLOR=1
	for case in $verdict_cases; do
		run_with_verdict "${case%:*}" ansible-playbook -i localhost, -c local "$work/playbook.yml"
		# It ends with 2 if a host failed.
		verify "ansible: the playbook ends as it should for ${case%:*}" \
			'[ "$status" -eq $((${case#*:} * 2)) ]' \
			'grep -q "changed=0 .*failed=${case#*:}" "$out"'
		[ "${case#*:}" -eq 0 ] ||
			verify "ansible: the playbook shows the summary of a host that is ${case%:*}" \
				'grep -qE "\"msg\": \".*(clock_gettime\(\)|the clock calls)" "$out"'
	done
	example_of_manual '- hosts: all' vdsocheck-integration.7 >"$work/playbook.yml"
	run_with_verdict fallback ansible-playbook -i localhost, -c local "$work/playbook.yml"
	verify 'ansible: the playbook for fleets fetches the document of a host that falls back' \
		'[ "$status" -eq 0 ]' '[ "$("$document" get verdict <"$work/clocks/localhost.json")" = fallback ]'
}

check_ansible
