# SPDX-License-Identifier: MIT
#
# vdsocheck: tells whether the clock of a Linux host is answered in user space.
#
#   make                 build ./vdsocheck
#   make deps            install what building and testing need (apt, dnf, apk, zypper, pacman)
#   make check           all tests, then all of them again under ASan and UBSan
#   make install         binary and man page below $(DESTDIR)$(PREFIX)
#   make uninstall       take them away again
#   make clean           remove what was built
#   make help            print this
#
# Knobs, on the command line or from the environment:
#
#   STATIC=1             one file without a dynamic loader, to copy to a bare machine
#   SANITIZE=LIST        compile with -fsanitize=LIST (address,undefined)
#   CC=clang             another compiler; CC=aarch64-linux-gnu-gcc crosses
#   CFLAGS, LDFLAGS      yours, after all of ours
#   HARDENING=           other hardening flags, or none
#   BUILD=DIR            objects and binary in DIR; ./vdsocheck is left alone
#   PREFIX, DESTDIR      /usr/local and nothing
#   PKG_CONFIG           and its own variables, for crossing
#   V=1                  show the commands
#
# The tests (see tests/README.md):
#
#   make check-unit check-golden check-cli check-live     one suite
#   make golden          write the golden files anew from what is printed now
#   make check-fresh     the README's two commands in a minimal Debian chroot (root, slow)
#   make lab, lab-list   real kernels under emulation (see tests/lab/README.md)
#   make format          put the sources in .clang-format's form

VERSION := 0.1.0

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
MANDIR ?= $(PREFIX)/share/man
DESTDIR ?=
PKG_CONFIG ?= pkg-config
BUILD ?= build
CFLAGS ?= -O2 -g
STATIC ?=
SANITIZE ?=
V ?=

QUIET := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# libcpuid asks x86 CPUs; there is nothing in it for others in the versions that are around.
MACHINE := $(shell $(CC) -dumpmachine 2>/dev/null)
X86 := $(filter x86_64-% i386-% i486-% i586-% i686-%,$(MACHINE))
LIBRARIES := libseccomp jansson $(if $(X86),libcpuid)

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wconversion

# _FORTIFY_SOURCE needs optimisation and is at odds with the sanitizers.
HARDENING ?= -fstack-protector-strong $(if $(SANITIZE),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)

CPPFLAGS_OURS := -D_GNU_SOURCE -Iinclude -DVDSOCHECK_VERSION='"$(VERSION)"'
CFLAGS_OURS := -std=gnu11 -pthread $(WARNINGS) $(HARDENING) -ffile-prefix-map=$(CURDIR)=. \
	$(if $(STATIC),-fno-pie,-fPIE) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
LDFLAGS_OURS := -Wl,-z,relro,-z,now -Wl,--as-needed $(if $(STATIC),-static -no-pie,-pie) \
	$(if $(SANITIZE),-fsanitize=$(SANITIZE))

LIBRARY_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(LIBRARIES))
LIBRARY_LIBS = $(shell $(PKG_CONFIG) $(if $(STATIC),--static) --libs $(LIBRARIES)) -lm

COMPILE = $(CC) $(CPPFLAGS_OURS) $(LIBRARY_CFLAGS) $(CPPFLAGS) $(CFLAGS_OURS) $(CFLAGS)
LINK = $(CC) $(CFLAGS_OURS) $(CFLAGS) $(LDFLAGS_OURS) $(LDFLAGS)

# Goals that compile nothing work without the libraries.
WITHOUT_LIBRARIES := deps help clean uninstall format lab lab-ci lab-list lab-deps check-fresh
ifneq ($(filter-out $(WITHOUT_LIBRARIES),$(or $(MAKECMDGOALS),all)),)
ifeq ($(filter deps,$(MAKECMDGOALS)),)
ifneq ($(shell $(PKG_CONFIG) --exists $(LIBRARIES) && echo yes),yes)
$(error $(PKG_CONFIG) does not find all of: $(LIBRARIES). 'make deps' installs them)
endif
endif
endif

SOURCES := $(wildcard src/*.c src/*/*.c)
OBJECTS := $(SOURCES:src/%.c=$(BUILD)/src/%.o)
MODULES := $(filter-out $(BUILD)/src/main.o,$(OBJECTS))

.PHONY: all
all: $(if $(filter build,$(BUILD)),vdsocheck,$(BUILD)/vdsocheck)

vdsocheck: build/vdsocheck
	$(QUIET)cp $< $@

$(BUILD)/vdsocheck: $(OBJECTS) $(BUILD)/flags
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $(OBJECTS) $(LIBRARY_LIBS) -o $@

$(BUILD)/src/%.o: src/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPILE) -MMD -MP -c $< -o $@

# What was compiled with other flags is compiled again.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(COMPILE) $(LINK) $(LIBRARY_LIBS))' | cmp -s - $@ || \
		printf '%s\n' '$(subst ','\'',$(COMPILE) $(LINK) $(LIBRARY_LIBS))' > $@

.PHONY: FORCE
FORCE:

-include $(OBJECTS:.o=.d)

PAGES := $(wildcard man/*.1)

.PHONY: install uninstall
install: all
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(MANDIR)/man1'
	install -m 755 $(if $(filter build,$(BUILD)),vdsocheck,$(BUILD)/vdsocheck) '$(DESTDIR)$(BINDIR)/vdsocheck'
	install -m 644 $(PAGES) '$(DESTDIR)$(MANDIR)/man1'

# Empty folders go too, but for those of the system: they were there before.
uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/vdsocheck' $(PAGES:man/%='$(DESTDIR)$(MANDIR)/man1/%')
	$(if $(DESTDIR)$(filter-out /usr /usr/local,$(PREFIX)),$(PRUNE))

PRUNE = cd '$(DESTDIR)/' && \
	rmdir -p --ignore-fail-on-non-empty './$(BINDIR)' './$(MANDIR)/man1' 2>/dev/null || :

.PHONY: deps clean help format
deps:
	@.ci/deps

clean:
	rm -rf build vdsocheck

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' Makefile

format:
	clang-format -i $(SOURCES) $(wildcard src/*/*.h include/*.h include/*/*.h tests/*/*.c tests/*/*.h)

-include tests/tests.mk
-include tests/lab/lab.mk
-include tests/bench/bench.mk
-include tests/compare/compare.mk
