/* SPDX-License-Identifier: MIT */
/*
 * Reads the vDSO's data page from the pages around the image, any of which may be missing. A page
 * is believed if exactly one known layout (vvar_layout.c) fits it.
 */
#include "measure/vdso.h"

#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/memory.h"
#include "vvar_layout.h"

/* VVAR_ADDRESS of 64-bit x86 up to 3.14 and RHEL 7: one place for all processes. */
#define FIXMAP_VVAR 0xffffffffff5ff000ULL

/* An update takes well under a microsecond: a word that never rests is not a sequence count. */
#define COPY_TRIES 16

struct page_copy {
	uintptr_t from;
	unsigned char *to;
	size_t size;
};

struct page_search {
	const struct vdso_image *vdso;
	const char *clocksource;
	size_t page_size;
	int64_t realtime[2]; /* seconds before the first page was copied and after the last one */
	uintptr_t timens_at; /* 0: not in a time namespace */
	struct vvar_match match;
	uintptr_t match_at;
	unsigned matches;
	struct vclock_evidence vclock;
};

static void copy_bytes(void *argument)
{
	struct page_copy *copy = argument;
	/* Word by word through a volatile pointer: the kernel may update the page at any time. */
	const volatile uint64_t *from = (const volatile uint64_t *)copy->from;

	for (size_t done = 0; done < copy->size; done += sizeof(uint64_t)) {
		uint64_t word = *from++;
		size_t left = copy->size - done;

		memcpy(copy->to + done, &word, left < sizeof(word) ? left : sizeof(word));
	}
}

static bool copy_from(uintptr_t from, unsigned char *to, size_t size)
{
	struct page_copy copy = {from, to, size};

	return fault_guard(copy_bytes, &copy) == 0;
}

/* Two equal copies in a row were not written to in between, wherever the sequence count is. */
bool vvar_copy_stable(uintptr_t from, unsigned char *to, size_t size)
{
	unsigned char again[VVAR_HEAD_SIZE];

	for (int i = 0; i < COPY_TRIES; i++) {
		if (!copy_from(from, to, size) || !copy_from(from, again, size))
			return false;
		if (memcmp(to, again, size) == 0)
			return true;
	}
	return false;
}

static void search_page(struct page_search *search, uintptr_t at)
{
	unsigned char page[VVAR_HEAD_SIZE];
	struct vvar_match match;

	if (!vvar_copy_stable(at, page, sizeof(page)))
		return;
	search->realtime[1] = kernel_clock_ns(CLOCK_REALTIME_COARSE) / NS_PER_SECOND;
	vvar_layout_find(page, sizeof(page), vvar_native_arch, search->realtime, &match);
	if (match.timens && !search->timens_at)
		search->timens_at = at;
	if (!match.matches)
		return;
	search->match = match;
	search->match_at = at;
	search->matches += match.matches;
}

static void search_all_pages(struct page_search *search)
{
	uintptr_t base = search->vdso->base;

	search->realtime[0] = kernel_clock_ns(CLOCK_REALTIME_COARSE) / NS_PER_SECOND;
	for (size_t i = VVAR_PAGES_BEFORE; i >= 1; i--)
		search_page(search, base - i * search->page_size);
	for (size_t i = 0; i < VVAR_PAGES_AFTER; i++)
		search_page(search, base + search->vdso->size + i * search->page_size);
#if defined(__x86_64__)
	search_page(search, (uintptr_t)FIXMAP_VVAR);
#endif
}

/*
 * Reads the page of a hypervisor's clock, which the vDSO reads besides: pvclock's (kvm-clock, Xen),
 * or Hyper-V's, which comes next.
 */
static void read_clock_page(const struct page_search *search, struct vclock_evidence *answer)
{
	struct flag_fact *stable = &answer->pvclock_stable;
	struct number_fact *sequence = &answer->hyperv_sequence;
	const char *clocksource = search->clocksource;
	bool hyperv = strncmp(clocksource, "hyperv", 6) == 0;
	bool pvclock = strcmp(clocksource, "kvm-clock") == 0 || strcmp(clocksource, "xen") == 0;
	unsigned quirks = search->match.layout->quirks;
	/* A kernel in which 3 is pvclock's mode is older than 4.7. */
	bool early = quirks & VVAR_EITHER_MODES && pvclock && search->match.mode == 3;
	unsigned char page[VVAR_PVCLOCK_FLAGS + 1];
	uintptr_t at = 0;
	uint32_t first;

	fact_set(&stable->fact, FACT_ABSENT, "not the current clocksource's page");
	sequence->fact = stable->fact;
	/* In a time namespace the namespace's page has the first place. */
	if (quirks & VVAR_CLOCKS_AFTER_DATA && !early)
		at = (search->timens_at ? search->timens_at : search->match_at) + search->page_size;
	else if (quirks & VVAR_CLOCKS_BEFORE_VDSO)
		at = search->vdso->base - 2 * search->page_size;
	if (!at)
		return;
	at += hyperv ? search->page_size : 0;
	if (!hyperv && !pvclock)
		return;
	if (!copy_from(at, page, sizeof(page))) {
		fact_set(hyperv ? &sequence->fact : &stable->fact, FACT_ABSENT,
			"the kernel maps no %s page", hyperv ? "Hyper-V" : "pvclock");
	} else if (hyperv) {
		memcpy(&first, page, sizeof(first));
		fact_set_number(sequence, first);
	} else {
		fact_set_flag(stable, page[VVAR_PVCLOCK_FLAGS] & VVAR_PVCLOCK_STABLE);
	}
}

static void find_page_mode(struct page_search *search, struct vclock_evidence *answer)
{
	const struct vvar_match *match = &search->match;

	search_all_pages(search);
	answer->time_namespace.value = search->timens_at != 0;
	if (!search->realtime[0]) {
		fact_set(&answer->fact, FACT_DENIED,
			"cannot validate the data page: the clock system calls are blocked");
	} else if (search->matches == 0) {
		fact_set(&answer->fact, FACT_FAILED,
			"the layout of the vDSO data page is not recognized");
	} else if (search->matches > 1) {
		fact_set(&answer->fact, FACT_FAILED,
			"%u known layouts match the pages around the vDSO", search->matches);
	} else {
		answer->how = VCLOCK_READ;
		answer->mode = match->mode;
		answer->at =
			(int64_t)search->match_at - (int64_t)search->vdso->base + match->mode_at;
		text_clean(answer->name, sizeof(answer->name),
			vvar_mode_name(
				match->layout, vvar_native_arch, match->mode, search->clocksource));
		text_clean(answer->layout, sizeof(answer->layout), match->layout->name);
		fact_set_known(&answer->fact);
		read_clock_page(search, answer);
	}
	answer->time_namespace.fact = answer->fact;
	if (answer->time_namespace.value)
		fact_set_known(&answer->time_namespace.fact);
}

bool vvar_read_again(
	const struct vdso_image *vdso, const struct vclock_evidence *vclock, int64_t *mode)
{
	unsigned char bytes[sizeof(uint64_t)];
	uintptr_t at = vdso->base + (uintptr_t)vclock->at, start = at & ~(uintptr_t)7;

	if (vclock->how != VCLOCK_READ || !copy_from(start, bytes, sizeof(bytes)))
		return false;
	return vvar_layout_mode(vclock->layout, bytes + (at - start), mode);
}

static void vvar_find_mode(void *argument)
{
	struct page_search *search = argument;
	struct vclock_evidence *vclock = &search->vclock;

	fact_set(&vclock->pvclock_stable.fact, FACT_ABSENT, "the data page was not found");
	vclock->hyperv_sequence.fact = vclock->pvclock_stable.fact;
	if (!search->vdso->base)
		fact_set(&vclock->fact, FACT_ABSENT, "no vDSO, so no data page");
	else if (search->vdso->replaced)
		fact_set(&vclock->fact, FACT_ABSENT, "the vDSO is not the kernel's own");
	else if (!vvar_native_arch)
		fact_set(&vclock->fact, FACT_ABSENT,
			"no data page layout is known for this architecture");
	else
		find_page_mode(search, vclock);
}

void vvar_collect(const struct vdso_image *vdso, const char *clocksource,
	struct vclock_evidence *vclock, const struct deadline *deadline)
{
	struct page_search search = {.vdso = vdso,
		.clocksource = clocksource,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
		.vclock = *vclock};
	struct fact why;

	if (child_probe(vvar_find_mode, &search, sizeof(search), deadline, &why))
		*vclock = search.vclock;
	else
		vclock->fact = vclock->pvclock_stable.fact = vclock->hyperv_sequence.fact = why;
}
