/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes what trace reads of programs, libraries and their vDSO: functions, notes and the
 * symbols of the image. Input: an ELF file, or where it does not begin as one, three-byte patches
 * (place, value) to the headers and tables of this process's own vDSO.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/elf.h"
#include "trace/served.h"

#define OWN_SIZE 8192
#define VDSO_AT 0x7ffff7fc1000

static void read_file(const unsigned char *bytes, size_t size)
{
	unsigned char *file = (unsigned char *)fuzz_copy((const uint8_t *)bytes, size);
	static unsigned char code[SERVED_STUBS_SIZE];
	struct served_stubs stubs = {.code = code, .to = 0x7ffff7001000, .file = 0x7ffff7000000};
	struct served_words words;
	struct elf_functions functions;
	struct elf_function function;
	struct elf elf;
	size_t room;

	if (elf_start(&elf, file, size)) {
		elf_functions_start(&elf, &functions);
		while (elf_functions_next(&elf, &functions, &function)) {
			if (function.name.length > size)
				abort();
		}
		if (elf_note(&elf, NT_GNU_BUILD_ID).length > size)
			abort();
	}
	served_stubs_make(&stubs, file, size, VDSO_AT, 0, &words);
	stubs.used = 0;
	room = served_find_room(file, size);
	if (room)
		served_stubs_make(&stubs, file, size, VDSO_AT, room, &words);
	free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char own[OWN_SIZE];
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (size >= 4 && memcmp(data, "\177ELF", 4) == 0)
		read_file(data, size);
	if (size < 3 || !vdso || served_image_length(vdso, SERVED_PAGE) > OWN_SIZE)
		return 0;
	memcpy(own, vdso, served_image_length(vdso, SERVED_PAGE));
	for (size_t i = 0; i + 3 <= size; i += 3)
		own[(size_t)(data[i] << 8 | data[i + 1]) % 4096] = data[i + 2];
	read_file(own, sizeof(own));
	return 0;
}
