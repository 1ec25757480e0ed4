/*
 * latency_load.c - what the specs of `kstatlua latency` count: loads whose numbers and times are known.
 *
 *   disk DEVICE read|write|discard|flush THREADS REQUESTS   so many requests of 4 KB, by threads side by side
 *   fuse DIRECTORY BYTES READ_MS WRITE_MS                   a file system with one file, `file`, that takes so long
 *   tun ADDRESS PEER MS                                     a network device; what goes to PEER comes back from it,
 *                                                           after MS for there and back
 *   connect ADDRESS PORT TIMES [listen]                     connections one after the other; listen: to oneself
 *   storm NAME CHILD TIMES                                  a process NAME with children CHILD that end at once
 *   ping TIMES                                              two processes that wake each other
 *   spin                                                    until it is killed
 *
 * SPDX-License-Identifier: MIT
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fuse.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096

static void
fail(const char *what)
{
	perror(what);
	exit(1);
}

static void
sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) != 0)
		;
}

/* --- disks ------------------------------------------------------------------------------------------- */

static struct {
	int fd;
	char op;
	unsigned long requests, blocks;
} disk;

static void *
ask_disk(void *arg)
{
	unsigned long at = (unsigned long)(size_t)arg;
	void *block = NULL;

	if (posix_memalign(&block, BLOCK, BLOCK) != 0)
		fail("memory");
	memset(block, 'x', BLOCK);
	for (unsigned long i = 0; i < disk.requests; i++) {
		off_t offset = (off_t)((at + i * 7) % disk.blocks * BLOCK);
		unsigned long long range[2] = { (unsigned long long)offset, BLOCK };
		ssize_t n = disk.op == 'r' ? pread(disk.fd, block, BLOCK, offset) :
		    disk.op == 'w' ? pwrite(disk.fd, block, BLOCK, offset) :
		    disk.op == 'd' ? ioctl(disk.fd, BLKDISCARD, range) : fsync(disk.fd);

		if (n < 0)
			fail("request");
	}
	free(block);
	return NULL;
}

static int
load_disk(char **argv)
{
	size_t threads = strtoul(argv[2], NULL, 10);
	pthread_t *ids = calloc(threads, sizeof(*ids));
	unsigned long long size = 0;

	disk.fd = open(argv[0], O_RDWR | O_DIRECT);
	if (disk.fd < 0 || ids == NULL || ioctl(disk.fd, BLKGETSIZE64, &size) != 0)
		fail(argv[0]);
	disk.op = argv[1][0];
	disk.blocks = size / BLOCK;
	disk.requests = strtoul(argv[3], NULL, 10) / threads;
	for (size_t i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, ask_disk, (void *)(i * 1009)) != 0)
			fail("thread");
	for (size_t i = 0; i < threads; i++)
		(void)pthread_join(ids[i], NULL);
	free(ids);
	return 0;
}

/* --- a slow file ------------------------------------------------------------------------------------- */

static unsigned long file_size;

static struct fuse_attr
attributes(uint64_t node)
{
	return (struct fuse_attr){ .ino = node, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644, .nlink = 1,
		.size = node == 1 ? 0 : file_size, .blksize = BLOCK };
}

static void
reply(int fd, uint64_t unique, int error, const void *data, size_t n)
{
	struct fuse_out_header h = { .len = (uint32_t)(sizeof(h) + n), .error = -error, .unique = unique };
	static char out[sizeof(h) + (1u << 20)];

	memcpy(out, &h, sizeof(h));
	memcpy(out + sizeof(h), data, n);
	if (write(fd, out, h.len) < 0 && errno != ENOENT)
		fail("fuse: write");
}

static int
serve_file(char **argv)
{
	static char in[(1u << 20) + 4096], zeros[1u << 20];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	long read_ms = atol(argv[2]), write_ms = atol(argv[3]);
	char options[64];

	file_size = strtoul(argv[1], NULL, 10);
	(void)snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (fd < 0 || mount("slow", argv[0], "fuse", MS_NOSUID | MS_NODEV, options) != 0)
		fail("fuse: mount");
	for (;;) {
		struct fuse_in_header *h = (void *)in;
		char *body = in + sizeof(*h);
		ssize_t n = read(fd, in, sizeof(in));

		if (n < 0 && errno == ENODEV)
			return 0;
		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < (ssize_t)sizeof(*h))
			fail("fuse: read");
		switch (h->opcode) {
		case FUSE_INIT: {
			struct fuse_init_out o = { .major = 7, .minor = 31, .max_readahead = 0, .max_write = 1u << 17 };

			reply(fd, h->unique, 0, &o, sizeof(o));
			break;
		}
		case FUSE_LOOKUP: {
			struct fuse_entry_out o = { .nodeid = 2, .entry_valid = 1000, .attr_valid = 1000, .attr = attributes(2) };

			reply(fd, h->unique, strcmp(body, "file") == 0 ? 0 : ENOENT, &o,
			    strcmp(body, "file") == 0 ? sizeof(o) : 0);
			break;
		}
		case FUSE_GETATTR:
		case FUSE_SETATTR: {
			struct fuse_attr_out o = { .attr_valid = 1000, .attr = attributes(h->nodeid) };

			reply(fd, h->unique, 0, &o, sizeof(o));
			break;
		}
		case FUSE_OPEN: {
			struct fuse_open_out o = { .fh = 1, .open_flags = FOPEN_DIRECT_IO };

			reply(fd, h->unique, 0, &o, sizeof(o));
			break;
		}
		case FUSE_READ:
			sleep_ms(read_ms);
			reply(fd, h->unique, 0, zeros, ((struct fuse_read_in *)(void *)body)->size);
			break;
		case FUSE_WRITE: {
			struct fuse_write_out o = { .size = ((struct fuse_write_in *)(void *)body)->size };

			sleep_ms(write_ms);
			reply(fd, h->unique, 0, &o, sizeof(o));
			break;
		}
		case FUSE_FLUSH:
		case FUSE_FSYNC:
		case FUSE_RELEASE:
			reply(fd, h->unique, 0, NULL, 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			reply(fd, h->unique, ENOSYS, NULL, 0);
		}
	}
}

/* --- connections ------------------------------------------------------------------------------------- */

static long long
now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Packets come back with their addresses exchanged, the first ones of a connection (SYN alone) after the delay. */
static int
serve_tun(char **argv)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR);
	char command[256];
	long ms = atol(argv[2]);

	(void)snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "slow0");
	if (fd < 0 || ioctl(fd, TUNSETIFF, &ifr) != 0)
		fail("tun");
	(void)snprintf(command, sizeof(command), "ip addr add %s peer %s dev slow0 && ip link set slow0 up", argv[0], argv[1]);
	if (system(command) != 0)
		return 1;
	(void)puts("ready");
	(void)fflush(stdout);
	for (;;) {
		static struct {
			long long due;
			ssize_t n;
			unsigned char bytes[2048];
		} waiting[64];
		static size_t first, last;
		struct pollfd p = { .fd = fd, .events = POLLIN };
		long long left = first == last ? -1 : (waiting[first % 64].due - now_ns()) / 1000000;

		if (first != last && waiting[first % 64].due <= now_ns()) {
			if (write(fd, waiting[first % 64].bytes, (size_t)waiting[first % 64].n) < 0)
				fail("tun: write");
			first++;
		} else if (poll(&p, 1, first == last ? -1 : (int)(left < 0 ? 0 : left)) > 0 && last - first < 64) {
			unsigned char *b = waiting[last % 64].bytes, address[4];

			waiting[last % 64].n = read(fd, b, sizeof(waiting[0].bytes));
			if (waiting[last % 64].n < 40 || b[0] != 0x45 || b[9] != IPPROTO_TCP)
				continue;
			memcpy(address, b + 12, 4);
			memcpy(b + 12, b + 16, 4);
			memcpy(b + 16, address, 4);
			waiting[last % 64].due = now_ns() + ((b[33] & 0x12) == 0x02 ? ms * 1000000LL : 0);
			last++;
		}
	}
}

static int
load_connect(char **argv)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1])) };
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = a.sin_port };
	int listener = -1, made = 0, one = 1;

	(void)inet_pton(AF_INET, argv[0], &a.sin_addr);
	if (argv[3] != NULL) {
		listener = socket(AF_INET, SOCK_STREAM, 0);
		(void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		if (bind(listener, (struct sockaddr *)&any, sizeof(any)) != 0 || listen(listener, 128) != 0)
			fail("listen");
	}
	for (int i = 0; i < atoi(argv[2]); i++) {
		int s = socket(AF_INET, SOCK_STREAM, 0);

		made += connect(s, (struct sockaddr *)&a, sizeof(a)) == 0;
		(void)close(s);
	}
	(void)printf("%d\n", made);
	return 0;
}

/* --- processes --------------------------------------------------------------------------------------- */

static int
load_storm(char **argv)
{
	int status;

	(void)prctl(PR_SET_NAME, argv[0]);
	for (int i = 0; i < atoi(argv[2]); i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid == 0) {
			(void)prctl(PR_SET_NAME, argv[1]);
			_exit(i % 5 == 0);
		}
		if (waitpid(pid, &status, 0) != pid)
			fail("wait");
	}
	return 0;
}

static int
load_ping(char **argv)
{
	int there[2], back[2];
	char byte = 'x';
	pid_t pid;

	if (pipe(there) != 0 || pipe(back) != 0 || (pid = fork()) < 0)
		fail("ping");
	for (int i = 0; i < atoi(argv[0]); i++)
		if (pid == 0 ? read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1 :
		    write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
			fail("ping");
	if (pid != 0)
		(void)waitpid(pid, NULL, 0);
	return 0;
}

int
main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int arguments;
		int (*run)(char **argv);
	} loads[] = { { "disk", 4, load_disk }, { "fuse", 4, serve_file }, { "tun", 3, serve_tun },
		{ "connect", 3, load_connect }, { "storm", 3, load_storm }, { "ping", 1, load_ping } };

	for (size_t i = 0; argc > 1 && i < sizeof(loads) / sizeof(loads[0]); i++)
		if (strcmp(argv[1], loads[i].name) == 0 && argc - 2 >= loads[i].arguments)
			return loads[i].run(argv + 2);
	for (volatile long i = 0; argc > 1 && strcmp(argv[1], "spin") == 0; i++)
		;
	return 2;
}
