# SPDX-License-Identifier: MIT
# The tests' targets; included by the Makefile at the top. See tests/README.md.

TEST_CFLAGS = $(eval TEST_CFLAGS := -Itests -Isrc $(shell $(PKG_CONFIG) --cflags cmocka))$(TEST_CFLAGS)
# Before glibc 2.34 dlopen() is in a library of its own.
TEST_LIBS = $(eval TEST_LIBS := $(shell $(PKG_CONFIG) --libs cmocka) -ldl)$(TEST_LIBS)
TEST_BINARY := $(BUILD)/vdsocheck

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/*_test.c))
UNIT_HELPERS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%.o,\
	$(filter-out %_test.c,$(wildcard tests/unit/*.c)))
PRINTED_TEST := $(BUILD)/tests/printed/printed
PRINTED_OBJECTS := $(patsubst tests/printed/%.c,$(BUILD)/tests/printed/%.o,$(wildcard tests/printed/*.c))
SCHEMA_TOOL := $(BUILD)/tests/tools/schema
SCHEMAS := check:vdsocheck $(foreach name,bench compare trace warp,$(name):vdsocheck-$(name))
COMPLETIONS_TOOL := $(BUILD)/tests/tools/completions
CAUSES_TOOL := $(BUILD)/tests/tools/causes
TEST_TOOLS := $(addprefix $(BUILD)/tests/tools/,oracle sandbox document hanging)
CLI_PRELOADS := $(addprefix $(BUILD)/tests/,cli/children_stop.so cli/counter_off.so cli/replaced_vdso.so cli/other_clock.so faults/fail.so)

include tests/fuzz/fuzz.mk

# All suites but the slow ones, and the same with the sanitizers watching. The longest come first.
SUITES := check-cli check-trace check-live check-unit check-hosts check-fuzz check-man
.PHONY: check test check-sanitized
test: check
# Two at a time, since most wait more than they compute. Each prints at its end; the last line has the sums of all.
check: test-programs
	$(QUIET)+tests/tools/total 'make check' $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j2) \
		--output-sync=target -k $(SUITES)

# The suites that need no pty, no ptrace(2) and no root, for builders of packages.
.PHONY: check-package
check-package: check-unit check-hosts check-man

check-sanitized:
	$(QUIET)$(MAKE) --no-print-directory BUILD=$(BUILD)/sanitized SANITIZE=address,undefined CFLAGS='-O1 -g' check

TRACE_CALLER := $(BUILD)/tests/trace/caller
TRACE_CONTRACT := $(BUILD)/tests/trace/contract
TRACE_RUNNING := $(BUILD)/tests/trace/running
TRACE_PRELOAD := $(BUILD)/tests/trace/late_forks.so

.PHONY: check-trace
# CYCLES=500: times that a process is attached to and let go, or its tracer killed. ONLY: tests of the first suite alone.
# The sanitizers watch the first suite, which takes the same ways, and not the second.
check-trace: $(TEST_BINARY) $(TRACE_CALLER) $(TRACE_CONTRACT) $(TRACE_RUNNING) $(TRACE_PRELOAD) $(TEST_TOOLS)
	$(QUIET)tests/trace/run $(TEST_BINARY) $(BUILD)/tests $(CYCLES)
	$(QUIET)tests/trace/exact $(TEST_BINARY) $(BUILD)/tests $(CYCLES)
	$(if $(ONLY)$(SANITIZE),,$(QUIET)tests/trace/same $(TEST_BINARY) $(BUILD)/tests)

# What counting costs, beside strace: a table. ROUNDS=7
.PHONY: trace-overhead
trace-overhead: $(TEST_BINARY) $(TRACE_CALLER) $(TEST_TOOLS)
	$(QUIET)tests/trace/overhead $(TEST_BINARY) $(TRACE_CALLER) $(ROUNDS)

.PHONY: check-unit check-hosts check-printed check-cli check-live check-man hosts schema
# TEST=PART: those with PART in their names alone.
WANTED_TESTS = $(if $(TEST),$(foreach one,$(UNIT_TESTS),$(if $(findstring $(TEST),$(notdir $(one))),$(one))),$(UNIT_TESTS))
check-unit: $(if $(TEST),$(WANTED_TESTS),$(UNIT_TESTS))
	$(QUIET)tests/unit/run $(or $^,$(error no unit test has '$(TEST)' in its name))

# HOST=NAME: that host alone.
check-hosts: $(TEST_BINARY) $(SCHEMA_TOOL) $(COMPLETIONS_TOOL) $(CAUSES_TOOL) $(if $(HOST),,check-printed)
	$(QUIET)for pair in $(SCHEMAS); do \
		$(SCHEMA_TOOL) "$${pair%:*}" | cmp - "src/share/$${pair#*:}-1.schema.json" || \
		{ echo 'FAIL  src/share is stale: make schema'; exit 1; }; done
	$(QUIET)for pair in $(COMPLETIONS); do \
		$(COMPLETIONS_TOOL) "$${pair%:*}" | cmp - "src/share/completions/$${pair#*:}" || \
		{ echo 'FAIL  src/share/completions is stale: make completions'; exit 1; }; done
	$(QUIET)$(CAUSES_TOOL) | cmp - man/vdsocheck-causes.7 || \
		{ echo 'FAIL  man/vdsocheck-causes.7 is stale: make causes'; exit 1; }
	$(QUIET)if command -v python3 >/dev/null; then python3 -B tests/hosts/run $(TEST_BINARY) $(HOST) && \
		$(if $(HOST),:,python3 -B tests/hosts/recipes $(TEST_BINARY) && \
			python3 -B tests/lore/run $(TEST_BINARY) && \
			python3 -B tests/lore/machines $(TEST_BINARY)); \
	else echo 'skip  hosts: no python3'; echo 'hosts: 0 passed, 0 failed, 1 skipped'; fi

check-printed: $(PRINTED_TEST)
	$(QUIET)tests/unit/run $(PRINTED_TEST)

# After a wanted change: what is printed now becomes what is expected. Look at the difference.
hosts: $(TEST_BINARY) $(PRINTED_TEST) schema
	$(QUIET)$(PRINTED_TEST) --write
	$(QUIET)python3 -B tests/hosts/run --write $(TEST_BINARY) $(HOST)

schema: $(SCHEMA_TOOL)
	$(QUIET)for pair in $(SCHEMAS); do \
		$(SCHEMA_TOOL) "$${pair%:*}" >"src/share/$${pair#*:}-1.schema.json" || exit 1; done

# The same for the completions of shells, after a change of a command's options.
.PHONY: completions
COMPLETIONS := bash:vdsocheck.bash zsh:_vdsocheck fish:vdsocheck.fish
completions: $(COMPLETIONS_TOOL)
	$(QUIET)for pair in $(COMPLETIONS); do \
		$(COMPLETIONS_TOOL) "$${pair%:*}" >"src/share/completions/$${pair#*:}" || exit 1; done

# And the manual page of causes and advice, after a change of the rows in src/judge.
.PHONY: causes
causes: $(CAUSES_TOOL)
	$(QUIET)$(CAUSES_TOOL) >man/vdsocheck-causes.7

# And the BPF programs. Versions of clang differ in what they emit: check-bpf compares what 14 does.
.PHONY: bpf
bpf:
	$(QUIET)mkdir -p $(BUILD)
	$(QUIET)tests/tools/bpf_code "$$(command -v clang-14 || echo clang)" >$(BUILD)/events_code.h
	$(QUIET)mv $(BUILD)/events_code.h src/trace/events_code.h

# ONLY=TEXT: the tests with TEXT in their names alone.
# Whether ptrace(2) works here is known by a program of the tests of trace.
check-cli: $(TEST_BINARY) $(TEST_TOOLS) $(CLI_PRELOADS) $(and $(wildcard tests/trace),$(TRACE_CONTRACT))
	$(QUIET)ONLY='$(ONLY)' tests/cli/run $(TEST_BINARY) $(BUILD)/tests

check-live: $(TEST_BINARY) $(TEST_TOOLS)
	$(QUIET)tests/live/run $(TEST_BINARY) $(BUILD)/tests/tools

# ALL=1: each call of each kind fails, which takes long; else a few. ONLY=TEXT: those commands.
.PHONY: check-faults
check-faults: $(TEST_BINARY) $(CLI_PRELOADS) $(TRACE_CALLER) $(TEST_TOOLS)
	$(QUIET)tests/faults/run $(TEST_BINARY) $(BUILD)/tests $(if $(ALL),--all) \
		$(if $(ONLY),--only '$(ONLY)')

# COUNT=10000: runs under load; by hand.
.PHONY: check-endurance coverage
check-endurance: $(TEST_BINARY) $(TEST_TOOLS)
	$(QUIET)tests/live/endurance $(TEST_BINARY) $(BUILD)/tests/tools $(or $(COUNT),500)

# A few tests of check-cli fail with it: what forbids the program to write files forbids it to
# write its counters, and it says so. What a failing test ran counts, too.
COVERAGE = $(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CFLAGS='-O0 -g --coverage' LDFLAGS=--coverage \
	HARDENING= SANITIZE= ATOMIC_PROBE=:
coverage:
	$(QUIET)rm -rf $(BUILD)/coverage
	$(QUIET)$(COVERAGE) -k check-unit check-hosts || :
	$(QUIET)$(COVERAGE) -k check-live check-cli >$(BUILD)/coverage/cli.log 2>&1 || :
	$(QUIET)tests/source/coverage $(BUILD)/coverage

check-man:
	$(QUIET)if ! command -v mandoc >/dev/null; then \
		echo 'skip  the man page has no mistakes: no mandoc'; echo 'man: 0 passed, 0 failed, 1 skipped'; \
	elif mandoc -T lint -W warning $(PAGES); then echo 'man: 1 passed, 0 failed, 0 skipped'; \
	else echo 'man: 0 passed, 1 failed, 0 skipped'; exit 1; fi

# The programs that read our output, run for real. CONSUMER=NAME: that one alone, of tests/consumers/NAME.sh.
.PHONY: check-consumers
check-consumers: $(TEST_BINARY) $(TEST_TOOLS)
	$(QUIET)tests/consumers/run $(TEST_BINARY) $(BUILD)/tests $(CONSUMER)

# Each command is deleted from a copy, in which the rest is tested. ROOM=NAME: that one alone.
.PHONY: check-rooms
check-rooms:
	$(QUIET)tests/rooms/run $(or $(ROOM),bench warp compare trace)

# The source itself; see tests/source/run.
.PHONY: check-source check-format check-shell check-map check-bpf check-werror
check-source: $(TEST_BINARY)
	$(QUIET)tests/source/run $(BUILD) format shell map bpf werror

check-map: $(TEST_BINARY)

# COMPILERS=clang: that one alone.
check-format check-shell check-map check-bpf check-werror:
	$(QUIET)COMPILERS='$(COMPILERS)' tests/source/run $(BUILD) $(@:check-%=%)

# A minute or two on two CPUs; Debian 12's tools.
.PHONY: check-analysis
check-analysis:
	$(QUIET)tests/source/run $(BUILD) analyzer cppcheck tidy

# Fresh machines, as root: the README's two commands; and a 32-bit Debian, whose compiler,
# libraries and tests are all 32-bit.
.PHONY: check-fresh check-32
check-fresh:
	$(QUIET)tests/fresh/run

check-32:
	$(QUIET)tests/fresh/run bookworm/i386:tests

# The tarball and the static binaries of HEAD; GUEST=1 boots a guest of the lab with that for arm64.
.PHONY: check-release
check-release: $(TEST_TOOLS) $(CLI_PRELOADS)
	$(QUIET)GUEST='$(GUEST)' tests/release/run $(BUILD)/tests

# Everything that the suites run, without running it.
.PHONY: test-programs
test-programs: $(UNIT_TESTS) $(PRINTED_TEST) $(SCHEMA_TOOL) $(COMPLETIONS_TOOL) $(CAUSES_TOOL) $(TEST_TOOLS) $(CLI_PRELOADS) $(TRACE_CALLER) $(TRACE_CONTRACT) $(TRACE_RUNNING) $(TRACE_PRELOAD) \
	$(FUZZERS:%=$(BUILD)/tests/fuzz/%)

$(BUILD)/tests/flags: FORCE
	@mkdir -p $(@D)
	@$(PKG_CONFIG) --exists cmocka || { \
		echo "$(PKG_CONFIG) does not find cmocka. 'make test-deps' installs it" >&2; exit 1; }
	@$(call stamp,$(TEST_CFLAGS) $(TEST_LIBS))

# Unit tests and those of what is printed call the modules of src/ directly.
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags $(BUILD)/tests/flags
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPILE) $(TEST_CFLAGS) -MMD -MP -c $< -o $@

$(UNIT_TESTS): EXTRA = $(UNIT_HELPERS)
$(UNIT_TESTS): $(UNIT_HELPERS)
# The tests shift what a CPU reads.
$(BUILD)/tests/unit/warp_run_test: EXTRA += -Wl,--wrap=warp_clock_read
$(BUILD)/tests/unit/measure_timebase_test: EXTRA += -Wl,--wrap=kernel_clock_ns
$(PRINTED_TEST): $(PRINTED_OBJECTS) $(MODULES)
$(SCHEMA_TOOL) $(COMPLETIONS_TOOL) $(CAUSES_TOOL): %: %.o $(MODULES)
$(PRINTED_TEST) $(SCHEMA_TOOL) $(COMPLETIONS_TOOL) $(CAUSES_TOOL):
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $^ $(LIBRARY_LIBS) $(TEST_LIBS) -o $@

$(UNIT_TESTS): %: %.o $(MODULES)
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $< $(EXTRA) $(MODULES) $(LIBRARY_LIBS) $(TEST_LIBS) -o $@

# What stands outside the program shares no code with it, and is never sanitized: it must
# work where a sanitizer cannot.
TEST_OUTSIDER = $(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2

$(BUILD)/tests/tools/document: OUTSIDER_LIBS = $(shell $(PKG_CONFIG) --cflags --libs jansson)
$(TEST_TOOLS): $(BUILD)/tests/%: tests/%.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(TEST_OUTSIDER) $< $(OUTSIDER_LIBS) -o $@

$(TRACE_CALLER): tests/trace/caller.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(TEST_OUTSIDER) -pthread $< -o $@

$(TRACE_CONTRACT): tests/trace/contract.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(TEST_OUTSIDER) -pthread $< -o $@

$(TRACE_RUNNING): tests/trace/running.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(TEST_OUTSIDER) -pthread $< -ldl -o $@

$(CLI_PRELOADS) $(TRACE_PRELOAD): $(BUILD)/tests/%.so: tests/%.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(TEST_OUTSIDER) -shared -fPIC $< -ldl -o $@

-include $(UNIT_TESTS:=.d) $(UNIT_HELPERS:.o=.d) $(PRINTED_OBJECTS:.o=.d) $(SCHEMA_TOOL).d $(COMPLETIONS_TOOL).d $(CAUSES_TOOL).d
