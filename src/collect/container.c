/* SPDX-License-Identifier: MIT */
#include "collect/container.h"

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
	{"/proc/sys/kernel/osrelease", "WSL", "wsl"},
	{"/proc/1/cgroup", "kubepods", "container-other"},
	{"/proc/1/cgroup", "/docker", "docker"},
	{"/proc/1/cgroup", "/lxc", "lxc"},
};

/* The container manager's own word, where it keeps to systemd's container interface. */
static bool take_declared(const struct root *root, struct text_fact *container)
{
	char buffer[FACT_TEXT_SIZE];
	struct span content;

	if (!root_read(root, "/run/systemd/container", buffer, sizeof(buffer), &content,
		    &container->fact))
		return false;
	content = text_trim(content);
	text_copy_span(container->value, sizeof(container->value), content);
	return content.length > 0;
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
