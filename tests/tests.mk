# SPDX-License-Identifier: MIT
# The tests' targets; included by the Makefile at the top. See tests/README.md.

TEST_CFLAGS = -Itests $(shell $(PKG_CONFIG) --cflags cmocka)
TEST_LIBS = $(shell $(PKG_CONFIG) --libs cmocka)
TEST_BINARY := $(BUILD)/vdsocheck

UNIT_TESTS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%,$(wildcard tests/unit/*_test.c))
UNIT_HELPERS := $(patsubst tests/unit/%.c,$(BUILD)/tests/unit/%.o,\
	$(filter-out %_test.c,$(wildcard tests/unit/*.c)))
GOLDEN_TEST := $(BUILD)/tests/golden/golden
LIVE_ORACLE := $(BUILD)/tests/live/oracle

# Everything, and everything again with the sanitizers watching.
.PHONY: check check-once check-sanitized
check:
	$(QUIET)$(MAKE) --no-print-directory check-once
	$(QUIET)$(MAKE) --no-print-directory check-sanitized

check-once: check-unit check-golden check-cli check-live check-man

check-sanitized:
	$(QUIET)$(MAKE) --no-print-directory BUILD=build/sanitized SANITIZE=address,undefined check-once

.PHONY: check-unit check-golden check-cli check-live check-man golden check-fresh
check-unit: $(UNIT_TESTS)
	$(QUIET)tests/unit/run $^

check-golden: $(GOLDEN_TEST)
	$(QUIET)$(GOLDEN_TEST)

golden: $(GOLDEN_TEST)
	$(QUIET)$(GOLDEN_TEST) --write

check-cli: $(TEST_BINARY)
	$(QUIET)tests/cli/run $(TEST_BINARY)

check-live: $(TEST_BINARY) $(LIVE_ORACLE)
	$(QUIET)tests/live/run $(TEST_BINARY) $(LIVE_ORACLE)

check-man:
	$(QUIET)mandoc -T lint -W warning man/vdsocheck.1 && echo 'man page: clean'

check-fresh:
	$(QUIET)tests/fresh/run

# Unit and golden tests call the modules of src/ directly.
$(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPILE) $(TEST_CFLAGS) -MMD -MP -c $< -o $@

$(UNIT_TESTS): EXTRA = $(UNIT_HELPERS)
$(UNIT_TESTS): $(UNIT_HELPERS)
$(UNIT_TESTS) $(GOLDEN_TEST): %: %.o $(MODULES)
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $< $(EXTRA) $(MODULES) $(LIBRARY_LIBS) $(TEST_LIBS) -o $@

# The oracle shares no code with src/.
$(LIVE_ORACLE): tests/live/oracle.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 $< -o $@

-include $(UNIT_TESTS:=.d) $(UNIT_HELPERS:.o=.d) $(GOLDEN_TEST).d
