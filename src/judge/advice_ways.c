/* SPDX-License-Identifier: MIT */
/*
 * The ways to take a step that differ by boot loader or host: to add parameters to the kernel
 * command line, to remove them, and to reboot.
 */
#include "rules.h"

/*
 * GRUB's line is GRUB_CMDLINE_LINUX and then GRUB_CMDLINE_LINUX_DEFAULT (10_linux), which the files
 * of grub.d may set once more, in the order of their names (Debian's grub-mkconfig). Of several
 * clocksource= the kernel takes the last (boot_override_clocksource()), so that each way puts
 * {boot} at the very end; grubby replaces one that is there (grubby(8)).
 */
#define GRUB_LINE                                                                                  \
	"echo 'GRUB_CMDLINE_LINUX_DEFAULT=\"$GRUB_CMDLINE_LINUX_DEFAULT' '{boot}\"' | sudo tee -a "
#define GRUB_LINE_UNDO "sudo sed -i '/_DEFAULT {boot}\"$/d' "
#define GRUB_FILE "/etc/default/grub.d/zz-clocksource.cfg && sudo update-grub"
#define GRUB2_FILE "/etc/default/grub && sudo grub2-mkconfig -o /boot/grub2/grub.cfg"
#define GRUBBY "sudo grubby --update-kernel=ALL "
#define LAST_WORD "sudo sed -i '1s/$/ {boot}/' "
#define LAST_WORD_UNDO "sudo sed -i '1s/ {boot}$//' "
#define PROXMOX_FILE "/etc/kernel/cmdline && sudo proxmox-boot-tool refresh"
#define PI_FILE "/boot/firmware/cmdline.txt"
#define TMPFILES "/etc/tmpfiles.d/clocksource.conf"

/* No cloud runs Proxmox VE, and a Pi is arm. */
#define MAY_BE_PROXMOX IF(IS(on_x86), NOT_ALL(STATE(host.platform, FACT_KNOWN)))
#define MAY_BE_PI IF(NOT(on_x86), NOT_ALL(STATE(host.hypervisor, FACT_KNOWN)))

const struct way advice_add_boot[] = {
	{"update-grub", "GRUB on Debian and Ubuntu",
		{.command = "sudo mkdir -p /etc/default/grub.d && " GRUB_LINE GRUB_FILE,
			.undo = GRUB_LINE_UNDO GRUB_FILE}},
	{"grubby", "grubby on Fedora, RHEL and Amazon Linux",
		{.command = GRUBBY "--args={boot}", .undo = GRUBBY "--remove-args={boot}"}},
	{"grub2-mkconfig", "GRUB on SUSE",
		{.command = GRUB_LINE GRUB2_FILE, .undo = GRUB_LINE_UNDO GRUB2_FILE}},
	{"kernel-install", "systemd-boot",
		{.text = "add {boot} at the end of /etc/kernel/cmdline and run kernel-install, or "
			 "at the end of the options line of the entries in loader/entries"}},
	{"proxmox-boot-tool", "Proxmox VE on ZFS",
		{.command = LAST_WORD PROXMOX_FILE, .undo = LAST_WORD_UNDO PROXMOX_FILE},
		MAY_BE_PROXMOX},
	{"cmdline.txt", "Raspberry Pi",
		{.command = LAST_WORD PI_FILE, .undo = LAST_WORD_UNDO PI_FILE}, MAY_BE_PI},
	/* This way is left out where {to} is not known. */
	{"systemd-tmpfiles", "systemd-tmpfiles, without the kernel command line",
		{.command = "echo w " CLOCKSOURCE_CURRENT " - - - - {to} | sudo tee " TMPFILES,
			.undo = "sudo rm " TMPFILES}},
	{0},
};

const struct way advice_remove_boot[] = {
	{"update-grub", "GRUB on Debian and Ubuntu",
		{.command = "sudoedit $(grep -rls GRUB_CMDLINE_LINUX /etc/default/grub "
			    "/etc/default/grub.d) && sudo update-grub"}},
	{"grubby", "grubby on Fedora, RHEL and Amazon Linux",
		{.command = GRUBBY "--remove-args='{boot}'", .undo = GRUBBY "--args='{boot}'"}},
	{"grub2-mkconfig", "GRUB on SUSE", {.command = "sudoedit " GRUB2_FILE}},
	{"kernel-install", "systemd-boot",
		{.text = "edit /etc/kernel/cmdline and run kernel-install, or edit the options "
			 "line of the entries in loader/entries"}},
	{"proxmox-boot-tool", "Proxmox VE on ZFS", {.command = "sudoedit " PROXMOX_FILE},
		MAY_BE_PROXMOX},
	{"cmdline.txt", "Raspberry Pi", {.command = "sudoedit " PI_FILE}, MAY_BE_PI},
	{"wsl2", "WSL 2",
		{.text = "edit kernelCommandLine in the file .wslconfig of the Windows user's "
			 "folder"},
		IF(HAS(platform_is, "wsl2"))},
	{0},
};

/* A reboot inside WSL keeps its virtual machine, which has the command line. */
const struct way advice_reboots[] = {
	{"wsl2", NULL, {.text = "in Windows", .command = "wsl --shutdown"}},
	{0},
};
