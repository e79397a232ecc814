# SPDX-License-Identifier: MIT
# make check-fuzz: the inputs that are kept in tests/fuzz/corpus, and those of other suites, go
# through each fuzzer once; part of check, and with the sanitizers of check-sanitized.
# make fuzz TIME=60: libFuzzer looks for new ones, for TIME seconds with each fuzzer, or one of
# them: FUZZER=options. What it finds is left in build/fuzz/FUZZER-crash-*; see tests/README.md.
# make fuzz-out OUT=DIR: the fuzzers with their corpora, words and limits, as OSS-Fuzz wants them, linked with
# the engine LIB_FUZZING_ENGINE and with static libraries; .clusterfuzzlite/build.sh calls it.

TIME ?= 20
FUZZ_CC ?= clang
FUZZERS := $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c))
FUZZ_HELPERS := $(BUILD)/tests/fuzz/fuzz.o \
	$(patsubst %,$(BUILD)/tests/unit/%.o,fake_root evidence_builder dice) \
	$(if $(STATIC),$(BUILD)/tests/fuzz/assertions.o)
FUZZ_LIBS = $(LIBRARY_LIBS) $(if $(STATIC),,$(TEST_LIBS))

# Bytes of the longest input: of a text, what holds a few lines, or most of the time is spent on
# lines that are all alike.
FUZZ_LENGTH_clocksource = 400
FUZZ_LENGTH_data_page = 300
FUZZ_LENGTH_document = 20000
FUZZ_LENGTH_elf_file = 40000
FUZZ_LENGTH_elf_image = 8193
FUZZ_LENGTH_kernel_log = 1500
FUZZ_LENGTH_maps = 300
FUZZ_LENGTH_options = 200
FUZZ_LENGTH_program = 400
FUZZ_LENGTH_text = 200
FUZZ_LENGTH_tree = 8000

# A small quarantine of freed memory and short stacks of allocations make a fifth more executions,
# files in memory half as many again. What is found is run again without these.
FUZZ_ENVIRONMENT = ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=2 \
	$(if $(wildcard /dev/shm/.),TMPDIR=/dev/shm)

.PHONY: check-fuzz fuzz fuzz-keep fuzz-run
check-fuzz: $(FUZZERS:%=$(BUILD)/tests/fuzz/%)
	$(QUIET)tests/fuzz/run $^

.PHONY: fuzzers
fuzzers: $(FUZZERS:%=$(BUILD)/tests/fuzz/%)

# The same objects end as two programs: with libFuzzer's main() here, with main.c's above.
fuzz:
	$(QUIET)$(MAKE) --no-print-directory CC=$(FUZZ_CC) BUILD=$(BUILD)/fuzz \
		SANITIZE=fuzzer-no-link,address,undefined fuzz-run

fuzz-keep:
	$(QUIET)for fuzzer in $(or $(FUZZER),$(FUZZERS)); do \
		$(BUILD)/fuzz/tests/fuzz/$$fuzzer-libfuzzer -set_cover_merge=1 -use_counters=0 -close_fd_mask=2 \
			tests/fuzz/corpus/$$fuzzer $(BUILD)/fuzz/corpus/$$fuzzer || exit; \
	done

fuzz-run: $(if $(FUZZER),fuzz-$(FUZZER),$(FUZZERS:%=fuzz-%))

fuzz-%: $(BUILD)/tests/fuzz/%-libfuzzer
	$(call say,FUZZ,$*)
	$(QUIET)tests/fuzz/seeds $* $(BUILD)/seeds/$*
	$(QUIET)mkdir -p $(BUILD)/corpus/$*
	$(QUIET)$(FUZZ_ENVIRONMENT) $< $(or $(addprefix -max_len=,$(FUZZ_LENGTH_$*)),$(error no FUZZ_LENGTH_$*)) \
		$(addprefix -dict=,$(wildcard tests/fuzz/$*.dict)) -max_total_time=$(TIME) -timeout=10 -close_fd_mask=2 -print_final_stats=1 \
		-artifact_prefix=$(BUILD)/$*- $(BUILD)/corpus/$* $(BUILD)/seeds/$* \
		$(wildcard tests/fuzz/corpus/$*) >$(BUILD)/$*.log 2>&1 || { tail -n 60 $(BUILD)/$*.log; exit 1; }
	$(QUIET)sed -n 's/^stat::number_of_executed_units: */  runs    /p' $(BUILD)/$*.log

$(FUZZERS:%=$(BUILD)/tests/fuzz/%): $(BUILD)/tests/fuzz/%: $(BUILD)/tests/fuzz/%_fuzz.o \
		$(BUILD)/tests/fuzz/main.o $(FUZZ_HELPERS) $(MODULES)
	$(call say,LINK,$@)
	$(QUIET)$(LINK) $^ $(FUZZ_LIBS) -o $@

# Of an archive only what a fuzzer calls is linked: the fewer counters, the faster.
$(BUILD)/modules.a: $(MODULES) $(FUZZ_HELPERS)
	$(QUIET)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/fuzz/%-libfuzzer: $(BUILD)/tests/fuzz/%_fuzz.o $(BUILD)/modules.a
	$(call say,LINK,$@)
	$(QUIET)$(LINK) -fsanitize=fuzzer $^ $(FUZZ_LIBS) -o $@

# The engine may be in C++, and where the fuzzers run there are only the libraries of a C++ program.
LIB_FUZZING_ENGINE ?= -fsanitize=fuzzer
FUZZ_OUT_LIBS = -Wl,-Bstatic $(shell $(PKG_CONFIG) --libs --static $(LIBRARIES)) $(DEMANGLER) \
	-Wl,-Bdynamic $(LIBDW) -lm -lrt -pthread
.PHONY: fuzz-out
fuzz-out: $(FUZZERS:%=fuzz-out-%)
fuzz-out-%: $(BUILD)/tests/fuzz/%_fuzz.o $(BUILD)/tests/fuzz/assertions.o $(BUILD)/modules.a
	$(call say,LINK,$(OUT)/$*)
	$(QUIET)mkdir -p $(OUT)
	$(QUIET)$(CXX) $(CXXFLAGS) $(LDFLAGS) $(LIB_FUZZING_ENGINE) $^ $(FUZZ_OUT_LIBS) -o $(OUT)/$*
	$(QUIET)tests/fuzz/seeds $* $(BUILD)/seeds/$*
	$(QUIET)rm -f $(OUT)/$*_seed_corpus.zip
	$(QUIET)find $(BUILD)/seeds/$* tests/fuzz/corpus/$* -type f | zip -qj@ $(OUT)/$*_seed_corpus.zip
	$(QUIET)$(foreach dict,$(wildcard tests/fuzz/$*.dict),cp $(dict) $(OUT))
	$(QUIET)printf '[libfuzzer]\nmax_len = %s\n' $(or $(FUZZ_LENGTH_$*),$(error no FUZZ_LENGTH_$*)) >$(OUT)/$*.options

.SECONDARY: $(foreach one,$(FUZZERS),$(BUILD)/tests/fuzz/$(one)_fuzz.o $(BUILD)/tests/fuzz/$(one)-libfuzzer)
-include $(FUZZERS:%=$(BUILD)/tests/fuzz/%_fuzz.d) $(BUILD)/tests/fuzz/main.d $(BUILD)/tests/fuzz/fuzz.d
