# SPDX-License-Identifier: MIT
# vdsocheck compare on a fake clocksource, as part of `make check`; and in guests, by hand:
#
#   make check-compare-fake   a fake clocksource: every outcome, and some kills
#   make check-compare        real kernels and Xen under emulation (slow; needs QEMU)

COMPARE_KILLS := $(BUILD)/tests/compare/kills
COMPARE_KERNEL := $(BUILD)/tests/compare/kernel.so

test-programs: $(COMPARE_KILLS) $(COMPARE_KERNEL)

.PHONY: check-compare-fake check-compare
SUITES += check-compare-fake

check-compare-fake: $(TEST_BINARY) $(COMPARE_KILLS) $(COMPARE_KERNEL) $(TEST_TOOLS)
	$(QUIET)tests/compare/run $(TEST_BINARY) $(COMPARE_KILLS) $(COMPARE_KERNEL) $(BUILD)/tests/tools

check-compare:
	$(QUIET)tests/compare/guests

# None of it shares code with src/.
COMPARE_COMPILE = $(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2

$(COMPARE_KILLS): tests/compare/kills.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPARE_COMPILE) $< -o $@

$(COMPARE_KERNEL): tests/compare/kernel.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(COMPARE_COMPILE) -shared -fPIC $< -ldl -o $@
