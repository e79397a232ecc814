# SPDX-License-Identifier: MIT
# A check of the timed loops, and benchmarks that print tables; see tests/bench/README.md.

LOOP_OBJECTS := $(addprefix $(BUILD)/src/,measure/loop.o measure/call.o measure/counter.o \
	measure/elf_image.o measure/vdso.o base/child.o base/elf.o base/fact.o base/fault.o \
	base/memory.o base/privileges.o base/root.o base/text.o base/time.o) \
	$(BUILD)/tests/bench/loops.o

test-programs: $(BUILD)/tests/bench/hand $(BUILD)/tests/bench/loops

.PHONY: check-loop bench peers
# Sanitizers add instructions to every loop.
SUITES += $(if $(SANITIZE),,check-loop)

# It builds in folders of its own, with the flags that it names.
check-loop:
	$(QUIET)tests/bench/loop $(BUILD)

$(BUILD)/tests/bench/loops: $(LOOP_OBJECTS) $(BUILD)/flags
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $(LOOP_OBJECTS) -lm -lrt -o $@

STUB_OBJECTS := $(LOOP_OBJECTS:%/loops.o=%/stub.o) $(addprefix $(BUILD)/src/, \
	measure/sampler.o measure/statistics.o measure/timebase.o measure/cpus.o)

$(BUILD)/tests/bench/stub: $(STUB_OBJECTS) $(BUILD)/flags
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $(STUB_OBJECTS) -lm -lrt -o $@

# By hand: the tables are for people to judge.
bench: $(TEST_BINARY) $(addprefix $(BUILD)/tests/bench/,hand loops stub)
	$(QUIET)tests/bench/run $(TEST_BINARY) $(BUILD)/tests/bench/hand

# The hand-written loop shares no code with src/.
$(BUILD)/tests/bench/hand: tests/bench/hand.c
	$(call say,CC,$<)
	$(QUIET)mkdir -p $(@D)
	$(QUIET)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O2 $< -o $@

peers: $(TEST_BINARY) $(BUILD)/tests/bench/hand
	$(QUIET)tests/peers/run $(TEST_BINARY) $(BUILD)/tests/bench/hand
