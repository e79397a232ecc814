# bash completion for vdsocheck(1), made by tests/tools/completions.c: make completions
# shellcheck shell=bash

_vdsocheck()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local command='' operands='' kind='' words='' options='' i

	# --option=VALUE comes as three words.
	if [[ $cur == = ]]; then
		cur=''
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--from | --rate | --require | --max-ns | --sysroot | --format | -o | --output | --color | --call | --clock | --path | -d | --duration | --calls | -p | --pid | --by | --as-if | --top)
			[[ ${COMP_WORDS[i + 1]} != = ]] || ((i++))
			((i++))
			;;
		-*) ;;
		*)
			((i == 1)) || { operands=given && break; }
			command=${COMP_WORDS[i]}
			;;
		esac
	done
	case ${command:-check} in
	check)
		options='--from --rate --require --max-ns --include-identity --sysroot --format -J --json -o --output --color -q --quiet -v --verbose -h --help -V --version'
		[[ " ${COMP_WORDS[*]} " != *' --from '* ]] || kind=files operands=files
		[[ $cur != -* ]] || kind=''
		case $prev in
		--from) kind=files ;;
		--rate) kind=none ;;
		--require) kind=list words=$(cat /sys/devices/system/clocksource/clocksource0/available_clocksource 2>/dev/null) ;;
		--max-ns) kind=none ;;
		--sysroot) kind=folder ;;
		--format) kind=words words='text json report prometheus nagios summary line' ;;
		-o | --output) kind=files ;;
		--color) kind=words words='auto always never' ;;
		esac
		;;
	bench)
		options='--call --clock --path -d --duration --calls --format -J --json -o --output --color -q --quiet -v --verbose -h --help -V --version'
		case $prev in
		--call) kind=list words='gettimeofday clock_gettime clock_getres time getcpu' ;;
		--clock) kind=list words='CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_BOOTTIME CLOCK_TAI CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID' ;;
		--path) kind=list words='vdso libc syscall' ;;
		-d | --duration) kind=none ;;
		--calls) kind=none ;;
		--format) kind=words words='text json' ;;
		-o | --output) kind=files ;;
		--color) kind=words words='auto always never' ;;
		esac
		;;
	warp)
		options='-d --duration --format -J --json -o --output --color -q --quiet -v --verbose -h --help -V --version'
		case $prev in
		-d | --duration) kind=none ;;
		--format) kind=words words='text json' ;;
		-o | --output) kind=files ;;
		--color) kind=words words='auto always never' ;;
		esac
		;;
	compare)
		options='--with-guests -y --yes --format -J --json -o --output --color -q --quiet -v --verbose -h --help -V --version'
		case $prev in
		--format) kind=words words='text json' ;;
		-o | --output) kind=files ;;
		--color) kind=words words='auto always never' ;;
		esac
		;;
	trace)
		options='-p --pid -a --all --count -y --yes --by --as-if --top --no-served -d --duration --format -J --json -o --output --color -q --quiet -v --verbose -h --help -V --version'
		[[ $operands == given ]] && operands=arguments || operands=program
		case $prev in
		-p | --pid) kind=process ;;
		--by) kind=words words='process cgroup' ;;
		--as-if) kind=words words='fallback' ;;
		--top) kind=none ;;
		-d | --duration) kind=none ;;
		--format) kind=words words='text json' ;;
		-o | --output) kind=files ;;
		--color) kind=words words='auto always never' ;;
		esac
		;;
	help)
		[[ $operands == given ]] || kind=words words='check bench warp compare trace help version causes advice terms vDSO clocksource TSC kvm-clock vclock proof libc syscall verdict formats examples deciding unknown ok fallback slow wrong boot-clocksource clocksource-unseen clocks-disabled-at-boot clocksource-written paravirtual-clock-disabled paravirtual-clock-removed clocksource-changing clocksource-of-module counter-trapped boot-clocksource-refused clocksource-without-vdso fallback-unexplained kernel-log-denied kernel-log-unclear tsc-disabled-at-boot vmware-not-detected tsc-unsynchronized tsc-assumed-unsynchronized tsc-unsynchronized-chassis tsc-went-back tsc-halts-in-idle tsc-halts-in-c1e tsc-rate-changes tsc-marked-unstable boot-tsc-rate-wrong tsc-read-delay tsc-reference-wrong tsc-check-late tsc-guest-paused tsc-jumped tsc-rate-misstated tsc-skewed tsc-distrusted tsc-uncalibrated tsc-unverified tsc-not-invariant tsc-not-offered tsc-dropped tsc-untested tsc-written-by-firmware tsc-unbound tsc-readers-affected kvm-clock-disabled kvm-clock-unused kvm-clock-missing kvm-clock-cpu-added kvm-clock-jumped kvm-clock-switched-off kvm-clock-32-bit kvm-clock-never-stable kvm-clock-lost kvm-clock-unstable pvclock-withdrawn xen-clock-missing xen-kernel-too-old xen-without-time-page xen-clock-unstable hyperv-clock-missing tsc-on-hyperv hyperv-kernel-too-old hyperv-without-vdso hyperv-backport hyperv-page-invalid arm-compat-disabled counter-emulated-by-firmware arm-counter-erratum vdso-switched-off no-vdso vdso32-disabled no-compat-vdso vdso-without-time vdso-disabled-by-kernel calls-crash vdso-ignores-clocksource wrong-values wrong-values-elsewhere old-vdso-clocks counter-disabled emulated vdso-replaced uml wsl1 gvisor-calibrating libc-bypasses-vdso libc-values time-calls-blocked gvisor-few-clocks time-namespace drop-tsc-boot-parameters drop-boot-parameters look-where-sys-is find-clocksource-writer reboot-after-unbind let-clocksource-settle unload-module move-to-another-host ask-vmware-about-counter ask-xen-about-counter ask-about-trapped-counter switch-to-own-counter read-kernel-log save-kernel-log kernel-with-vmware reboot-for-small-warp start-cold firmware-for-resume update-firmware start-with-all-cpus ask-about-unstable-tsc ask-for-invariant-tsc ask-vendor-about-chassis stay-in-c1 disable-c1e correct-boot-rate newer-kernel-or-nowatchdog reboot-to-tsc newer-kernel-for-tsc-early restart-for-tsc ask-about-pauses find-tsc-writer correct-stated-rate start-cold-for-rate recalibrate-tsc find-which-clock ask-which-clock kernel-with-acrn set-tsc-rate ask-for-tsc-rate boot-unverified-tsc boot-unverified-tsc-of-machine find-in-kernel-log newer-kernel-for-cpu kernel-with-kvm-guest reboot-for-kvm-clock use-64-bit-kernel reboot-guest ask-kvm-host ask-kvm-host-for-tsc restart-guest resume-guest ask-about-restore ask-kvm-host-what-happened ask-xen-host-what-happened move-to-nitro kernel-with-xen newer-kernel-for-xen ask-xen-host-for-page ask-xen-host boot-xen-with-tsc kernel-with-hyperv ask-hyperv-for-tsc newer-kernel-for-hyperv-page newer-kernel-for-hyperv ask-hyperv-host use-64-bit-arm use-coarse-clocks other-arm-cpu arm-cpu-or-firmware run-without-emulator send-report enable-vdso32 use-64-bit-or-compat-vdso set-up-arm-timer kernel-with-vdso-clock kernel-with-vdso-clock-32 report-driver report-crash update-for-values boot-without-vdso leave-counter-on run-outside-tool leave-uml use-wsl2 wait-for-gvisor newer-libc newer-container-runtime switch-to-paravirtual switch-to-tsc switch-to-tsc-on-ec2 show-where-it-runs set-virtualbox-provider accelerate-guest allow-processes give-cpu-time allow-proof replace-machine'
		[[ $COMP_CWORD -ne 3 || $prev != causes ]] || kind=words words='any tsc kvm xen hyperv arm64 vdso process'
		;;
	esac
	if [[ -z $kind && $cur == -* && $operands != arguments ]]; then
		kind=words words=$options
	elif ((COMP_CWORD == 1)); then
		kind=words
		words='check bench warp compare trace help version'
	fi
	case ${kind:-$operands} in
	words) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur") ;;
	list)
		compopt -o nospace 2>/dev/null
		mapfile -t COMPREPLY < <(
			compgen -P "${cur%"${cur##*,}"}" -W "$words" -- "${cur##*,}"
		)
		;;
	process) mapfile -t COMPREPLY < <(compgen -W "$(cd /proc && echo [0-9]*)" -- "$cur") ;;
	program) mapfile -t COMPREPLY < <(compgen -c -- "$cur") ;;
	folder)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		;;
	files | arguments)
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		;;
	*) COMPREPLY=() ;;
	esac
}

complete -F _vdsocheck vdsocheck
