# SPDX-License-Identifier: MIT
# The package managers dpkg and rpm, which install, list, run and remove our packages, each in a
# root of its own; apk's format, which no program here installs, is read by its definition.
# go: github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.1
# apt: debootstrap rpm
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# make_packages MACHINE BUILD: in $BUILD/release.
make_packages() {
	status=0
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$here/../.." -j2 BUILD="$2" NFPM=nfpm "package-$1" \
		>"$out" 2>"$err" </dev/null || status=$?
}

# has_no_trace ROOT: nothing of the program is left.
has_no_trace() { ! find "$1/usr" -name '*vdsocheck*' | grep .; }

# runs ROOT: the program that was installed there has the verdict of the one outside.
runs() {
	vdsocheck --quiet
	wanted=$?
	chroot "$1" /usr/bin/vdsocheck --quiet
	[ $? -eq "$wanted" ]
}

check_deb() {
	name='deb: is installed, run and removed by dpkg in a minimal Debian'
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'needs root for chroot'
		return
	elif ! has debootstrap; then
		skip "$name" 'no debootstrap'
		return
	fi
	mkdir -p "$tools/debootstrap"
	status=0
	debootstrap --variant=minbase --cache-dir="$tools/debootstrap" bookworm "$work/deb" \
		>"$out" 2>"$err" </dev/null || status=$?
	verify 'deb: debootstrap makes a minimal Debian' '[ "$status" -eq 0 ]'
	[ "$status" -eq 0 ] || return
	cp "$release/vdsocheck_${version}-1_amd64.deb" "$work/deb/vdsocheck.deb"
	run chroot "$work/deb" dpkg -i /vdsocheck.deb
	verify 'deb: dpkg installs it and finds its files whole' '[ "$status" -eq 0 ]' \
		'[ -z "$(chroot "$work/deb" dpkg --verify vdsocheck)" ]' \
		'chroot "$work/deb" dpkg -L vdsocheck | grep -qx /usr/share/man/man1/vdsocheck.1.gz'
	verify 'deb: the installed program runs' 'runs "$work/deb"'
	run chroot "$work/deb" dpkg --purge vdsocheck
	verify 'deb: dpkg removes it without a trace' '[ "$status" -eq 0 ]' \
		'has_no_trace "$work/deb"'
	rm -rf --one-file-system "$work/deb"
}

check_rpm() {
	name='rpm: is installed, run and removed in an empty tree'
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'needs root for chroot'
		return
	elif ! has rpm; then
		skip "$name" 'no rpm'
		return
	fi
	on_tree="rpm --force-debian --root $work/rpm"
	mkdir "$work/rpm"
	run $on_tree -i "$release/vdsocheck-$version-1.x86_64.rpm"
	verify 'rpm: rpm installs it and finds its files whole' '[ "$status" -eq 0 ]' \
		'[ -z "$($on_tree -V vdsocheck)" ]' \
		'$on_tree -ql vdsocheck | grep -qx /usr/share/man/man1/vdsocheck.1.gz'
	verify 'rpm: the installed program runs' 'runs "$work/rpm"'
	run $on_tree -e vdsocheck
	verify 'rpm: rpm removes it without a trace' '[ "$status" -eq 0 ]' 'has_no_trace "$work/rpm"'
}

# An apk is two gzip members, control and data, each a tar; the first has the second's hash.
check_apk() {
	run python3 - "$release/vdsocheck_${version}-r1_x86_64.apk" "$work/apk" <<'END'
import hashlib, io, sys, tarfile, zlib
members, rest = [], open(sys.argv[1], "rb").read()
while rest:
    stream = zlib.decompressobj(31)
    text = stream.decompress(rest)
    members.append((rest[:len(rest) - len(stream.unused_data)], text))
    rest = stream.unused_data
(_, control), (packed, data) = members
# The control member has no end-of-archive block: as one tar with the data it is the package.
tar = tarfile.open(fileobj=io.BytesIO(control + bytes(1024)))
fields = dict(line.split(" = ") for line in tar.extractfile(".PKGINFO").read().decode().splitlines()
              if " = " in line)
assert fields["pkgname"] == "vdsocheck" and fields["arch"] == "x86_64", fields
assert fields["datahash"] == hashlib.sha256(packed).hexdigest(), fields
tar = tarfile.open(fileobj=io.BytesIO(data))
for file in tar:
    assert file.name and file.mode in (0o755, 0o644), (file, file.mode)
    assert file.isdir() or (file.pax_headers["APK-TOOLS.checksum.SHA1"]
                            == hashlib.sha1(tar.extractfile(file).read()).hexdigest()), file
tar.extractall(sys.argv[2])
END
	verify 'apk: its control member has the hash of its data, and each file that of its own' \
		'[ "$status" -eq 0 ]'
	if [ "$(id -u)" -eq 0 ]; then
		verify 'apk: the program in it runs' 'runs "$work/apk"'
	fi
	skip 'apk: is installed by apk' 'no registry that is reached here has apk-tools'
}

check_packages() {
	if ! has nfpm; then
		skip 'packages: made by nfpm' 'no nfpm'
		return
	elif [ "$(uname -m)" != x86_64 ]; then
		skip 'packages: made by nfpm' 'is tried on x86-64 alone'
		return
	fi
	version=$(sed -n 's/^VERSION := //p' "$here/../../Makefile")
	make_packages x86_64 "$work/packages"
	release=$work/packages/release
	verify 'packages: nfpm makes deb, rpm and apk' '[ "$status" -eq 0 ]' \
		'[ "$(find "$release" -maxdepth 1 -name "*.deb" -o -name "*.rpm" -o -name "*.apk" | wc -l)" -eq 3 ]'
	check_deb
	check_rpm
	check_apk
	old_mask=$(umask)
	umask 077
	make_packages x86_64 "$work/again"
	umask "$old_mask"
	for file in "$release"/*.deb "$release"/*.rpm "$release"/*.apk; do
		verify "packages: ${file##*.} is the same, byte for byte, made again" \
			'[ "$status" -eq 0 ]' 'cmp "$file" "$work/again/release/${file##*/}"'
	done
	if [ -e /usr/lib/aarch64-linux-gnu/libseccomp.a ] && has aarch64-linux-gnu-gcc; then
		make_packages aarch64 "$work/packages"
		verify 'packages: nfpm makes those for arm64' '[ "$status" -eq 0 ]' \
			'[ -e "$release/vdsocheck_${version}-1_arm64.deb" ]' \
			'[ -e "$release/vdsocheck-$version-1.aarch64.rpm" ]' \
			'[ -e "$release/vdsocheck_${version}-r1_aarch64.apk" ]'
	else
		skip 'packages: nfpm makes those for arm64' 'nothing to build it with: make release-deps'
	fi
}

check_packages
