/* SPDX-License-Identifier: MIT */
/* How `vdsocheck watch` reports an event: printed, to a program, to systemd. */
#ifndef VDSOCHECK_WATCH_REPORT_H
#define VDSOCHECK_WATCH_REPORT_H

#include "cli/command.h"
#include "document.h"
#include "model.h"

#define WATCH_JSON_SCHEMA "vdsocheck-watch/1"

/* Both take a struct watch_event: a few lines for people; one line for programs. */
bool watch_event_text(const void *result, const struct style *style, FILE *out);
extern const struct field watch_event_fields[];
bool watch_event_json(const void *result, const struct style *style, FILE *out);

/* The time that a hook may take. */
#define WATCH_HOOK_NS 10000000000

/*
 * Runs the program at this path with the event's JSON on its standard input and
 * VDSOCHECK_* in its environment, and waits for it. What it prints goes to standard error. False
 * with the reason unless it ended with status 0 within WATCH_HOOK_NS; at the end of the time its
 * process group is killed.
 */
bool watch_hook_run(const char *program, const struct watch_event *event, struct fact *why);

/*
 * The notification protocol of sd_notify(3): the service is ready, with its state in a line.
 * Without NOTIFY_SOCKET nothing happens; nor does an error, since nothing depends on it.
 */
void watch_notify(const struct watch_event *event);

#endif
