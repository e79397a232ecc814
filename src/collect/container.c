/* SPDX-License-Identifier: MIT */
#include "collect/container.h"

#include <stdlib.h>
#include <string.h>

/* Files whose being there is enough. */
static const struct {
	const char *path;
	const char *word;
} files[] = {
	{"/run/.containerenv", "podman"},
	{"/.dockerenv", "docker"},
	{"/dev/.lxc-boot-id", "lxc"},
};

/* Texts in files that the host writes. */
static const struct {
	const char *path;
	const char *text;
	const char *word;
} texts[] = {
	{"/proc/sys/kernel/osrelease", "Microsoft", "wsl"},
	{"/proc/sys/kernel/osrelease", "-microsoft-standard", "wsl"},
	{"/proc/sys/kernel/osrelease", "WSL", "wsl"},
	{"/proc/1/cgroup", "kubepods", "container-other"},
	{"/proc/1/cgroup", "/docker", "docker"},
	{"/proc/1/cgroup", "/lxc", "lxc"},
};

/* The words of systemd-detect-virt --container. */
static const char *const words[] = {"openvz", "lxc", "lxc-libvirt", "systemd-nspawn", "docker",
	"podman", "rkt", "wsl", "proot", "pouch"};

static bool take_word(struct span word, struct text_fact *container)
{
	word = text_trim(word);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (text_equals(word, words[i])) {
			fact_set_text(container, words[i]);
			return true;
		}
	}
	if (word.length > 0)
		fact_set_text(container, "container-other");
	return word.length > 0;
}

/*
 * The container manager's own word, where it keeps to systemd's container interface: in a
 * file, or in the environment of what it starts, which may have been set for another reason.
 */
static bool take_declared(const struct root *root, struct text_fact *container)
{
	static const char *const declared[] = {
		"/run/host/container-manager", "/run/systemd/container"};
	const char *variable = root->live ? getenv("container") : NULL;
	char buffer[FACT_TEXT_SIZE];
	struct span content;

	for (size_t i = 0; i < sizeof(declared) / sizeof(declared[0]); i++) {
		if (root_read(root, declared[i], buffer, sizeof(buffer), &content,
			    &container->fact) &&
			take_word(content, container))
			return true;
	}
	return variable && take_word(text_span(variable), container) &&
	       strcmp(container->value, "container-other") != 0;
}

void container_collect(const struct root *root, struct text_fact *container)
{
	if (take_declared(root, container))
		return;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (root_has(root, files[i].path)) {
			fact_set_text(container, files[i].word);
			return;
		}
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (root_holds(root, texts[i].path, texts[i].text)) {
			fact_set_text(container, texts[i].word);
			return;
		}
	}
	fact_set(&container->fact, FACT_ABSENT, "nothing points to a container");
}
