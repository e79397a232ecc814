/* SPDX-License-Identifier: MIT */
/*
 * Fuzzes measure/elf_image: a vDSO made by any kernel, sandbox or emulator must be a list or
 * a reason. Input: a first byte that is even is followed by an image; odd, by three-byte
 * patches (place, value) to this process's own vDSO, cut short by the two bytes before them.
 */
#include "fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "measure/parts.h"

/* The tables are in the first page, and the rest is code. */
#define OWN_SIZE 4096

static void read_image(const uint8_t *bytes, size_t size)
{
	unsigned char *image = (unsigned char *)fuzz_copy(bytes, size);
	size_t offsets[VDSO_EXPORT_MAX];
	struct vdso_evidence vdso = {0};

	elf_image_extent(image, size);
	if (elf_image_read(image, size, &vdso, offsets) != fact_is_known(&vdso.fact))
		abort();
	for (size_t i = 0; i < vdso.export_count; i++) {
		if (offsets[i] >= size || !memchr(vdso.exports[i].name, '\0', VDSO_NAME_SIZE) ||
			!memchr(vdso.exports[i].version, '\0', VDSO_NAME_SIZE))
			abort();
	}
	free(image);
}

static void read_patched(const uint8_t *data, size_t size)
{
	static unsigned char own[OWN_SIZE];
	size_t length = OWN_SIZE;

	if (!getauxval(AT_SYSINFO_EHDR) || size < 2)
		return;
	memcpy(own, (const void *)getauxval(AT_SYSINFO_EHDR), OWN_SIZE);
	if (data[0] % 4 == 0)
		length = (size_t)(data[0] << 8 | data[1]) % (OWN_SIZE + 1);
	for (size_t i = 2; i + 3 <= size; i += 3)
		own[(size_t)(data[i] << 8 | data[i + 1]) % OWN_SIZE] = data[i + 2];
	read_image(own, length);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] % 2)
		read_patched(data + 1, size - 1);
	else
		read_image(data + 1, size - 1);
	return 0;
}
