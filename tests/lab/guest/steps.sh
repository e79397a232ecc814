# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2086 # steps are words, and no path here has a blank
# The steps an environment may take, one shell function each; the words in the
# table's column "steps" are calls of them. Runs in a guest under busybox and on
# a host under sh. LAB is the folder with the binaries.
#
# What the lab reads back stands between marker lines:
#     @@lab begin NAME@@ ... @@lab end NAME STATUS@@

clocksource=${CLOCKSOURCE:-/sys/devices/system/clocksource/clocksource0}
prefix=  # the words put before each program
errors=${LAB_TMP:-/tmp}/lab.stderr
build=   # the folder of binaries in use
flapper= # the process that keeps changing the clocksource

# How long a step may take. A guest on jiffies may count them many times too fast; the host
# limits the whole boot.
seconds=1000
[ -z "$LAB_TMP" ] || seconds=100

# report NAME COMMAND...: runs it between markers, with a time limit of its own.
report() {
	report_name=$1
	shift
	echo "@@lab begin $report_name@@"
	case $1 in
	clock_log | trace_article | count_programs | count_running) "$@" 2>$errors ;; # functions, which timeout(1) cannot start
	*) timeout $seconds "$@" 2>$errors ;;
	esac
	report_status=$?
	echo
	echo "@@lab end $report_name $report_status@@"
	[ -s $errors ] && report_errors "$report_name"
	return 0
}

report_errors() {
	echo "@@lab begin $1.stderr@@"
	tail -c 2000 $errors
	echo "@@lab end $1.stderr 0@@"
}

# await NAME: for some seconds after boot the kernel may still change its clocksource.
await() {
	tries=0
	until [ "$(cat $clocksource/current_clocksource 2>/dev/null)" = "$1" ]; do
		tries=$((tries + 1))
		[ $tries -gt 150 ] && return 1
		usleep 100000 2>/dev/null || sleep 1
	done
}

# source NAME: switches the clocksource, as an administrator would.
source_() {
	tries=0
	until grep -qw "$1" $clocksource/available_clocksource; do
		tries=$((tries + 1))
		[ $tries -gt 150 ] && break
		usleep 100000
	done
	echo "$1" >$clocksource/current_clocksource
}

# build NAME: the binaries of another build from here on.
build() {
	build=$1
}

# sandbox KIND..., through COMMAND...: what starts programs from here on.
sandbox() {
	prefix="$prefix $LAB/$build/sandbox $* --"
}

through() {
	prefix="$prefix $*"
}

# jail: a root with nothing in it but the binaries: no /proc, no /sys, no /dev.
jail() {
	mkdir -p /jail/tmp
	cp -a $LAB /jail/
	prefix="$prefix chroot /jail"
}

# insmod FILE [PARAMETER...]
insmod_() {
	insmod_file=$1
	shift
	insmod "$LAB/modules/$insmod_file.ko" "$@" || echo "@@lab trouble insmod $insmod_file@@"
}

# host NAME: asks the host of a nested guest to switch its own clocksource.
host() {
	echo "@@lab host $1@@"
	read -r answer
	sleep 1
}

# resume: has the host of a nested guest pause and resume it.
resume() {
	echo "@@lab resume@@"
	read -r answer
	sleep 1
}

# host_compare: has the host of a nested guest run vdsocheck compare, which must refuse while
# this guest runs, and then once more with --with-guests. The host is on tsc again afterwards.
host_compare() {
	echo "@@lab compare@@"
	read -r answer
	sleep 1
}

# What the kernel said about clocks: the causes are judged by it.
clock_log() {
	dmesg | grep -iE 'tsc|clocksource|vdso|pvclock|kvm-clock|arch_timer|hpet|erratum' |
		grep -v 'ommand line:'
}

# flap A B: the clocksource alternates between these while the next check runs.
flap() {
	$LAB/$build/flap $clocksource/current_clocksource "$1" "$2" &
	flapper=$!
}

# check [NAME]: one observation; NAME is the clocksource to wait for.
check() {
	[ "$1" = "any" ] || await "$1"
	report clocksource cat $clocksource/current_clocksource
	report oracle $prefix $LAB/$build/oracle ${flapper:+--changing}
	[ -x $LAB/$build/vdsocheck ] && report vdsocheck $prefix $LAB/$build/vdsocheck --json
	[ -x $LAB/$build/copy_search ] && report copy $prefix $LAB/$build/copy_search 3
	[ -n "$LAB_TMP" ] || report log clock_log # a host's own log is private
	[ -z "$flapper" ] || kill $flapper
	flapper=
}

# article CALLS: the article's experiment, on what the last check looked at.
article() {
	report article $prefix $LAB/$build/article "$1"
}

# trace CALLS: what `vdsocheck trace` counts of the article's program, as root, as a user, and as if
# the host fell back.
trace() {
	[ -x $LAB/$build/vdsocheck ] || return 0
	report trace-bpf trace_article "$1"
	chmod 1777 /tmp
	around=$prefix
	prefix="$prefix $LAB/$build/sandbox nobody --"
	report trace-user trace_article "$1"
	prefix=$around
	report trace-as-if trace_article "$1" --as-if fallback
}

trace_article() {
	calls=$1
	shift
	timeout $seconds $prefix $LAB/$build/vdsocheck trace --json -o /tmp/trace "$@" -- \
		$LAB/$build/article "$calls" >/dev/null
	cat /tmp/trace
	rm -f /tmp/trace
}

# counts TIMES: what `vdsocheck trace` counts of programs that read the clock a known number of times,
# and as if the host fell back.
counts() {
	[ -x $LAB/$build/vdsocheck ] || return 0
	report counts count_programs "$1"
}

count_programs() {
	turn=0
	while [ $turn -lt "$1" ]; do
		turn=$((turn + 1))
		count_program 8000 read 1000 8
		count_program 600 family 100 4
		count_program 1000 pass 500
	done
}

# count_program READS WORD...: prints READS and the exit status, then the reads and the system calls that
# were counted, the programs that were not, and the function that most reads come from.
count_program() {
	reads=$1
	shift
	for way in --json '--as-if fallback'; do
		rm -f /tmp/trace
		timeout $seconds $prefix $LAB/$build/vdsocheck trace --json $way -o /tmp/trace -- \
			$LAB/$build/caller "$@" >/dev/null
		echo "$1 ${way##* } $reads $? $(trace_value clock_reads) $(trace_value clock_system_calls)" \
			"$(missed_programs) $(trace_value function)"
	done
}

# The programs whose reads were not counted, which are in a list if there are any.
missed_programs() {
	missed=$(sed -n '/"kind": "programs"/,/}/s/.*"count": \([0-9]*\).*/\1/p' /tmp/trace)
	echo "${missed:-0}"
}

# The first value of this key.
trace_value() {
	sed -n "s/.*\"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" /tmp/trace | head -n 1
}

# running READS: what `vdsocheck trace -p` and `-p --count` count of a process that makes so many calls of
# each of clock_gettime(), gettimeofday() and time() when counting has begun.
running() {
	[ -x $LAB/$build/vdsocheck ] || return 0
	report running count_running "$1"
}

# Prints for each the options, the exit status, the reads and the system calls that were counted, and how
# the process was then.
count_running() {
	gate=/tmp/gate
	for option in "--count --yes" ""; do
		rm -f $gate /tmp/trace
		$LAB/$build/running counts "$1" $gate &
		counted=$!
		sleep 1
		$prefix $LAB/$build/vdsocheck trace --pid $counted $option -d $seconds --json -o /tmp/trace 2>>$errors &
		tracer=$!
		if [ -n "$option" ]; then
			until $LAB/$build/running led $counted || ! kill -0 $tracer; do sleep 1; done
		else
			sleep 10
		fi
		: >$gate
		while [ -e $gate ] && kill -0 $tracer; do sleep 1; done
		kill $tracer
		wait $tracer
		status=$?
		state=unchanged
		! $LAB/$build/running led $counted || state=led
		kill -9 $counted || state=dead
		echo "${option:-without} $status $(trace_value clock_reads) $(trace_value clock_system_calls) $state"
	done 2>/dev/null
}

# warp VERDICT: what `vdsocheck warp` says.
warp() {
	[ -x $LAB/$build/vdsocheck ] || return 0
	report warp $prefix $LAB/$build/vdsocheck warp -d 2 --json
}

# time_warp_test: whether the counters of two CPUs are in step, by an independent test.
time_warp_test() {
	report time-warps $LAB/$build/time_warp_test 2 rdtsc
}

# turns NUMBER STEP...: the same step repeatedly, as reports NAME-1, NAME-2, ...
turns() {
	turn=0
	last=$1
	shift
	[ -x $LAB/$build/vdsocheck ] || return 0
	while [ $turn -lt "$last" ]; do
		turn=$((turn + 1))
		"$@"
	done
}

# hand TURNS: our minima and those of a loop written by hand, of one call and of eight
# calls for each count, as ours has them.
hand() {
	turns "$1" hand_turn
}

hand_turn() {
	report hand-$turn $prefix $LAB/$build/hand 0 300
	report hand8-$turn $prefix $LAB/$build/hand 0 300 8
	report bench-$turn $prefix $LAB/$build/vdsocheck bench --json --duration 1s \
		--call gettimeofday --call clock_gettime
}

# Words of the table that are words of the shell too.
take_step() {
	case $1 in
	source | insmod) word=$1_ && shift && $word "$@" ;;
	*) "$@" ;;
	esac
}

take_steps() {
	while read -r line <&3; do
		take_step $line
	done 3<"$1"
	echo "@@lab done@@"
}
