# SPDX-License-Identifier: MIT
# What the suites in sh have in common: to be sourced. Counts checks and keeps their output.
# shellcheck shell=sh

passed=0
failed=0
skipped=0

# Open to others: some checks run the program as another user.
work=$(mktemp -d "${TMPDIR:-/tmp}/vdsocheck.XXXXXX") || exit 1
chmod 755 "$work"
out=$work/out
err=$work/err
status=0

validate=$(cd "$(dirname "$0")/../tools" && pwd)/validate.py

# What else is to be undone at the end; a suite may define its own.
clean_up() { :; }

finish() {
	clean_up
	rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT PIPE TERM

# Only tests with $ONLY in their names count, where it is set.
is_wanted() {
	case $1 in
	*"${ONLY-}"*) ;;
	*) false ;;
	esac
}

pass() {
	passed=$((passed + 1))
}

# fail NAME [WHY]: says what came out, so that a log is enough to understand it.
fail() {
	failed=$((failed + 1))
	echo "FAIL  $1"
	[ -z "${2-}" ] || echo "      $2"
	echo "      status $status"
	sed 's/^/      out: /' "$out" 2>/dev/null | head -n 4
	sed 's/^/      err: /' "$err" 2>/dev/null | head -n 4
}

skip() {
	is_wanted "$1" || return 0
	skipped=$((skipped + 1))
	echo "skip  $1: $2"
}

# Not empty if the program was built with sanitizers; a suite sets it.
sanitized=

ran=

# run COMMAND [WORD]...: leaves its output in $out and $err, its status in $status.
run() {
	status=0
	ran="$* "
	timeout 60 "$@" >"$out" 2>"$err" || status=$?
	keep_documents "$out"
}

# keep_documents FILE: if it has documents of the program, report validates them.
keep_documents() {
	first_line=
	IFS= read -r first_line <"$1"
	case $first_line in
	'{'*) head -n 2 "$1" | grep -q '"schema": *"vdsocheck' && cat "$1" >>"$work/printed_documents" ;;
	esac
}

verify_documents() {
	if ! has python3 || ! python3 -c 'import jsonschema' 2>/dev/null; then
		skip 'the documents printed are valid by their schemas' 'no python3-jsonschema'
		return
	fi
	run python3 -B "$validate" "$work/printed_documents"
	verify 'the documents printed are valid by their schemas' '[ "$status" -eq 0 ]'
}

# In tests/rooms/run: the last run, in the foreground or not, was one of the command that was deleted.
is_left_out() {
	[ -n "${WITHOUT-}" ] || return
	case $ran in
	*"/vdsocheck $WITHOUT "*) ;;
	*) grep -qE "(unknown command|no help for) '$WITHOUT'" "$err" ;;
	esac
}

# verify NAME CONDITION...: each condition is an expression of sh, and all must hold.
verify() {
	verify_name=$1
	shift
	is_wanted "$verify_name" || return 0
	for condition; do
		if ! eval "$condition"; then
			is_left_out || fail "$verify_name" "not true: $condition"
			return
		fi
	done
	pass
}

# await CONDITION: until it holds, 60 s at most: for what another process does in its own time.
await() {
	tries=600
	until eval "$1" || [ "$tries" -eq 0 ] || is_left_out; do
		sleep 0.1
		tries=$((tries - 1))
	done
}

# catches PID SIGNAL: the process has a handler for the signal of this number.
catches() {
	caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
	[ $((0x${caught:-0} >> ($2 - 1) & 1)) -eq 1 ]
}

# has_capability NUMBER: this shell has it in effect; see capabilities(7).
has_capability() { [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> $1 & 1)) -eq 1 ]; }

# has_children PID: and they have begun their work, which they do when they have no capabilities.
has_children() {
	[ -n "$(cat "/proc/$1/task/$1/children" 2>/dev/null)" ]
}

# has_terminal NAME: the sandbox can make one; else the test with this name is skipped.
has_terminal() {
	# shellcheck disable=SC2154 # a suite sets it
	"$sandbox" on-terminal -- true >/dev/null 2>&1 || {
		skip "$1" 'no terminal can be made here: is /dev/pts mounted?'
		return 1
	}
}

# The vDSO serves the clock here, by a program that shares no code with the one under test.
# shellcheck disable=SC2154 # a suite sets it
is_served() { "$oracle" --table 2>/dev/null | awk '$4 > 0 { bad = 1 } END { exit bad || !NR }'; }

has() { command -v "$1" >/dev/null 2>&1; }

# lines FILE: how many.
lines() { wc -l <"$1" | tr -d ' '; }

# Ends the suite: the last line has its name, which is that of its folder or script, and the sums.
report() {
	[ ! -s "$work/printed_documents" ] || verify_documents
	if [ $((passed + failed + skipped)) -eq 0 ]; then
		echo "FAIL  no test has '${ONLY-}' in its name"
		failed=1
	fi
	suite_script=${0##*tests/}
	echo "${suite_script%/run}: $passed passed, $failed failed, $skipped skipped"
	[ "$failed" -eq 0 ]
}
