/* SPDX-License-Identifier: MIT */
/*
 * The words that the vDSO decides by and the base of KVM's page, read where the kernel maps them
 * into this process: loads, and no system call. A number of 64 bits may be read in halves: a base
 * that is being replaced differs either way.
 */
#include <unistd.h>

#include "measure/vdso.h"
#include "model.h"

void watch_place_find(const struct vdso_image *vdso, const struct vclock_evidence *vclock,
	struct watch_place *place)
{
	uintptr_t page = vdso->base + (uintptr_t)vclock->page_at;

	*place = (struct watch_place){0};
	if (vclock->how < VCLOCK_COPY)
		return;
	place->mode = (const volatile uint32_t *)(vdso->base + (uintptr_t)vclock->at);
	if (fact_is_known(&vclock->pvclock_stable.fact))
		place->pvclock_flags = (const volatile unsigned char *)page + VVAR_PVCLOCK_FLAGS;
	if (vclock->page_at)
		place->pvclock = (const volatile unsigned char *)page;
	if (fact_is_known(&vclock->hyperv_sequence.fact))
		place->hyperv_sequence =
			(const volatile uint32_t *)(page + (uintptr_t)sysconf(_SC_PAGESIZE));
}

struct watch_words watch_words_read(const struct watch_place *place)
{
	struct watch_words words = {.mode = *place->mode, .page_valid = true};

	if (place->pvclock_flags)
		words.page_valid = *place->pvclock_flags & VVAR_PVCLOCK_STABLE;
	if (place->hyperv_sequence)
		words.page_valid = *place->hyperv_sequence != 0;
	if (place->pvclock) {
		const volatile uint64_t *base =
			(const volatile uint64_t *)(const volatile void *)(place->pvclock +
									   VVAR_PVCLOCK_BASE);

		words.base[0] = base[0];
		words.base[1] = base[1];
		words.base_valid = place->pvclock[VVAR_PVCLOCK_FLAGS] & VVAR_PVCLOCK_STABLE;
	}
	return words;
}

bool watch_words_differ(const struct watch_words *one, const struct watch_words *other)
{
	return one->mode != other->mode || one->page_valid != other->page_valid;
}

bool watch_words_restored(const struct watch_words *before, const struct watch_words *now)
{
	return before->base_valid && now->base_valid &&
	       (before->base[0] != now->base[0] || before->base[1] != now->base[1]);
}
