/* SPDX-License-Identifier: MIT */
/*
 * Finds where the kernel mapped the vDSO of this process. The address comes from the auxiliary
 * vector, the size from /proc/self/maps, or from the ELF headers where /proc is not mounted.
 */
#include "measure/vdso.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "elf_image.h"

#define MAPS_SIZE (128 * 1024)

static bool parse_address(struct span text, uintptr_t *address)
{
	uint64_t value;

	if (!number_parse_hex(text, &value) || value > UINTPTR_MAX)
		return false;
	*address = (uintptr_t)value;
	return true;
}

/* start-end perms offset device inode [name] */
bool maps_find_address(struct span maps, uintptr_t address, struct mapping *mapping)
{
	struct span line, range, start, permissions;

	while (text_next_line(&maps, &line)) {
		if (!text_next_word(&line, &range) || !text_next_word(&line, &permissions))
			continue;
		start = text_take_until(&range, '-');
		mapping->readable = text_starts(permissions, "r");
		if (parse_address(start, &mapping->start) && parse_address(range, &mapping->end) &&
			mapping->start <= address && address < mapping->end)
			return true;
	}
	return false;
}

/* Bytes from the image's start to its mapping's end; 0 if /proc does not show it. */
static size_t size_from_maps(const struct root *root, uintptr_t base)
{
	char *buffer = xmalloc(MAPS_SIZE);
	struct span maps;
	struct mapping mapping;
	struct fact why;
	size_t size = 0;

	if (root_read(root, "/proc/self/maps", buffer, MAPS_SIZE, &maps, &why) &&
		maps_find_address(maps, base, &mapping) && mapping.readable)
		size = mapping.end - base;
	free(buffer);
	return size;
}

void vdso_collect(const struct root *root, struct vdso_evidence *vdso, struct vdso_image *image)
{
	uintptr_t base = getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*image = (struct vdso_image){0};
	if (!root->live) {
		fact_set(&vdso->fact, FACT_UNREAD, "a captured tree contains no vDSO");
		return;
	}
	if (!base) {
		fact_set(&vdso->fact, FACT_ABSENT,
			"the kernel gave this process no vDSO (AT_SYSINFO_EHDR is 0)");
		return;
	}
	image->base = base;
	image->size = size_from_maps(root, base);
	/* The first page is there in any case: the kernel put the ELF header in it. */
	if (!image->size)
		image->size = (elf_image_extent((const unsigned char *)base, page) + page - 1) /
		              page * page;
	elf_image_read((const unsigned char *)base, image->size, vdso, image->offsets);
}
