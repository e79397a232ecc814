# SPDX-License-Identifier: MIT
# What is published of a version; included by the Makefile at the top.
#
#   make dist            the source of HEAD, as a tarball
#   make release         that and static binaries for x86-64 and arm64, with their SHA256SUMS
#   make packages        besides, deb, rpm and apk packages with these binaries, by nfpm
#   make release-deps    install what the arm64 build needs (root, Debian on x86-64)
#
# All land in $(BUILD)/release, and are the same byte for byte wherever a commit is built with
# the same compilers, libraries and nfpm (NFPM: by default the one that
# `make consumer-deps CONSUMER=packages` installs).

RELEASE := $(BUILD)/release
NAMED := vdsocheck-$(VERSION)
TARBALL := $(RELEASE)/$(NAMED).tar.gz
RELEASE_MACHINES := x86_64 aarch64
BINARIES := $(RELEASE_MACHINES:%=$(RELEASE)/$(NAMED)-%)

.PHONY: dist release packages $(RELEASE_MACHINES:%=package-%) release-deps
dist: $(TARBALL)

# git sorts, and sets owner 0, one mask and the commit's time.
$(TARBALL): FORCE
	$(call say,DIST,$@)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)git -c tar.umask=0022 archive -o $(@:.gz=) --prefix=$(NAMED)/ HEAD
	$(QUIET)gzip -9nf $(@:.gz=)

# $(call make_for,MACHINE): make, for a static build in a folder of its own.
make_for = PKG_CONFIG_LIBDIR=/usr/lib/$(1)-linux-gnu/pkgconfig:/usr/share/pkgconfig \
	$(MAKE) --no-print-directory STATIC=1 CC=$(1)-linux-gnu-gcc BUILD=$(RELEASE)/$(1)

# The debug information stays behind.
$(BINARIES): $(RELEASE)/$(NAMED)-%: FORCE
	$(QUIET)+$(call make_for,$*)
	$(call say,STRIP,$@)
	$(QUIET)$*-linux-gnu-strip -o $@ $(RELEASE)/$*/vdsocheck

# The fuzzers, built like the binaries; the release's tests run them.
.PHONY: $(RELEASE_MACHINES:%=fuzzers-%)
$(RELEASE_MACHINES:%=fuzzers-%): fuzzers-%:
	$(QUIET)+$(call make_for,$*) fuzzers

# $(call checksums,FILE...)
checksums = cd $(RELEASE) && sha256sum $(1) >SHA256SUMS && cat SHA256SUMS

release: $(TARBALL) $(BINARIES)
	@$(if $(filter %-dirty,$(REVISION)),echo 'release: commit your changes first' >&2; exit 1)
	$(QUIET)$(call checksums,$(^F))

packages: release $(RELEASE_MACHINES:%=package-%)
	$(QUIET)$(call checksums,$(NAMED)*.* $(notdir $(BINARIES)) vdsocheck_$(VERSION)-*)

NFPM ?= $(firstword $(wildcard $(shell tests/consumers/deps --where)/go/bin/nfpm) nfpm)
PACKAGE_ARCH_x86_64 := amd64
PACKAGE_ARCH_aarch64 := arm64

SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

NFPM_CONFIG := src/share/packaging/nfpm.yaml

# A package holds the tree of `make install`; its time is that of the commit. An apk's description
# is one line, as each value in its .PKGINFO.
$(RELEASE_MACHINES:%=package-%): TREE = $(RELEASE)/$*/tree
$(RELEASE_MACHINES:%=package-%): package-%: $(RELEASE)/$(NAMED)-%
	$(QUIET)rm -rf $(TREE)
	$(QUIET)+umask 022 && $(call make_for,$*) install PREFIX=/usr DESTDIR=$(abspath $(TREE)) >$(TREE).log
	$(QUIET)install -m 755 $< $(TREE)/usr/bin/vdsocheck
	$(QUIET)gzip -9n $(TREE)/usr/share/man/man?/*
	$(QUIET)find $(TREE) -exec touch -d @$(SOURCE_DATE_EPOCH) {} +
	$(QUIET)sed '/^  check whether/,/^contents:/{//!d}' $(NFPM_CONFIG) >$(TREE).apk.yaml
	$(QUIET)for kind in deb rpm apk; do \
		config=$(NFPM_CONFIG); [ $$kind != apk ] || config=$(TREE).apk.yaml; \
		PACKAGE_ARCH=$(PACKAGE_ARCH_$*) PACKAGE_VERSION=$(VERSION) PACKAGE_TREE=$(TREE) \
		SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) \
			$(NFPM) package -f $$config -p $$kind -t $(RELEASE) || exit 1; \
	done

# The libraries of the machine's own architecture are those of `make deps`.
release-deps:
	dpkg --add-architecture arm64
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
		gcc-aarch64-linux-gnu libc6-dev-arm64-cross libseccomp-dev:arm64 libjansson-dev:arm64 \
		libcmocka-dev:arm64 qemu-user
