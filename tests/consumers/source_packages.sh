# SPDX-License-Identifier: MIT
# The sources of packages below src/share/packaging: Debian's is built and read by lintian, Fedora's is built
# without its macros for units, which Debian lacks.
# apt-by-name: debhelper fakeroot lintian rpm
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

packaging=$here/../../src/share/packaging
version=$(sed -n 's/^VERSION := //p' "$here/../../Makefile")
verify 'source packages: each names the version of the Makefile' \
	'grep -qF "vdsocheck ($version-1)" "$packaging/debian/changelog"' \
	'grep -qE "^Version: +$version$" "$packaging/vdsocheck.spec"' \
	'grep -qx "pkgver=$version" "$packaging/APKBUILD"' 'grep -qx "pkgver=$version" "$packaging/PKGBUILD"' \
	'grep -qF "version = \"$version\"" "$packaging/flake.nix"' \
	'grep -qF "ADDRESS/vdsocheck-$version-" "$here/../../README.md"'
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
