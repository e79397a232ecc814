/* SPDX-License-Identifier: MIT */
/*
 * Finds where the kernel mapped the vDSO of this process. The address comes from the auxiliary
 * vector, the size from /proc/self/maps, or from the ELF headers where /proc is not mounted.
 */
#include "parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"

#define MAPS_SIZE (128 * 1024)

bool vdso_take_prefix(struct span *export)
{
	return text_take_prefix(export, "__vdso_") || text_take_prefix(export, "__kernel_");
}

/* start-end perms offset device inode [name] */
bool maps_next(struct span *maps, struct mapping *mapping)
{
	struct span line, range, start, permissions;

	while (text_next_line(maps, &line)) {
		struct span offset = {NULL, 0}, device, inode = {NULL, 0};

		if (!text_next_word(&line, &range) || !text_next_word(&line, &permissions))
			continue;
		text_next_word(&line, &offset);
		text_next_word(&line, &device);
		text_next_word(&line, &inode);
		start = text_take_until(&range, '-');
		*mapping = (struct mapping){.readable = text_starts(permissions, "r"),
			.writable = permissions.length > 1 && permissions.at[1] == 'w',
			.executable = permissions.length > 2 && permissions.at[2] == 'x',
			.is_shared = permissions.length > 3 && permissions.at[3] != 'p',
			.path = text_trim(line)};
		mapping->is_vdso = text_equals(mapping->path, "[vdso]");
		number_parse_hex(offset, &mapping->offset);
		number_parse(inode, &mapping->inode);
		if (number_parse_hex(start, &mapping->start) &&
			number_parse_hex(range, &mapping->end) && mapping->start < mapping->end)
			return true;
	}
	return false;
}

static bool vdso_is_in(const struct mapping *mapping, uintptr_t address)
{
	return mapping->start <= address && address < mapping->end;
}

/*
 * Names the file of clock_gettime() if it is not that of getauxval(), which nothing has a reason to
 * replace. Before glibc 2.17 the first one was in librt.
 */
static void find_wrapper(struct span clock, struct span libc, struct text_fact *wrapper)
{
	if (!clock.length || !libc.length || text_contains(clock, "/librt") ||
		(clock.length == libc.length && memcmp(clock.at, libc.at, clock.length) == 0))
		fact_set(&wrapper->fact, FACT_ABSENT, "clock_gettime() is the C library's own");
	else
		fact_set_span(wrapper, clock);
}

/*
 * Finds the size of the image: from its start to its mapping's end. Another tool may have given
 * this process an image of its own: rr, CRIU, or some other instrumentation. Another library may
 * stand before the C library's functions.
 */
static void read_maps(const struct root *root, struct vdso_image *image, struct vdso_evidence *vdso)
{
	struct flag_fact *replaced = &vdso->replaced;
	char *buffer = xmalloc(MAPS_SIZE);
	struct mapping mapping;
	struct span maps = {0}, clock = {0}, libc = {0};
	bool is_own = false, is_seen = false;

	if (!root_read(root, "/proc/self/maps", buffer, MAPS_SIZE, &maps, &replaced->fact))
		maps = (struct span){0};
	while (maps_next(&maps, &mapping)) {
		bool is_image = vdso_is_in(&mapping, image->base);

		if (is_image && mapping.readable)
			image->size = (size_t)(mapping.end - image->base);
		is_seen |= mapping.is_vdso;
		is_own |= is_image && mapping.is_vdso;
		if (vdso_is_in(&mapping, (uintptr_t)clock_gettime))
			clock = mapping.path;
		if (vdso_is_in(&mapping, (uintptr_t)getauxval))
			libc = mapping.path;
	}
	find_wrapper(clock, libc, &vdso->wrapper);
	if (is_seen)
		fact_set_flag(replaced, !is_own);
	else if (maps.at)
		fact_set(&replaced->fact, FACT_ABSENT, "no mapping is named [vdso]");
	free(buffer);
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
	fact_set(&vdso->replaced.fact, FACT_ABSENT, "there is no vDSO");
	vdso->wrapper.fact = vdso->replaced.fact;
	if (!base) {
		fact_set(&vdso->fact, FACT_ABSENT,
			"the kernel gave this process no vDSO (AT_SYSINFO_EHDR is 0)");
		return;
	}
	image->base = base;
	read_maps(root, image, vdso);
	image->replaced = fact_is_flag(&vdso->replaced, true);
	/* The first page is there in any case: the kernel put the ELF header in it. */
	if (!image->size)
		image->size = (elf_image_extent((const unsigned char *)base, page) + page - 1) /
		              page * page;
	elf_image_read((const unsigned char *)base, image->size, vdso, image->offsets);
}
