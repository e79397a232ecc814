# SPDX-License-Identifier: MIT
# The sources of packages below src/share/packaging: Debian's is built and read by lintian, Fedora's is built
# without its macros for units, which Debian lacks. The others are read: makepkg and Nix read theirs; abuild,
# which is in no registry that is reached here, needs what is looked for in Alpine's.
# apt-by-name: debhelper fakeroot lintian makepkg nix-bin rpm
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# copy_source DIR: what git tracks, as a tarball of a release holds it.
copy_source() {
	mkdir -p "$1"
	(cd "$here/../.." && git ls-files -z | xargs -0 cp --parents -t "$1")
}

check_debian() {
	tree=$work/debian/vdsocheck-$version
	copy_source "$tree"
	tar -C "$work/debian" -czf "$work/debian/vdsocheck_$version.orig.tar.gz" "vdsocheck-$version"
	cp -r "$packaging/debian" "$tree/"
	(cd "$tree" && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -d) >"$work/debian.log" 2>&1
	status=$?
	tail -n 30 "$work/debian.log" >"$out"
	verify "debian: the package is built, and its tests pass" '[ "$status" -eq 0 ]' \
		'grep -qE "^hosts: [0-9]+ passed, 0 failed" "$work/debian.log"'
	run lintian --allow-root --fail-on error,warning "$work/debian/"*.changes
	verify 'debian: lintian finds no error and no warning' '[ "$status" -eq 0 ]'
}

check_rpm() {
	copy_source "$work/rpm/vdsocheck-$version"
	mkdir -p "$work/rpm/SOURCES"
	tar -C "$work/rpm" -czf "$work/rpm/SOURCES/vdsocheck-$version.tar.gz" "vdsocheck-$version"
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL rpmbuild --nodeps -bb -D "_topdir $work/rpm" \
		-D '_unitdir /usr/lib/systemd/system' -D 'systemd_post() :' -D 'systemd_preun() :' \
		-D 'systemd_postun_with_restart() :' -D 'build_cflags -O2 -g' -D 'build_ldflags %{nil}' \
		"$packaging/vdsocheck.spec" >"$work/rpm.log" 2>&1
	status=$?
	tail -n 30 "$work/rpm.log" >"$out"
	verify 'rpm: the package is built, and its tests pass' '[ "$status" -eq 0 ]' \
		'grep -qE "^hosts: [0-9]+ passed, 0 failed" "$work/rpm.log"' 'ls "$work"/rpm/RPMS/*/vdsocheck-*.rpm >/dev/null'
}

check_arch() {
	name='arch: makepkg reads the package'
	if ! has makepkg || ! has setpriv || [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'no makepkg, which refuses root, or not root'
		return
	fi
	mkdir "$work/arch"
	cp "$packaging/PKGBUILD" "$work/arch/"
	chmod 755 "$work"
	chown -R 65534:65534 "$work/arch"
	run setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$work/arch" \
		sh -c 'cd "$HOME" && makepkg --printsrcinfo'
	verify "$name" '[ "$status" -eq 0 ]' 'grep -qx "pkgname = vdsocheck" "$out"' \
		'grep -qE "depends_x86_64 = libcpuid$" "$out"'
}

# What abuild's validate() of 3.18 asks for, beside checksums, which "abuild checksum" adds.
check_alpine() {
	run sh -uc 'CARCH=x86_64 srcdir=src
		. "$1"
		echo "$pkgname $pkgver $pkgrel $pkgdesc $url $arch $license $source $builddir"
		[ ${#pkgdesc} -lt 128 ] && type build check package' sh "$packaging/APKBUILD"
	verify 'alpine: the package has what abuild requires' '[ "$status" -eq 0 ]' \
		'[ "$(grep -c "^# Maintainer: .* <.*@.*>$" "$packaging/APKBUILD")" -eq 1 ]'
}

# Evaluated with packages that are only their names.
check_nix() {
	name='nix: the flake is evaluated, and its source is the whole tree'
	if ! has nix-instantiate; then
		skip "$name" 'no nix-instantiate'
		return
	fi
	cat >"$work/flake-test.nix" <<END
let
  pkgs = {
    stdenv = { mkDerivation = x: x; hostPlatform.isx86 = true; };
    lib = { getLib = x: x; optional = wanted: x: if wanted then [ x ] else [ ]; licenses.mit = "MIT"; platforms.linux = "linux"; };
    python3.withPackages = select: select { jsonschema = "jsonschema"; };
    pkg-config = "pkg-config"; jansson = "jansson"; libiberty = "libiberty"; libseccomp = "libseccomp";
    libcpuid = "libcpuid"; elfutils = "elfutils"; cmocka = "cmocka"; mandoc = "mandoc"; procps = "procps";
  };
  named = names: make: builtins.listToAttrs (map (name: { inherit name; value = make name; }) names);
  nixpkgs = { lib.genAttrs = named; legacyPackages = { x86_64-linux = pkgs; aarch64-linux = pkgs; }; };
  made = (import $packaging/flake.nix).outputs { self = null; inherit nixpkgs; };
in builtins.deepSeq made "\${made.packages.x86_64-linux.default.version} \${toString made.packages.aarch64-linux.default.src}"
END
	run env HOME="$work" NIX_STORE_DIR="$work/store" NIX_STATE_DIR="$work/state" NIX_LOG_DIR="$work/log" \
		nix-instantiate --eval "$work/flake-test.nix"
	verify "$name" '[ "$status" -eq 0 ]' 'grep -qx "\"$version $(cd "$here/../.." && pwd -P)\"" "$out"'
}

packaging=$here/../../src/share/packaging
version=$(sed -n 's/^VERSION := //p' "$here/../../Makefile")
verify 'source packages: each names the version of the Makefile' \
	'grep -qF "vdsocheck ($version-1)" "$packaging/debian/changelog"' \
	'grep -qE "^Version: +$version$" "$packaging/vdsocheck.spec"' \
	'grep -qx "pkgver=$version" "$packaging/APKBUILD"' 'grep -qx "pkgver=$version" "$packaging/PKGBUILD"' \
	'grep -qF "version = \"$version\"" "$packaging/flake.nix"' \
	'grep -qF "ADDRESS/vdsocheck-$version-" "$here/../../README.md"'
check_arch
check_alpine
check_nix
if ! git -C "$here" rev-parse -q --verify HEAD >/dev/null 2>&1; then
	skip 'source packages are built' 'not a git repository'
elif [ -z "$named" ]; then
	skip 'source packages are built' 'takes minutes: CONSUMER=source_packages'
else
	if has dpkg-buildpackage && has lintian && has dh; then check_debian; else
		skip 'debian: the package is built' 'no debhelper or lintian'
	fi
	if has rpmbuild; then check_rpm; else skip 'rpm: the package is built' 'no rpmbuild'; fi
fi
