# SPDX-License-Identifier: MIT
# Terraform, Packer, GitHub Actions and GitLab CI: a parser or the schema of each accepts the example of
# vdsocheck-integration(7), and its words accept a host as they should.
# apt: python3 python3-venv jq
# pip: python-hcl2 check-jsonschema
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# accepts NAME STATUS-OF-UNKNOWN COMMAND...: for each verdict; a status of 1 refuses the host.
accepts() {
	name=$1
	unknown=$2
	shift 2
	for case in $verdict_cases; do
		run_with_verdict "${case%:*}" "$@"
		expected=${case#*:}
		[ "${case%:*}" != unknown ] || expected=$unknown
		verify "$name: the example ends with $expected for ${case%:*}" '[ "$status" -eq "$expected" ]'
	done
}

# hcl FILE KEY...: a value of what python-hcl2 reads in the file, without its quotes.
hcl() {
	python3 -c '
import sys, hcl2
value = hcl2.loads(open(sys.argv[1]).read())
for key in sys.argv[2:]:
    value = value[int(key)] if isinstance(value, list) else value[key if key in value else f"\"{key}\""]
print(value.strip("\"") if isinstance(value, str) else value)' "$@"
}

check_hcl() {
	if ! python3 -c 'import hcl2' 2>/dev/null; then
		skip 'Terraform, Packer: the examples are parsed' 'no python-hcl2'
		return
	fi
	example_of_manual 'resource "terraform_data" "clock" {' vdsocheck-integration.7 >"$work/clock.tf"
	words=$(hcl "$work/clock.tf" resource 0 terraform_data clock provisioner 0 remote-exec inline 0)
	accepts 'Terraform: remote-exec' 0 sh -c "$words"
	verify 'Terraform: the check accepts ok and unknown' 'hcl "$work/clock.tf" check 0 clock assert 0 condition |
		grep -qF "contains([\"ok\", \"unknown\"], data.external.clock.result.verdict)"'
	if has jq; then
		words=$(hcl "$work/clock.tf" check 0 clock data 0 external clock program 2)
		run_with_verdict fallback sh -c "$words"
		verify 'Terraform: its data source gets an object of texts' '[ "$(jq -r .verdict "$out")" = fallback ]'
	else
		skip 'Terraform: its data source gets an object of texts' 'no jq'
	fi
	example_of_manual 'build {' vdsocheck-integration.7 >"$work/clock.pkr.hcl"
	accepts Packer 2 sh -c "$(hcl "$work/clock.pkr.hcl" build 0 provisioner 0 shell inline 0)"
	verify 'Packer: 0 and 2 are valid exit codes' \
		'[ "$(hcl "$work/clock.pkr.hcl" build 0 provisioner 0 shell valid_exit_codes)" = "[0, 2]" ]'
}

check_schemas() {
	if ! has check-jsonschema; then
		skip 'GitHub Actions, GitLab CI: the examples keep their schemas' 'no check-jsonschema'
		return
	fi
	example_of_manual 'on: workflow_dispatch' vdsocheck-integration.7 >"$work/workflow.yml"
	run check-jsonschema --builtin-schema vendor.github-workflows "$work/workflow.yml"
	verify 'GitHub Actions: the example keeps the schema of workflows' '[ "$status" -eq 0 ]'
	accepts 'GitHub Actions' 0 sh -c "$(sed -n 's/^ *- run: //p' "$work/workflow.yml")"
	example_of_manual 'clock:' vdsocheck-integration.7 >"$work/gitlab.yml"
	run check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$work/gitlab.yml"
	verify 'GitLab CI: the example keeps its schema' '[ "$status" -eq 0 ]'
	sed 's/exit_codes/exit_code/' "$work/gitlab.yml" >"$work/wrong.yml"
	run check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$work/wrong.yml"
	verify 'GitLab CI: the schema notices a key that there is not' '[ "$status" -ne 0 ]'
	accepts 'GitLab CI, of which 2 may fail' 2 sh -c "$(sed -n 's/^ *script: //p' "$work/gitlab.yml")"
}

check_hcl
check_schemas
