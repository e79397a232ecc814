/* SPDX-License-Identifier: MIT */
/* Lists what a vDSO exports, by its ELF image in memory. */
#include "parts.h"

#include <string.h>

#include "base/elf.h"

/* Bit 15 of a version index hides the symbol from the default lookup. */
#define VERSION_INDEX_MASK 0x7fff

static bool start_native(struct elf *elf, const unsigned char *bytes, size_t size)
{
	return elf_start(elf, bytes, size) && elf->narrow == (sizeof(void *) == 4);
}

size_t elf_image_extent(const unsigned char *bytes, size_t size)
{
	struct elf elf;

	return start_native(&elf, bytes, size) ? (size_t)elf_extent(&elf) : 0;
}

/* Returns the name of the version of a symbol; empty if the image has none. */
static struct span find_version(
	const struct elf *elf, const struct elf_dynamic *dynamic, uint64_t symbol)
{
	uint64_t index = elf_number(elf, dynamic->versions + 2 * symbol, 2) & VERSION_INDEX_MASK;
	uint64_t at = dynamic->versions ? dynamic->version_definitions : 0, next;

	for (; at; at = next ? at + next : 0) {
		next = ELF_READ(elf, at, Verdef, vd_next);
		if (!(ELF_READ(elf, at, Verdef, vd_flags) & VER_FLG_BASE) &&
			ELF_READ(elf, at, Verdef, vd_ndx) == index) {
			at += ELF_READ(elf, at, Verdef, vd_aux);
			return elf_name(elf, dynamic->names, ELF_READ(elf, at, Verdaux, vda_name));
		}
	}
	return (struct span){NULL, 0};
}

/*
 * Functions have the type STT_FUNC, or STT_NOTYPE in some vDSOs in assembly. x86 exports each under
 * a weak alias without prefix, too, which is left out: the C libraries look up the other name.
 */
static bool is_export(const struct elf *elf, uint64_t symbol, struct span name)
{
	uint64_t section = ELF_READ(elf, symbol, Sym, st_shndx);
	uint64_t info = ELF_READ(elf, symbol, Sym, st_info);
	uint64_t type = ELF64_ST_TYPE(info), bind = ELF64_ST_BIND(info); /* ELF32's are the same */

	return section != SHN_UNDEF && section != SHN_ABS &&
	       (type == STT_FUNC || type == STT_NOTYPE) &&
	       (bind == STB_GLOBAL || bind == STB_WEAK) && text_starts(name, "__");
}

/*
 * Says whether the symbol of a function leads out of the image, or out of the section of code that
 * it belongs to: a tool counts calls at a place of its own. The headers of sections may be missing.
 */
static bool is_led_away(const struct elf *elf, uint64_t symbol)
{
	uint64_t value = ELF_READ(elf, symbol, Sym, st_value);
	uint64_t index = ELF_READ(elf, symbol, Sym, st_shndx);
	uint64_t sections = ELF_READ(elf, 0, Ehdr, e_shoff);
	uint64_t section = sections + index * ELF_SIZE(elf, Shdr);
	bool is_code = sections && index < ELF_READ(elf, 0, Ehdr, e_shnum) &&
	               ELF_READ(elf, section, Shdr, sh_flags) & SHF_EXECINSTR;

	return !elf_offset(elf, value) ||
	       (is_code && value - ELF_READ(elf, section, Shdr, sh_addr) >=
				   ELF_READ(elf, section, Shdr, sh_size));
}

bool elf_image_read(const unsigned char *bytes, size_t size, struct vdso_evidence *vdso,
	size_t offsets[VDSO_EXPORT_MAX])
{
	const char *problem = NULL;
	struct elf_dynamic dynamic;
	struct elf elf;

	vdso->export_count = vdso->led_away = 0;
	*vdso->soname = '\0';
	if (!start_native(&elf, bytes, size))
		problem = "not an ELF image of this machine";
	else if (!elf_read_dynamic(&elf, &dynamic))
		problem = "its dynamic section names no symbols within the image";
	else if (!dynamic.count)
		problem = "its hash table does not fit the image";
	if (problem) {
		fact_set(&vdso->fact, FACT_FAILED, "vDSO image: %s", problem);
		return false;
	}
	for (uint64_t i = 1; i < dynamic.count && vdso->export_count < VDSO_EXPORT_MAX; i++) {
		struct vdso_export *export = &vdso->exports[vdso->export_count];
		uint64_t symbol = dynamic.symbols + i * ELF_SIZE(&elf, Sym);
		struct span name =
			elf_name(&elf, dynamic.names, ELF_READ(&elf, symbol, Sym, st_name));

		if (!is_export(&elf, symbol, name))
			continue;
		if (is_led_away(&elf, symbol)) {
			vdso->led_away += vdso->led_away < VDSO_EXPORT_MAX;
			continue;
		}
		text_clean_span(export->name, sizeof(export->name), name);
		text_clean_span(
			export->version, sizeof(export->version), find_version(&elf, &dynamic, i));
		offsets[vdso->export_count++] =
			(size_t)elf_offset(&elf, ELF_READ(&elf, symbol, Sym, st_value));
	}
	if (dynamic.soname)
		text_clean_span(vdso->soname, sizeof(vdso->soname),
			elf_name(&elf, dynamic.names, dynamic.soname));
	fact_set_known(&vdso->fact);
	return true;
}
