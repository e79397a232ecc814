# SPDX-License-Identifier: MIT
# What is published of a version; included by the Makefile at the top.
#
#   make dist            the source of HEAD, as a tarball
#   make release         that and static binaries for x86-64 and arm64, with their SHA256SUMS, of a
#                        commit with the tag vVERSION (UNTAGGED=1: of any)
#   make packages        besides, deb, rpm and apk packages with these binaries, by nfpm, and Python wheels;
#                        HOMEPAGE=URL is the address of the project in them
#   make sign            the signature of SHA256SUMS by a key of GnuPG's home, SIGN_KEY=ID
#   make release-deps    install what these need besides (root, Debian on x86-64)
#
# All land in $(BUILD)/release. All but the signature are the same byte for byte wherever a commit is
# built with the same HOMEPAGE, compilers, libraries and nfpm (NFPM: by default the one that
# `make consumer-deps CONSUMER=packages` installs). Beside each artifact, ARTIFACT.cdx.json says what
# it contains; beside a binary, and in its packages, NOTICES has the notices of the libraries in it.
#
# Publish the source packages of glibc, libseccomp and elfutils, which the notices name, with the binaries (LGPL-2.1,
# section 6): debsnap of devscripts downloads them, `debsnap glibc 2.36-8`.

RELEASE := $(BUILD)/release
NAMED := vdsocheck-$(VERSION)
TARBALL := $(RELEASE)/$(NAMED).tar.gz
RELEASE_MACHINES := x86_64 aarch64
BINARIES := $(RELEASE_MACHINES:%=$(RELEASE)/$(NAMED)-%)

# What .ci/provenance writes about the artifacts, and the time in it, which is that of the commit.
NOTICES := $(BINARIES:%=%.NOTICES.txt)
SBOMS := $(TARBALL).cdx.json $(BINARIES:%=%.cdx.json)
SOURCE_DATE_EPOCH ?= $(if $(wildcard .git),$(shell git log -1 --format=%ct))
SBOM = SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) .ci/provenance sbom $(VERSION)

.PHONY: dist release packages $(RELEASE_MACHINES:%=package-%) sign release-deps
dist: $(TARBALL)

# git sorts, and sets owner 0, one mask and the commit's time. The tree's changes are not in it.
$(TARBALL): FORCE
	$(call say,DIST,$@)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)echo '$(FULL_VERSION:.dirty=)' >$(@D)/.version
	$(QUIET)git -c tar.umask=0022 archive -o $(@:.gz=) --prefix=$(NAMED)/ --add-file=$(@D)/.version HEAD
	$(QUIET)gzip -9nf $(@:.gz=)

$(TARBALL).cdx.json: $(TARBALL)
	$(QUIET)$(SBOM) $< >$@

# $(call make_for,MACHINE): make, for a static build in a folder of its own.
make_for = PKG_CONFIG_LIBDIR=/usr/lib/$(1)-linux-gnu/pkgconfig:/usr/share/pkgconfig \
	$(MAKE) --no-print-directory STATIC=1 CC=$(1)-linux-gnu-gcc BUILD=$(RELEASE)/$(1)

# The debug information stays behind.
$(BINARIES): $(RELEASE)/$(NAMED)-%: FORCE
	$(QUIET)+$(call make_for,$*)
	$(call say,STRIP,$@)
	$(QUIET)$*-linux-gnu-strip -o $@ $(RELEASE)/$*/vdsocheck
	$(QUIET).ci/provenance notices $(VERSION) $(RELEASE)/$*/vdsocheck.map >$@.NOTICES.txt
	$(QUIET)$(SBOM) $@ $(RELEASE)/$*/vdsocheck.map >$@.cdx.json

# The fuzzers, built like the binaries; the release's tests run them.
.PHONY: $(RELEASE_MACHINES:%=fuzzers-%)
$(RELEASE_MACHINES:%=fuzzers-%): fuzzers-%:
	$(QUIET)+$(call make_for,$*) fuzzers

# $(call checksums,FILE...)
checksums = cd $(RELEASE) && sha256sum $(1) >SHA256SUMS && cat SHA256SUMS

# A release is the commit with the tag vVERSION; UNTAGGED=1 makes the same of any other commit.
RELEASE_PROBLEM = $(if $(filter %.dirty,$(FULL_VERSION)),commit your changes first,\
	$(if $(UNTAGGED)$(filter $(VERSION),$(FULL_VERSION)),,HEAD has no tag v$(VERSION): set it$(comma) or UNTAGGED=1))

.PHONY: release-check
release-check:
	@$(if $(strip $(RELEASE_PROBLEM)),echo 'release: $(strip $(RELEASE_PROBLEM))' >&2; exit 1)

$(TARBALL) $(BINARIES): | $(if $(filter release packages,$(MAKECMDGOALS)),release-check)

release: $(TARBALL).cdx.json $(BINARIES)
	$(QUIET)$(call checksums,$(notdir $(TARBALL) $(BINARIES) $(NOTICES) $(SBOMS)))

packages: release $(RELEASE_MACHINES:%=package-%)
	$(QUIET)$(call checksums,$(NAMED)*.* $(notdir $(BINARIES)) vdsocheck_$(VERSION)-*)

NFPM ?= $(firstword $(wildcard $(shell tests/consumers/deps --where)/go/bin/nfpm) nfpm)
PACKAGE_ARCH_x86_64 := amd64
PACKAGE_ARCH_aarch64 := arm64

# Debian's zsh looks elsewhere for completions, and the licence is in copyright there.
DEBIAN_TREE = { mv $(TREE)/usr/share/zsh/site-functions $(TREE)/usr/share/zsh/vendor-completions && \
	rm $(TREE)/usr/share/doc/vdsocheck/LICENSE && \
	find $(TREE) -type d -exec touch -d @$(SOURCE_DATE_EPOCH) {} +; }

# A package holds the tree of `make install`, and what is written about its binary; its time is that of
# the commit. An apk's description is one line, as each value in its .PKGINFO.
$(RELEASE_MACHINES:%=package-%): TREE = $(RELEASE)/$*/tree
$(RELEASE_MACHINES:%=package-%): package-%: $(RELEASE)/$(NAMED)-%
	$(QUIET)rm -rf $(TREE)
	$(QUIET)+umask 022 && $(call make_for,$*) install PREFIX=/usr DESTDIR=$(abspath $(TREE)) >$(TREE).log
	$(QUIET)install -m 755 $< $(TREE)/usr/bin/vdsocheck
	$(QUIET)install -m 644 $<.NOTICES.txt $(TREE)/usr/share/doc/vdsocheck/NOTICES
	$(QUIET)install -m 644 $<.cdx.json $(TREE)/usr/share/doc/vdsocheck/vdsocheck.cdx.json
	$(QUIET)gzip -9n $(TREE)/usr/share/man/man?/*
	$(QUIET)find $(TREE) -exec touch -d @$(SOURCE_DATE_EPOCH) {} +
	$(QUIET)license=$$(.ci/provenance license $(RELEASE)/$*/vdsocheck.map) && \
		sed "s/@license@/$$license/; s,@changelog@,$(TREE).changelog.yaml,; s|@homepage@|$(HOMEPAGE)|; /^homepage: \"\"$$/d" \
			src/share/packaging/nfpm.yaml >$(TREE).yaml
	$(QUIET)sed '/^  check whether/,/^contents:/{//!d}' $(TREE).yaml >$(TREE).apk.yaml
	$(QUIET)cp $(TREE).yaml $(TREE).rpm.yaml
	$(QUIET)sed '/^license:/d' $(TREE).yaml >$(TREE).deb.yaml
	$(QUIET)printf -- '- semver: %s\n  date: %s\n  packager: %s\n  deb: {urgency: medium, distributions: [stable]}\n  changes: [{note: See NEWS in this folder}]\n' \
		$(VERSION) "$$(date -u -d @$(SOURCE_DATE_EPOCH) +%FT%TZ)" \
		"$$(sed -n 's/^maintainer: //p' $(TREE).yaml)" >$(TREE).changelog.yaml
	$(QUIET)for kind in rpm apk deb; do \
		[ $$kind != deb ] || $(DEBIAN_TREE) || exit 1; \
		PACKAGE_ARCH=$(PACKAGE_ARCH_$*) PACKAGE_VERSION=$(VERSION) PACKAGE_TREE=$(TREE) \
		SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) \
			$(NFPM) package -f $(TREE).$$kind.yaml -p $$kind -t $(RELEASE) || exit 1; \
	done
	$(QUIET)SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) .ci/wheel $(VERSION) $* $< $<.NOTICES.txt \
		"$$(.ci/provenance license $(RELEASE)/$*/vdsocheck.map)" '$(HOMEPAGE)' $(RELEASE)
	$(QUIET)for file in $(RELEASE)/vdsocheck_$(VERSION)-*_$(PACKAGE_ARCH_$*).deb \
			$(RELEASE)/$(NAMED)-py3-none-*_$*.whl \
			$(RELEASE)/$(NAMED)-*.$*.rpm $(RELEASE)/vdsocheck_$(VERSION)-*_$*.apk; do \
		$(SBOM) "$$file" $(RELEASE)/$*/vdsocheck.map $< >"$$file.cdx.json" || exit 1; \
	done

# $ SIGN_KEY=ID make sign, after make release or packages: the key is in GnuPG's home. What was
# changed since is not signed.
sign:
	@[ -n "$${SIGN_KEY:=$(SIGN_KEY)}" ] || { echo 'sign: no key; give its ID as SIGN_KEY' >&2; exit 1; }; \
	cd $(RELEASE) && sha256sum --check --strict --quiet SHA256SUMS && \
		gpg --batch --yes --local-user "$$SIGN_KEY" --armor --detach-sign SHA256SUMS

# The libraries of the machine's own architecture are those of `make deps`.
release-deps:
	dpkg --add-architecture arm64
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
		gcc-aarch64-linux-gnu libc6-dev-arm64-cross libseccomp-dev:arm64 libjansson-dev:arm64 \
		libiberty-dev:arm64 libdw-dev:arm64 libbz2-dev:arm64 libcmocka-dev:arm64 python3 gpg gpg-agent qemu-user
