/* SPDX-License-Identifier: MIT */
#include "settime_watch.h"

#include <errno.h>
#include <stdint.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/kernel_clock.h"

/* The timer must not expire while we look. */
#define FAR_SECONDS (30 * 24 * 3600)

#ifndef TFD_TIMER_CANCEL_ON_SET
#define TFD_TIMER_CANCEL_ON_SET (1 << 1)
#endif

static bool arm(int timer)
{
	struct itimerspec far = {
		.it_value.tv_sec = (time_t)(kernel_clock_seconds(CLOCK_REALTIME) + FAR_SECONDS)};
	int result =
		timerfd_settime(timer, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far, NULL);

	/* ECANCELED tells of a change that came before, and arms the timer all the same. */
	return result == 0 || errno == ECANCELED;
}

void clock_set_open(struct clock_set *watch)
{
	watch->timer = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	if (watch->timer >= 0 && !arm(watch->timer))
		clock_set_close(watch);
}

bool clock_set_happened(struct clock_set *watch)
{
	uint64_t expirations;

	if (watch->timer < 0)
		return false;
	if (read(watch->timer, &expirations, sizeof(expirations)) < 0 && errno == EAGAIN)
		return false;
	arm(watch->timer);
	return true;
}

void clock_set_close(struct clock_set *watch)
{
	if (watch->timer >= 0)
		close(watch->timer);
	watch->timer = -1;
}
