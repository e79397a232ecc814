/* SPDX-License-Identifier: MIT */
/*
 * Serves a file until it is asked to hang, by the protocol of linux/fuse.h:
 *
 *     hanging DIRECTORY FILE
 *
 * Mounts a file system on the directory, whose one file "file" is a copy of FILE and can be
 * executed. After SIGUSR1 it answers no request; SIGTERM or the end of its parent ends it, with the
 * mount. Exits with 125 if it cannot mount. Shares no code with src/.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2
#define REQUEST_SIZE (1 << 17)

static volatile sig_atomic_t hangs, ends;
static int file; /* that is served */

static void take_signal(int number)
{
	hangs = 1;
	ends |= number == SIGTERM;
}

static void answer(int device, uint64_t unique, int error, const void *data, size_t length)
{
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + (error ? 0 : length)),
		.error = -error,
		.unique = unique,
	};
	struct iovec parts[] = {{&header, sizeof(header)}, {(void *)(uintptr_t)data, length}};

	(void)!writev(device, parts, error ? 1 : 2);
}

static struct fuse_attr attributes_of(uint64_t node)
{
	struct stat status;

	fstat(file, &status);
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? (uint64_t)status.st_size : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.blksize = 4096,
	};
}

static void serve(int device, const struct fuse_in_header *request)
{
	const void *body = request + 1;
	const struct fuse_read_in *read_in = body;
	static char data[REQUEST_SIZE];

	switch (request->opcode) {
	case FUSE_INIT:
		answer(device, request->unique, 0,
			&(struct fuse_init_out){.major = FUSE_KERNEL_VERSION,
				.minor = FUSE_KERNEL_MINOR_VERSION,
				.max_readahead = 4096,
				.max_write = 4096},
			sizeof(struct fuse_init_out));
		break;
	case FUSE_LOOKUP:
		answer(device, request->unique, strcmp(body, "file") == 0 ? 0 : ENOENT,
			&(struct fuse_entry_out){
				.nodeid = FILE_NODE, .attr = attributes_of(FILE_NODE)},
			sizeof(struct fuse_entry_out));
		break;
	case FUSE_GETATTR:
		answer(device, request->unique, 0,
			&(struct fuse_attr_out){.attr = attributes_of(request->nodeid)},
			sizeof(struct fuse_attr_out));
		break;
	case FUSE_OPEN:
		answer(device, request->unique, 0, &(struct fuse_open_out){.fh = 1},
			sizeof(struct fuse_open_out));
		break;
	case FUSE_READ: {
		ssize_t length = pread(file, data,
			read_in->size < sizeof(data) ? read_in->size : sizeof(data),
			(off_t)read_in->offset);

		answer(device, request->unique, length < 0 ? EIO : 0, data,
			length < 0 ? 0 : (size_t)length);
		break;
	}
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		answer(device, request->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static union {
		struct fuse_in_header header;
		char bytes[REQUEST_SIZE];
	} request;
	struct sigaction action = {.sa_handler = take_signal};
	char options[128];
	int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	file = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
	if (device < 0 || file < 0)
		return 125;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other",
		device);
	if (mount("hanging", argv[1], "fuse.hanging", MS_NOSUID | MS_NODEV, options) < 0)
		return 125;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	while (!hangs) {
		if (read(device, &request, sizeof(request)) > 0 && !hangs)
			serve(device, &request.header);
	}
	while (!ends)
		pause();
	umount2(argv[1], MNT_DETACH);
	return 0;
}
