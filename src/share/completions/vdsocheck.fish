# fish completion for vdsocheck(1), made by tests/tools/completions.c: make completions

# The command, which is the first word; fails if there is none.
function __vdsocheck_command
    set -l words (commandline -opc)
    set -q words[2]; and not string match -q -- '-*' $words[2]; and echo $words[2]
end

function __vdsocheck_is_first
    set -l words (commandline -opc)
    not set -q words[2]
end

function __vdsocheck_is
    set -l command (__vdsocheck_command; or echo check)
    test "$command" = $argv[1]
end

# Each word behind the finished words of the list that is being written.
function __vdsocheck_list
    set -l before (commandline -ct | string replace -r '^-[^=]*=' '' | string replace -r '[^,]*$' '')
    printf '%s\n' "$before"$argv
end

complete -c vdsocheck -f

complete -c vdsocheck -n __vdsocheck_is_first -a check -d 'check whether the vDSO serves the clock calls'
complete -c vdsocheck -n '__vdsocheck_is check' -l from -r -F -d 'judge documents that --json wrote'
complete -c vdsocheck -n '__vdsocheck_is check' -l rate -x -d 'estimate the CPU cost of this many calls per second, such as 485k'
complete -c vdsocheck -n '__vdsocheck_is check' -l require -x -a '(__vdsocheck_list (cat /sys/devices/system/clocksource/clocksource0/available_clocksource 2>/dev/null | string split -n " "))' -d 'exit with 1 unless one of these clocksources is used'
complete -c vdsocheck -n '__vdsocheck_is check' -l max-ns -x -d 'exit with 1 unless each deciding call takes at most N ns'
complete -c vdsocheck -n '__vdsocheck_is check' -l include-identity -d 'name host and cloud instance in JSON and report'
complete -c vdsocheck -n '__vdsocheck_is check' -l sysroot -x -a '(__fish_complete_directories)' -d 'read a captured /proc and /sys'
complete -c vdsocheck -n '__vdsocheck_is check' -l format -x -a 'text json report prometheus nagios summary line' -d 'how to print'
complete -c vdsocheck -n '__vdsocheck_is check' -s J -l json -d 'print JSON, the same as --format json'
complete -c vdsocheck -n '__vdsocheck_is check' -s o -l output -r -F -d 'write to FILE atomically'
complete -c vdsocheck -n '__vdsocheck_is check' -l color -x -a 'auto always never' -d 'use color: auto'
complete -c vdsocheck -n '__vdsocheck_is check' -s q -l quiet -d 'print no output'
complete -c vdsocheck -n '__vdsocheck_is check' -s v -l verbose -d 'print all details'
complete -c vdsocheck -n '__vdsocheck_is check' -s h -l help -d 'print this help'
complete -c vdsocheck -n '__vdsocheck_is check' -s V -l version -d 'print the version'
complete -c vdsocheck -n '__vdsocheck_is check; and __fish_contains_opt from' -F

complete -c vdsocheck -n __vdsocheck_is_first -a bench -d 'measure the cost of the clock calls in detail'
complete -c vdsocheck -n '__vdsocheck_is bench' -l call -x -a '(__vdsocheck_list gettimeofday clock_gettime clock_getres time getcpu)' -d 'only these calls: gettimeofday, clock_gettime, clock_getres, time, getcpu'
complete -c vdsocheck -n '__vdsocheck_is bench' -l clock -x -a '(__vdsocheck_list CLOCK_REALTIME CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_BOOTTIME CLOCK_TAI CLOCK_REALTIME_COARSE CLOCK_MONOTONIC_COARSE CLOCK_PROCESS_CPUTIME_ID CLOCK_THREAD_CPUTIME_ID)' -d 'only these clocks: CLOCK_MONOTONIC, monotonic and 1 are the same'
complete -c vdsocheck -n '__vdsocheck_is bench' -l path -x -a '(__vdsocheck_list vdso libc syscall)' -d 'only these paths: vdso, libc, syscall'
complete -c vdsocheck -n '__vdsocheck_is bench' -s d -l duration -x -d 'measure for TIME: 1'
complete -c vdsocheck -n '__vdsocheck_is bench' -l calls -x -d 'instead: time N calls in one run, for each N of a list such as 5M,50M, and print real, user and sys time'
complete -c vdsocheck -n '__vdsocheck_is bench' -l format -x -a 'text json' -d 'how to print'
complete -c vdsocheck -n '__vdsocheck_is bench' -s J -l json -d 'print JSON, the same as --format json'
complete -c vdsocheck -n '__vdsocheck_is bench' -s o -l output -r -F -d 'write to FILE atomically'
complete -c vdsocheck -n '__vdsocheck_is bench' -l color -x -a 'auto always never' -d 'use color: auto'
complete -c vdsocheck -n '__vdsocheck_is bench' -s q -l quiet -d 'print no output'
complete -c vdsocheck -n '__vdsocheck_is bench' -s v -l verbose -d 'print all details'
complete -c vdsocheck -n '__vdsocheck_is bench' -s h -l help -d 'print this help'
complete -c vdsocheck -n '__vdsocheck_is bench' -s V -l version -d 'print the version'

complete -c vdsocheck -n __vdsocheck_is_first -a warp -d 'test whether clocks run backwards between CPUs'
complete -c vdsocheck -n '__vdsocheck_is warp' -s d -l duration -x -d 'test for at least TIME: 2'
complete -c vdsocheck -n '__vdsocheck_is warp' -l format -x -a 'text json' -d 'how to print'
complete -c vdsocheck -n '__vdsocheck_is warp' -s J -l json -d 'print JSON, the same as --format json'
complete -c vdsocheck -n '__vdsocheck_is warp' -s o -l output -r -F -d 'write to FILE atomically'
complete -c vdsocheck -n '__vdsocheck_is warp' -l color -x -a 'auto always never' -d 'use color: auto'
complete -c vdsocheck -n '__vdsocheck_is warp' -s q -l quiet -d 'print no output'
complete -c vdsocheck -n '__vdsocheck_is warp' -s v -l verbose -d 'print all details'
complete -c vdsocheck -n '__vdsocheck_is warp' -s h -l help -d 'print this help'
complete -c vdsocheck -n '__vdsocheck_is warp' -s V -l version -d 'print the version'

complete -c vdsocheck -n __vdsocheck_is_first -a compare -d 'try each clocksource and restore the one in use'
complete -c vdsocheck -n '__vdsocheck_is compare' -l with-guests -d 'run even though KVM guests are running here: their kvm-clock loses vDSO support'
complete -c vdsocheck -n '__vdsocheck_is compare' -s y -l yes -d 'skip the confirmation'
complete -c vdsocheck -n '__vdsocheck_is compare' -l format -x -a 'text json' -d 'how to print'
complete -c vdsocheck -n '__vdsocheck_is compare' -s J -l json -d 'print JSON, the same as --format json'
complete -c vdsocheck -n '__vdsocheck_is compare' -s o -l output -r -F -d 'write to FILE atomically'
complete -c vdsocheck -n '__vdsocheck_is compare' -l color -x -a 'auto always never' -d 'use color: auto'
complete -c vdsocheck -n '__vdsocheck_is compare' -s q -l quiet -d 'print no output'
complete -c vdsocheck -n '__vdsocheck_is compare' -s v -l verbose -d 'print all details'
complete -c vdsocheck -n '__vdsocheck_is compare' -s h -l help -d 'print this help'
complete -c vdsocheck -n '__vdsocheck_is compare' -s V -l version -d 'print the version'

complete -c vdsocheck -n __vdsocheck_is_first -a trace -d 'count the clock calls of a program, and those that are system calls'
complete -c vdsocheck -n '__vdsocheck_is trace' -s p -l pid -x -a '(__fish_complete_pids)' -d 'count those of a running process, and leave it running'
complete -c vdsocheck -n '__vdsocheck_is trace' -s a -l all -d 'count those of the whole host'
complete -c vdsocheck -n '__vdsocheck_is trace' -l count -d 'with --pid: count the calls that the vDSO serves, exactly'
complete -c vdsocheck -n '__vdsocheck_is trace' -s y -l yes -d 'with --count: skip the confirmation'
complete -c vdsocheck -n '__vdsocheck_is trace' -l by -x -a 'process cgroup' -d 'with --all: list those that take the most time by process'
complete -c vdsocheck -n '__vdsocheck_is trace' -l as-if -x -a 'fallback' -d 'run the program as if this host fell back: each call that the vDSO would serve is a system call'
complete -c vdsocheck -n '__vdsocheck_is trace' -l top -x -d 'show N rows of each list'
complete -c vdsocheck -n '__vdsocheck_is trace' -l no-served -d 'do not count the calls that the vDSO serves: the program is left untouched'
complete -c vdsocheck -n '__vdsocheck_is trace' -s d -l duration -x -d 'count for TIME'
complete -c vdsocheck -n '__vdsocheck_is trace' -l format -x -a 'text json' -d 'how to print'
complete -c vdsocheck -n '__vdsocheck_is trace' -s J -l json -d 'print JSON, the same as --format json'
complete -c vdsocheck -n '__vdsocheck_is trace' -s o -l output -r -F -d 'write to FILE atomically'
complete -c vdsocheck -n '__vdsocheck_is trace' -l color -x -a 'auto always never' -d 'use color: auto'
complete -c vdsocheck -n '__vdsocheck_is trace' -s q -l quiet -d 'print no output'
complete -c vdsocheck -n '__vdsocheck_is trace' -s v -l verbose -d 'print all details'
complete -c vdsocheck -n '__vdsocheck_is trace' -s h -l help -d 'print this help'
complete -c vdsocheck -n '__vdsocheck_is trace' -s V -l version -d 'print the version'
complete -c vdsocheck -n '__vdsocheck_is trace' -F -a '(__fish_complete_command)'

complete -c vdsocheck -n __vdsocheck_is_first -a help -d 'print the help of a command'
complete -c vdsocheck -n __vdsocheck_is_first -a version -d 'print the version'
complete -c vdsocheck -n '__vdsocheck_is help; and __fish_prev_arg_in help' -a 'check bench warp compare trace help version causes advice terms vDSO clocksource TSC kvm-clock vclock proof libc syscall verdict formats examples deciding unknown ok fallback slow wrong boot-clocksource clocksource-unseen clocks-disabled-at-boot clocksource-written paravirtual-clock-disabled paravirtual-clock-removed clocksource-changing clocksource-of-module counter-trapped boot-clocksource-refused clocksource-without-vdso fallback-unexplained kernel-log-denied kernel-log-unclear tsc-disabled-at-boot vmware-not-detected tsc-unsynchronized tsc-assumed-unsynchronized tsc-unsynchronized-chassis tsc-went-back tsc-halts-in-idle tsc-halts-in-c1e tsc-rate-changes tsc-marked-unstable boot-tsc-rate-wrong tsc-read-delay tsc-reference-wrong tsc-check-late tsc-guest-paused tsc-jumped tsc-rate-misstated tsc-skewed tsc-distrusted tsc-uncalibrated tsc-unverified tsc-not-invariant tsc-not-offered tsc-dropped tsc-untested tsc-written-by-firmware tsc-unbound tsc-readers-affected kvm-clock-disabled kvm-clock-unused kvm-clock-missing kvm-clock-cpu-added kvm-clock-jumped kvm-clock-switched-off kvm-clock-32-bit kvm-clock-never-stable kvm-clock-lost kvm-clock-unstable pvclock-withdrawn xen-clock-missing xen-kernel-too-old xen-without-time-page xen-clock-unstable hyperv-clock-missing tsc-on-hyperv hyperv-kernel-too-old hyperv-without-vdso hyperv-backport hyperv-page-invalid arm-compat-disabled counter-emulated-by-firmware arm-counter-erratum vdso-switched-off no-vdso vdso32-disabled no-compat-vdso vdso-without-time vdso-disabled-by-kernel calls-crash vdso-ignores-clocksource wrong-values wrong-values-elsewhere old-vdso-clocks counter-disabled emulated vdso-replaced uml wsl1 gvisor-calibrating libc-bypasses-vdso libc-values time-calls-blocked gvisor-few-clocks time-namespace drop-tsc-boot-parameters drop-boot-parameters look-where-sys-is find-clocksource-writer reboot-after-unbind let-clocksource-settle unload-module move-to-another-host ask-vmware-about-counter ask-xen-about-counter ask-about-trapped-counter switch-to-own-counter read-kernel-log save-kernel-log kernel-with-vmware reboot-for-small-warp start-cold firmware-for-resume update-firmware start-with-all-cpus ask-about-unstable-tsc ask-for-invariant-tsc ask-vendor-about-chassis stay-in-c1 disable-c1e correct-boot-rate newer-kernel-or-nowatchdog reboot-to-tsc newer-kernel-for-tsc-early restart-for-tsc ask-about-pauses find-tsc-writer correct-stated-rate start-cold-for-rate recalibrate-tsc find-which-clock ask-which-clock kernel-with-acrn set-tsc-rate ask-for-tsc-rate boot-unverified-tsc boot-unverified-tsc-of-machine find-in-kernel-log newer-kernel-for-cpu kernel-with-kvm-guest reboot-for-kvm-clock use-64-bit-kernel reboot-guest ask-kvm-host ask-kvm-host-for-tsc restart-guest resume-guest ask-about-restore ask-kvm-host-what-happened ask-xen-host-what-happened move-to-nitro kernel-with-xen newer-kernel-for-xen ask-xen-host-for-page ask-xen-host boot-xen-with-tsc kernel-with-hyperv ask-hyperv-for-tsc newer-kernel-for-hyperv-page newer-kernel-for-hyperv ask-hyperv-host use-64-bit-arm use-coarse-clocks other-arm-cpu arm-cpu-or-firmware run-without-emulator send-report enable-vdso32 use-64-bit-or-compat-vdso set-up-arm-timer kernel-with-vdso-clock kernel-with-vdso-clock-32 report-driver report-crash update-for-values boot-without-vdso leave-counter-on run-outside-tool leave-uml use-wsl2 wait-for-gvisor newer-libc newer-container-runtime switch-to-paravirtual switch-to-tsc switch-to-tsc-on-ec2 show-where-it-runs set-virtualbox-provider accelerate-guest allow-processes give-cpu-time allow-proof replace-machine'
complete -c vdsocheck -n '__vdsocheck_is help; and __fish_prev_arg_in causes' -a 'any tsc kvm xen hyperv arm64 vdso process'
