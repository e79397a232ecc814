/* SPDX-License-Identifier: MIT */
/* sd_notify(3) without libsystemd: one datagram to the socket that systemd names. */
#include "model.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

void watch_notify(const struct watch_event *event)
{
	const char *path = getenv("NOTIFY_SOCKET");
	static const struct timeval patience = {.tv_sec = 1};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t length = path ? strlen(path) : 0;
	char state[WATCH_STATE_SIZE], message[WATCH_STATE_SIZE + 64];
	int file, size;

	if (length < 2 || length >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, path, length);
	if (*path == '@') /* a name without a file */
		address.sun_path[0] = '\0';
	size = snprintf(message, sizeof(message), "READY=1\nSTATUS=%s: %s\n",
		verdict_answers[event->now->diagnosis.verdict.kind].word,
		watch_describe_state(&event->now->evidence, state));
	file = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (file < 0)
		return;
	/* A receiver that does not read must not keep us from watching, nor from ending. */
	setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	sendto(file, message, (size_t)size, MSG_NOSIGNAL, (struct sockaddr *)&address,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
	close(file);
}
