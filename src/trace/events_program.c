/* SPDX-License-Identifier: MIT */
/* Has the BPF programs as they were compiled, and fills in what is known at run time alone. */
#include <string.h>

#include "events.h"
#include "events_code.h"

uint32_t event_program_write(enum event_tracepoint tracepoint,
	const uint64_t values[EVENT_VALUE_COUNT], struct bpf_insn code[EVENT_CODE_MAX])
{
	const struct event_program *program = &programs[tracepoint];

	memcpy(code, program->code, program->count * sizeof(*code));
	for (uint32_t i = 0; i < program->fill_count; i++) {
		const uint16_t name = program->fills[i].value;
		struct bpf_insn *halves = &code[program->fills[i].at];

		if (name < EVENT_MAP_COUNT)
			halves->src_reg = BPF_PSEUDO_MAP_FD;
		halves[0].imm = (int32_t)(uint32_t)values[name];
		halves[1].imm = (int32_t)(uint32_t)(values[name] >> 32);
	}
	return program->count;
}
