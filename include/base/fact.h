/* SPDX-License-Identifier: MIT */
/*
 * A fact says whether a value is known and, if it is not, why. Evidence that could not be read is a
 * value like any other: it is passed on with its reason, and the run continues.
 */
#ifndef VDSOCHECK_BASE_FACT_H
#define VDSOCHECK_BASE_FACT_H

#include "base/text.h"

/* Bytes of a reason, its NUL included; longer ones are cut (base/text.h). */
#define FACT_REASON_SIZE 160
/* Bytes of a text value, its NUL included; longer ones are cut, and equal nothing. */
#define FACT_TEXT_SIZE 256

enum fact_state {
	FACT_UNREAD = 0, /* not read yet: the state of a zeroed fact */
	FACT_KNOWN,      /* read: the value beside it holds */
	FACT_FAILED,     /* reading it went wrong */
	FACT_ABSENT,     /* read: there is none */
	FACT_LATE,       /* there was not enough time to read it */
	FACT_DENIED,     /* reading it is not permitted */
	FACT_NO_CHILD,   /* no child process could be run that reads it */
	FACT_STATES
};

/* The state is what code decides on; a reason is for people. */
struct fact {
	enum fact_state state;
	char reason[FACT_REASON_SIZE]; /* empty while known */
};

struct text_fact {
	struct fact fact;
	char value[FACT_TEXT_SIZE];
};

struct number_fact {
	struct fact fact;
	int64_t value;
};

struct real_fact {
	struct fact fact;
	double value;
};

struct flag_fact {
	struct fact fact;
	bool value;
};

/* Returns true if the value beside the fact holds. */
bool fact_is_known(const struct fact *fact);

/* Marks the value as known, and forgets the reason. */
void fact_set_known(struct fact *fact);

/* Stores why the value is not known: the state and a reason, printf-like. */
void fact_set(struct fact *fact, enum fact_state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Stores that a system call about `object` ended with `error` (an errno): ENOENT and the like are
 * absent, EACCES and EPERM denied, others failed.
 */
void fact_set_errno(struct fact *fact, int error, const char *object);

/* These store a known value; a text that is too long is cut. */
void fact_set_text(struct text_fact *fact, const char *value);
void fact_set_span(struct text_fact *fact, struct span value);
void fact_set_number(struct number_fact *fact, int64_t value);
void fact_set_real(struct real_fact *fact, double value);
void fact_set_flag(struct flag_fact *fact, bool value);

/* Stores a known value, or, if it is NULL, that it is absent for this reason. */
void fact_set_found(struct text_fact *fact, const char *value, const char *absent);

/* Return true if the value is known and is this one. */
bool fact_is_text(const struct text_fact *fact, const char *value);
bool fact_is_flag(const struct flag_fact *fact, bool value);

/* Describes the fact in `size` bytes: "denied: /dev/kmsg: Operation not permitted"; "" if known. */
void fact_describe(const struct fact *fact, char *text, size_t size);

/* Reads such a description; a text that does not begin with a state is the reason of a failure. */
void fact_set_described(struct fact *fact, const char *text);

#endif
