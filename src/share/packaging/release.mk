# SPDX-License-Identifier: MIT
# What is published of a version; included by the Makefile at the top.
#
#   make dist            the source of HEAD, as a tarball
#   make release         that and static binaries for x86-64 and arm64, with their SHA256SUMS
#   make release-deps    install what the arm64 build needs (root, Debian on x86-64)
#
# All land in $(BUILD)/release, and are the same byte for byte wherever a commit is built with
# the same compilers and libraries.

RELEASE := $(BUILD)/release
NAMED := vdsocheck-$(VERSION)
TARBALL := $(RELEASE)/$(NAMED).tar.gz
RELEASE_MACHINES := x86_64 aarch64
BINARIES := $(RELEASE_MACHINES:%=$(RELEASE)/$(NAMED)-%)

.PHONY: dist release release-deps
dist: $(TARBALL)

# git sorts, and sets owner 0, one mask and the commit's time.
$(TARBALL): FORCE
	$(call say,DIST,$@)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)git -c tar.umask=0022 archive -o $(@:.gz=) --prefix=$(NAMED)/ HEAD
	$(QUIET)gzip -9nf $(@:.gz=)

# The debug information stays behind.
$(BINARIES): $(RELEASE)/$(NAMED)-%: FORCE
	$(QUIET)PKG_CONFIG_LIBDIR=/usr/lib/$*-linux-gnu/pkgconfig:/usr/share/pkgconfig \
		$(MAKE) --no-print-directory STATIC=1 CC=$*-linux-gnu-gcc BUILD=$(RELEASE)/$*
	$(call say,STRIP,$@)
	$(QUIET)$*-linux-gnu-strip -o $@ $(RELEASE)/$*/vdsocheck

release: $(TARBALL) $(BINARIES)
	@$(if $(filter %-dirty,$(REVISION)),echo 'release: commit your changes first' >&2; exit 1)
	$(QUIET)cd $(RELEASE) && sha256sum $(^F) >SHA256SUMS
	$(QUIET)cat $(RELEASE)/SHA256SUMS

# The libraries of the machine's own architecture are those of `make deps`.
release-deps:
	dpkg --add-architecture arm64
	apt-get update -q
	DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
		gcc-aarch64-linux-gnu libc6-dev-arm64-cross libseccomp-dev:arm64 libjansson-dev:arm64 \
		qemu-user
