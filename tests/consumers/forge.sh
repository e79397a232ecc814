# SPDX-License-Identifier: MIT
# The forge's workflows and issue forms, read by actionlint and by their JSON Schemas; and the licence of each
# file, read by reuse.
# pip: check-jsonschema==0.39.0 reuse==6.2.0
# go: github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

forge=$here/../../.github

# check_forge SCHEMA FILE...
check_forge() {
	schema=$1
	shift
	run check-jsonschema --builtin-schema "vendor.$schema" "$@"
	verify "forge: the files of .github are valid by the schema $schema" '[ "$status" -eq 0 ]'
}

if has check-jsonschema; then
	check_forge github-workflows "$forge"/workflows/*.yml
	check_forge github-issue-forms "$forge/ISSUE_TEMPLATE/host.yml" "$forge/ISSUE_TEMPLATE/other.yml"
else
	skip 'forge: workflows and forms are valid by their schemas' 'no check-jsonschema'
fi
if has actionlint; then
	run actionlint "$forge"/workflows/*.yml
	verify 'forge: actionlint finds nothing in the workflows' '[ "$status" -eq 0 ]'
else
	skip 'forge: actionlint finds nothing in the workflows' 'no actionlint'
fi
name='reuse: each file has a copyright and a licence'
if ! has reuse; then
	skip "$name" 'no reuse'
elif ! git -C "$here" rev-parse -q --verify HEAD >/dev/null 2>&1; then
	skip "$name" 'not a git repository'
else
	# REUSE wants a folder at the top of the tree, where ours has no other than those of README.
	git clone -q "$here/../.." "$work/licensed" && mkdir "$work/licensed/LICENSES"
	cp "$here/../../LICENSE" "$work/licensed/LICENSES/MIT.txt"
	run reuse --root "$work/licensed" lint
	verify "$name" '[ "$status" -eq 0 ]'
fi
