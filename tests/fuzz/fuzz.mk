# SPDX-License-Identifier: MIT
# make fuzz: each libFuzzer target of tests/fuzz/ for FUZZ_SECONDS. By hand, no part of check.
# What is found is left as crash-* in build/fuzz; the target run on that file shows it again.

FUZZ_SECONDS ?= 20
FUZZ_CC ?= clang
FUZZ_TARGETS := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/*.c))

# Documents to begin with, in folders that are read and not written to.
FUZZ_SEEDS_recorded = $(wildcard tests/hosts/*/)

# Linking them takes clang.
test-programs: $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%.o)

.PHONY: fuzz fuzz-run
fuzz:
	$(QUIET)$(MAKE) --no-print-directory CC=$(FUZZ_CC) BUILD=$(BUILD)/fuzz \
		SANITIZE=fuzzer-no-link,address,undefined fuzz-run

fuzz-run: $(FUZZ_TARGETS:%=fuzz-%)

fuzz-%: $(BUILD)/tests/fuzz/%
	$(call say,FUZZ,$*)
	$(QUIET)mkdir -p $(BUILD)/corpus/$*
	$(QUIET)$< -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/ $(BUILD)/corpus/$* $(FUZZ_SEEDS_$*) \
		>$(BUILD)/$*.log 2>&1 || { tail -n 60 $(BUILD)/$*.log; exit 1; }
	$(QUIET)sed -n 's/^stat::number_of_executed_units: */  runs    /p' $(BUILD)/$*.log

$(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%): %: %.o $(MODULES)
	$(call say,LINK,$@)
	$(QUIET)$(LINK) -fsanitize=fuzzer $< $(MODULES) $(LIBRARY_LIBS) -o $@

.PRECIOUS: $(BUILD)/tests/fuzz/%.o
-include $(FUZZ_TARGETS:%=$(BUILD)/tests/fuzz/%.d)
