# SPDX-License-Identifier: MIT
# sos, with our file for /etc/sos/extras.d: its report carries the document, and is read by --sysroot.
# The folder is another one, in a mount namespace of the run.
# apt: sosreport
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# report_with [OPTIONS]: unpacked in $tree; OPTIONS are given to vdsocheck, after a blank.
report_with() {
	rm -rf "$work/sos"
	mkdir "$work/sos" "$work/extras"
	sed "s,@bindir@/vdsocheck,$program$1," "$share/sos/vdsocheck" >"$work/extras/vdsocheck"
	# shellcheck disable=SC2016 # expanded by that shell
	run unshare -m sh -c 'mount --bind "$0/extras" /etc/sos/extras.d && exec sos report --batch --build \
		--tmp-dir "$0/sos" -o sos_extras,kernel,processor,hardware,release,system' "$work"
	rm -r "$work/extras"
	tree=$(echo "$work"/sos/sosreport-*)
}

of() { "$document" get "$1" <"$2"; }

check_sos() {
	if ! has sos || ! [ -d /etc/sos/extras.d ]; then
		skip 'sos: its report carries the document' 'no sos'
		return
	fi
	if ! unshare -m true 2>/dev/null; then
		skip 'sos: its report carries the document' 'no mount namespace without privileges'
		return
	fi
	report_with ''
	cp "$tree"/sos_commands/sos_extras/vdsocheck/* "$work/kept"
	verify 'sos: its report carries the document' '[ "$status" -eq 0 ]' '"$document" check <"$work/kept"'
	run vdsocheck --json --sysroot "$tree"
	cp "$out" "$work/read"
	for key in host.kernel host.kernel_build host.arch host.distribution host.cpu_count \
		host.cpu_model host.hypervisor clocksource.current kernel_log.lines.0.text; do
		verify "sos: its report shows $key as the host does" \
			'[ "$(of "$key" "$work/kept")" = "$(of "$key" "$work/read")" ]'
	done
	report_with " --from $hosts/xen-ec2/document.json"
	verify 'sos: its report carries the document of a host that falls back, too' \
		'grep -q "\"verdict\": \"fallback\"" "$tree"/sos_commands/sos_extras/vdsocheck/*'
}

check_sos
