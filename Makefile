# SPDX-License-Identifier: MIT
#
# vdsocheck: checks whether the vDSO of a Linux host serves the clock.
#
#   make              build ./vdsocheck
#   make deps         install what the build needs (apt, dnf, apk, zypper, pacman)
#   make test-deps    install what the tests need, too
#   make check        run the tests, except the slow ones (minutes)
#   make install      install below $(DESTDIR)$(PREFIX); make uninstall removes it
#   make dist         make a source tarball of HEAD in $(BUILD)/release
#   make clean        remove $(BUILD) and ./vdsocheck
#   make help         print this; make help-tests: the other goals and variables
#
# Variables: CC CFLAGS CPPFLAGS LDFLAGS STATIC=1 V=1 BUILD DESTDIR PREFIX BINDIR
#   MANDIR DATADIR DOCDIR UNITDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR

# Tests (see tests/README.md):
#
#   make check-unit check-hosts check-cli check-live check-trace
#        check-compare-fake check-fuzz check-loop check-man  a suite of make check
#   make check-package   run the suites that builders of packages can run
#   make check-sanitized run make check with ASan and UBSan
#   make hosts           regenerate the expected output of the recorded hosts
#   make schema          regenerate src/share/*.schema.json
#   make completions     regenerate src/share/completions
#   make causes          regenerate man/vdsocheck-causes.7
#   make bpf             compile src/trace/events.bpf.c (clang 14)
#   make check-consumers let other programs read the output (CONSUMER=NAME: one)
#   make consumer-deps   install the programs that make check-consumers runs
#   make check-source    check compiler warnings, formatting, shell scripts
#   make check-analysis  run gcc -fanalyzer, clang-tidy, cppcheck
#   make check-faults    inject failures into system, library calls (ALL=1)
#   make check-endurance COUNT=10000   repeat runs under load
#   make check-rooms     build and test without each command (ROOM=NAME: one)
#   make check-fresh     run the README's commands in Debian chroots (root)
#   make check-release   test tarball and static binaries (make release-deps)
#   make check-32        build and test for 32 bits in such a chroot
#   make fuzz TIME=60    fuzz each parser for 60 seconds; make fuzz-keep
#   make coverage        report the lines that the suites run (gcovr)
#   make lab lab-ci lab-list lab-deps   test on real kernels (tests/lab/README.md)
#   make check-compare             test compare and warp in guests
#   make bench peers trace-overhead     compare cost with other tools
#   make format          format the sources with clang-format
#
# Releases:
#
#   make release         make tarball, static binaries (x86-64, arm64), checksums
#   make packages        the same and deb, rpm, apk, wheels (make consumer-deps)
#   make sign            sign SHA256SUMS with the GnuPG key SIGN_KEY
#   make release-deps    install what the arm64 build needs (Debian on x86-64)
#
# Variables, on the command line or from the environment:
#
#   STATIC=1             link statically, for machines without the libraries
#   SANITIZE=LIST        compile with -fsanitize=LIST (address,undefined)
#   CC=clang             another compiler; aarch64-linux-gnu-gcc cross-compiles
#   CPPFLAGS, CFLAGS, LDFLAGS   added after the Makefile's own flags
#   HARDENING=           replace the hardening flags
#   WERROR=1             treat warnings as errors
#   BUILD=DIR            build in DIR and leave ./vdsocheck alone (build)
#   PREFIX, DESTDIR      where to install (/usr/local, empty)
#   PKG_CONFIG           pkg-config to use; it has variables for cross builds
#   V=1                  show the commands

VERSION := 1.0.0

# What the program says: VERSION, or VERSION-dev with the commit where HEAD has no tag vVERSION.
FULL_VERSION := $(shell .ci/version $(VERSION))

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DATADIR ?= $(PREFIX)/share/vdsocheck
DOCDIR ?= $(PREFIX)/share/doc/vdsocheck
UNITDIR ?= $(PREFIX)/lib/systemd/system
BASHCOMPDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHCOMPDIR ?= $(PREFIX)/share/zsh/site-functions
FISHCOMPDIR ?= $(PREFIX)/share/fish/vendor_completions.d
DESTDIR ?=
PKG_CONFIG ?= pkg-config
BUILD ?= build
CFLAGS ?= -O2 -g
STATIC ?=
SANITIZE ?=
WERROR ?=
V ?=

QUIET := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# libcpuid asks x86 CPUs; there is nothing in it for others in the versions that are around.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
X86 := $(filter x86_64-% i386-% i486-% i586-% i686-%,$(MACHINE))
LIBRARIES := libseccomp jansson $(if $(X86),libcpuid)

# Rows leave out the members that are zero, which gcc 10 warns about where newer ones do not.
WARNINGS := -Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wconversion \
	$(if $(WERROR),-Werror)

# _FORTIFY_SOURCE needs optimization and is at odds with the sanitizers. A distribution's own
# level stands.
FORTIFY := $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,-U_FORTIFY_SOURCE \
	-D_FORTIFY_SOURCE=2)
# Shadow stacks and checked targets of branches, where the compiler and the machine have them.
CF_PROTECTION := $(if $(X86),$(shell $(CC) $(CFLAGS) -fcf-protection -x c -c /dev/null -o /dev/null 2>/dev/null && \
	echo -fcf-protection))
HARDENING ?= -fstack-protector-strong $(FORTIFY) $(CF_PROTECTION)

# A static program is loaded anywhere, too, since it reads distrusted bytes (a fixed address would save a tenth of
# the time of `check -q`), unless there is no start-up code for that, or the compiler makes a program with an
# interpreter of it, as musl-gcc does.
STATIC_PROBE = probe=$$(mktemp) && echo 'int main(void) { return 0; }' | $(CC) -fPIE $(CFLAGS) -static-pie $(LDFLAGS) \
	-x c - -o $$probe 2>/dev/null && readelf -lW $$probe >$$probe.headers && ! grep -q INTERP $$probe.headers && \
	echo -static-pie; rm -f $$probe $$probe.headers
PIE := $(if $(STATIC),$(or $(shell $(STATIC_PROBE)),-static -no-pie),-pie)

# Its 8,000 relocations, packed, are 4 KB in place of 200; its start-up code unpacks them from glibc 2.36 on.
PACK_PROBE = echo 'int main(void) { _Static_assert(__GLIBC_PREREQ(2, 36), ""); return 0; }' | $(CC) -fPIE $(CFLAGS) \
	-static-pie -Wl,--fatal-warnings,-z,pack-relative-relocs $(LDFLAGS) -include stdlib.h -x c - -o /dev/null \
	2>/dev/null && echo -Wl,-z,pack-relative-relocs
PACK := $(if $(filter -static-pie,$(PIE)),$(shell $(PACK_PROBE)))

CPPFLAGS_OURS := -D_GNU_SOURCE -Iinclude
CFLAGS_OURS := -std=gnu11 -pthread $(WARNINGS) $(HARDENING) -ffile-prefix-map=$(CURDIR)=. \
	$(if $(filter -no-pie,$(PIE)),-fno-pie,-fPIE) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LDFLAGS_OURS := -Wl,-z,relro,-z,now -Wl,--as-needed $(PIE) $(PACK) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE))

# 32-bit targets such as MIPS and PowerPC access 64 bits atomically only by libatomic.
ATOMIC_PROBE = echo 'long long v; int main(void) { return (int)__atomic_load_n(&v, 2); }' | \
	$(CC) $(CFLAGS) $(LDFLAGS) -x c - -o /dev/null 2>/dev/null || echo -latomic

# trace reads the names of C++ and Rust by libiberty; where it is not there they stay mangled.
DEMANGLER_PROBE = echo 'char *rust_demangle(); int main(void) { return !rust_demangle("", 0); }' | \
	$(CC) $(CFLAGS) $(LDFLAGS) -x c - -liberty -o /dev/null 2>/dev/null && echo -liberty
DEMANGLER = $(eval DEMANGLER := $(shell $(DEMANGLER_PROBE)))$(DEMANGLER)

# It names functions by libdw, which a static program has inside, and another loads when a report needs it. The
# static one of Debian 13 (0.192) lacks functions that it calls.
LIBDW_USE = $(if $(STATIC),dwfl_begin(0) && dwarf_begin(0, DWARF_C_READ),sizeof(Dwarf_Die))
LIBDW_PROBE = for libraries in $(if $(STATIC),'-ldw -lelf -lz -llzma -lbz2' '-ldw -lelf -lz -llzma -lbz2 -lzstd',-ldl); do \
	echo 'int main(void) { return !($(LIBDW_USE)); }' | $(CC) $(CFLAGS) $(if $(STATIC),-static -pthread) $(LDFLAGS) \
	-include elfutils/libdwfl.h -x c - $$libraries -o /dev/null 2>/dev/null && echo $$libraries && break; done
LIBDW = $(eval LIBDW := $(shell $(LIBDW_PROBE)))$(LIBDW)

# Looked up when a goal first needs them, and once: `make deps` works without. Before glibc 2.34 timers
# are in librt.
LIBRARY_CFLAGS = $(eval LIBRARY_CFLAGS := $(shell $(PKG_CONFIG) --cflags $(LIBRARIES)))$(LIBRARY_CFLAGS)
LIBRARY_LIBS = $(eval LIBRARY_LIBS := $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(LIBRARIES)) \
	$(DEMANGLER) $(LIBDW) -lm -lrt $(shell $(ATOMIC_PROBE)))$(LIBRARY_LIBS)

COMPILE = $(CC) $(CPPFLAGS_OURS) $(if $(DEMANGLER),-DDEMANGLER) $(if $(LIBDW),-DLIBDW$(if $(STATIC),_LINKED)) $(LIBRARY_CFLAGS) $(CFLAGS_OURS) $(CPPFLAGS) $(CFLAGS)
LINK = $(CC) $(CFLAGS_OURS) $(CFLAGS) $(LDFLAGS_OURS) $(LDFLAGS)

# `make bpf` compiles those for BPF.
SOURCES := $(filter-out %.bpf.c,$(wildcard src/*.c src/*/*.c))
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/src/%.o)
MODULES := $(filter-out $(BUILD)/src/main.o,$(OBJECTS))

.PHONY: all
all: $(if $(filter build,$(BUILD)),vdsocheck,$(BUILD)/vdsocheck)

vdsocheck: build/vdsocheck
	$(QUIET)ln -f $< $@ 2>/dev/null || cp -f $< $@

# The linker's map names what a static binary contains of others; .ci/provenance reads it. zig's linker
# makes none.
MAP_PROBE = echo 'int main(void) { return 0; }' | $(CC) $(CFLAGS) $(LDFLAGS) -Wl,-Map=$@.map \
	-x c - -o /dev/null 2>/dev/null && echo -Wl,-Map=$@.map
$(BUILD)/vdsocheck: $(OBJECTS) $(BUILD)/flags
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $(if $(STATIC),$(shell $(MAP_PROBE))) $(OBJECTS) $(LIBRARY_LIBS) -o $@

$(BUILD)/src/%.o: src/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPILE) -MMD -MP -c $< -o $@

# $(call stamp,TEXT): the recipe of a file that changes when TEXT does, and with it what depends on it.
stamp = printf '%s\n' '$(subst ','\'',$(1))' | cmp -s - $@ || printf '%s\n' '$(subst ','\'',$(1))' >$@

# What was compiled with other flags is compiled again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@$(PKG_CONFIG) --exists $(LIBRARIES) || { \
		echo "$(PKG_CONFIG) does not find all of: $(strip $(LIBRARIES))." \
			"'make $(if $(filter aarch64-linux-gnu-gcc,$(CC)),release-)deps' installs them" >&2; exit 1; }
	@$(call stamp,$(COMPILE) $(LINK) $(LIBRARY_LIBS))

.PHONY: FORCE
FORCE:

# The only object that a commit changes.
$(BUILD)/src/base/version.o: private CPPFLAGS_OURS += -DVDSOCHECK_VERSION='"$(FULL_VERSION)"'
$(BUILD)/src/base/version.o: $(BUILD)/version
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@$(call stamp,$(FULL_VERSION))

-include $(OBJECTS:.o=.d)

PAGES := $(wildcard man/*.[17])
UNITS := $(wildcard src/share/systemd/*)
# The picture is the README's, which is not installed.
DOCUMENTS := LICENSE $(filter-out %.svg,$(wildcard src/share/doc/*))
SHARED := $(filter-out src/share/packaging/% src/share/completions/% $(UNITS) src/share/doc/%,\
	$(wildcard src/share/*.* src/share/*/*))

# What is installed beside the binary, as FILE:WHERE.
INSTALLED := $(foreach page,$(PAGES),$(page):$(MANDIR)/man$(subst .,,$(suffix $(page)))/$(notdir $(page))) \
	$(foreach file,$(DOCUMENTS),$(file):$(DOCDIR)/$(notdir $(file))) \
	$(foreach unit,$(UNITS),$(unit):$(UNITDIR)/$(notdir $(unit))) \
	$(foreach file,$(SHARED),$(file):$(file:src/share/%=$(DATADIR)/%)) \
	$(foreach file,$(wildcard src/share/completions/*.bash),\
		$(file):$(BASHCOMPDIR)/$(basename $(notdir $(file)))) \
	$(foreach file,$(wildcard src/share/completions/*.fish),\
		$(file):$(FISHCOMPDIR)/$(notdir $(file))) \
	$(foreach file,$(wildcard src/share/completions/_*),\
		$(file):$(ZSHCOMPDIR)/$(notdir $(file)))

.PHONY: install uninstall
install: all
	$(call say,INSTALL,$(DESTDIR)$(BINDIR)/vdsocheck and $(words $(INSTALLED)) files below $(DESTDIR)$(PREFIX))
	$(QUIET)install -d '$(DESTDIR)$(BINDIR)'
	$(QUIET)install -m 755 $(BUILD)/vdsocheck '$(DESTDIR)$(BINDIR)/vdsocheck'
	$(QUIET)for pair in $(INSTALLED); do \
		install -D -m 644 "$${pair%%:*}" '$(DESTDIR)'"$${pair#*:}" || exit 1; \
	done
	$(QUIET)for pair in $(INSTALLED); do \
		! grep -qE '@(bin|data)dir@' "$${pair%%:*}" || \
			sed -i 's|@bindir@|$(BINDIR)|g; s|@datadir@|$(DATADIR)|g' '$(DESTDIR)'"$${pair#*:}" || exit 1; \
	done

# Empty folders are removed too, except the system's own.
uninstall:
	$(call say,REMOVE,$(DESTDIR)$(BINDIR)/vdsocheck and $(words $(INSTALLED)) files below $(DESTDIR)$(PREFIX))
	$(QUIET)rm -f '$(DESTDIR)$(BINDIR)/vdsocheck'
	$(QUIET)for pair in $(INSTALLED); do rm -f '$(DESTDIR)'"$${pair#*:}"; done
	$(QUIET)find '$(DESTDIR)$(DATADIR)' '$(DESTDIR)$(DOCDIR)' -type d -empty -delete 2>/dev/null || :
	$(if $(DESTDIR)$(filter-out /usr /usr/local,$(PREFIX)),$(QUIET)$(PRUNE))

FOLDERS = $(sort $(BINDIR) $(dir $(DATADIR) $(DOCDIR)) $(foreach pair,$(INSTALLED),$(dir $(lastword $(subst :, ,$(pair))))))
PRUNE = cd '$(DESTDIR)/' && rmdir -p --ignore-fail-on-non-empty $(FOLDERS:%=./%) 2>/dev/null || :

.PHONY: deps test-deps consumer-deps clean help help-tests format
deps:
	@.ci/deps

test-deps:
	@.ci/deps --tests

consumer-deps:
	@tests/consumers/deps $(CONSUMER)

clean:
	rm -rf '$(BUILD)' $(if $(filter build,$(BUILD)),vdsocheck)

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

help-tests:
	@sed -n '/^# Tests (/,/^$$/s/^# \{0,1\}//p' Makefile

format:
	$(shell command -v clang-format-14 || echo clang-format) -i $(SOURCES) $(wildcard src/*/*.bpf.c src/*/*.h include/*.h include/*/*.h tests/*/*.c tests/*/*.h)

include .ci/release.mk
include tests/tests.mk
include $(filter-out tests/fuzz/fuzz.mk,$(wildcard tests/*/*.mk))
