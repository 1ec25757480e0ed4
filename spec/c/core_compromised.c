/*
 * core_compromised.c - a worker that writes anything into the segment that it shares: random words, moved blocks,
 * entries with right checks, locks, states. Meanwhile a neighbour goes on counting in a publication of its own, another worker
 * of the same master counts without locks, and readers look at everything. Nobody else dies or waits for long, and what
 * readers see of the neighbour is what it counted. Says what went wrong, or "unharmed".
 * Usage: core_compromised SECONDS; KSTAT_DIR set. SPDX-License-Identifier: MIT
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_provider.h"
#include "provider/segment/segment.h"
#include "source/sources.h"

#define LONGEST 10 /* seconds that anybody waits: far more than a look takes, also on a busy machine */
#define FEATURES 3 /* statistics of the neighbour; all have the same value after each step */
#define ATTACKS 6

enum who { NEIGHBOUR, WORKER, READER, ANOTHER_READER, ATTACKER, PROCESSES };
static const char *const names[] = { "the neighbour", "the other worker", "a reader", "another reader",
	"the attacker" };

/* What the processes tell each other, in memory that no attacker has. */
static struct shared {
	_Atomic uint64_t counted;          /* what the neighbour counted at least */
	_Atomic uint64_t steps[PROCESSES]; /* how often each did what it does */
} *shared;

static uint64_t state;

static uint64_t
any(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 16;
}

/* Ends a process that found something wrong. */
static _Noreturn void
wrong(const char *what, const char *more)
{
	printf("%s: %s\n", what, more);
	(void)fflush(stdout);
	_exit(1);
}

/* --- those who must not be harmed ------------------------------------------------------------------------- */

static kstat_t *
publish_named(kstat_pub_t *pub, const char *module, int n)
{
	static const char *const stats[] = { "a", "b", "c" };
	kstat_t *k = kstat_publish_create(pub, module, 0, "named", "misc", KSTAT_TYPE_NAMED, (uint_t)n, 0);

	for (int i = 0; k != NULL && i < n; i++)
		kstat_named_init(&KSTAT_NAMED_PTR(k)[i], stats[i], KSTAT_DATA_UINT64);
	return k != NULL && kstat_install(k) == 0 ? k : NULL;
}

static _Noreturn void
be_neighbour(void)
{
	kstat_pub_t *pub = kstat_publish("neighbour", 0);
	kstat_t *k = pub != NULL ? publish_named(pub, "sound", FEATURES) : NULL;
	static const char *const stats[] = { "a", "b", "c" };

	if (k == NULL)
		wrong("neighbour", kstat_errmsg());
	for (uint64_t n = 1;; n++) {
		for (int i = 0; i < FEATURES; i++)
			kstat_counter_add(kstat_counter(k, stats[i]), 1);
		atomic_store(&shared->counted, n);
		atomic_store(&shared->steps[NEIGHBOUR], n);
		if (n % 64 == 0)
			(void)usleep(1000);
	}
}

static _Noreturn void
be_worker(kstat_t *k)
{
	kstat_counter_t *own = kstat_counter_own(k, "a", NULL);

	for (;;) {
		kstat_counter_add(kstat_counter(k, "a"), 1);
		kstat_counter_add(own, 1);
		if (atomic_fetch_add(&shared->steps[WORKER], 1) % 256 == 0)
			(void)usleep(1000);
	}
}

/* Reads all there is; returns whether the neighbour was there with what it counted. */
static void
look(kstat_ctl_t *kc)
{
	uint64_t before = atomic_load(&shared->counted), after;
	bool seen = before == 0;

	if (kstat_chain_update(kc) == -1)
		wrong("updating", kstat_errmsg());
	while (ks_chain_warning(kc) != NULL)
		continue;
	for (kstat_t *k = kc->kc_chain; k != NULL; k = k->ks_next) {
		bool is_sound = strcmp(k->ks_module, "sound") == 0 && strcmp(k->ks_name, "named") == 0;

		if (kstat_read(kc, k, NULL) < 0 || !is_sound)
			continue;
		after = atomic_load(&shared->counted) + 1;
		if (k->ks_ndata != FEATURES)
			wrong("the neighbour", "has other statistics");
		for (int i = 0; i < FEATURES; i++) {
			uint64_t v = KSTAT_NAMED_PTR(k)[i].value.ui64;

			if (v < before || v > after)
				wrong("the neighbour", "has other values");
		}
		seen = true;
	}
	if (!seen)
		wrong("the neighbour", "is not seen");
}

static _Noreturn void
be_reader(enum who who)
{
	kstat_ctl_t *kc = NULL;

	for (uint64_t n = 0;; n++) {
		if (n % 50 == 0 && kc != NULL) {
			(void)kstat_close(kc);
			kc = NULL;
		}
		if (kc == NULL)
			kc = ks_chain_open_source(ks_source_segment_open(), NULL);
		if (kc == NULL)
			wrong("opening", kstat_errmsg());
		look(kc);
		atomic_fetch_add(&shared->steps[who], 1);
	}
}

/* --- the attacker ------------------------------------------------------------------------------------------ */

static char *map;
static size_t used;

static void
put_word(size_t at, uint64_t v)
{
	memcpy(map + at, &v, sizeof(v));
}

/* A word of any kind: noise, a small number, an offset, one that is almost right, all bits. */
static uint64_t
any_word(size_t at)
{
	uint64_t was;

	memcpy(&was, map + at, sizeof(was));
	switch (any() % 6) {
	case 0:
		return any() << 32 ^ any();
	case 1:
		return any() % 300;
	case 2:
		return any() % used & ~63ULL;
	case 3:
		return was + any() % 5 - 2;
	case 4:
		return was ^ 1ULL << any() % 64;
	default:
		return any() % 2 == 0 ? 0 : UINT64_MAX;
	}
}

static void
move_block(void)
{
	size_t n = 8 + any() % 1024 % (used / 2);

	memmove(map + any() % (used - n), map + any() % (used - n), n);
}

/* Changes a word of an entry, and makes its check right again. */
static void
forge_entry(const char *sound)
{
	size_t at = KS_SEG_HEADER;
	struct ks_seg_entry e;

	for (uint64_t n = any() % 4; n > 0; n--) {
		memcpy(&e, sound + at, sizeof(e));
		if (at + e.size + sizeof(e) > used)
			break;
		at += e.size;
	}
	memcpy(&e, any() % 4 == 0 ? map + at : sound + at, sizeof(e));
	((uint64_t *)(void *)&e)[any() % (sizeof(e) / 8)] = any_word(at);
	if (e.fields <= used - at && e.nfields <= (used - at - e.fields) / sizeof(struct ks_seg_field) &&
	    e.strings <= used - at && e.strings_size <= used - at - e.strings)
		e.check = ks_seg_entry_check(&e, map + at + e.fields, map + at + e.strings);
	memcpy(map + at, &e, sizeof(e));
}

/* The words of the header that change: the lock, held by one who lives or by nobody, the counts, the list of places. */
static void
change_state(uint64_t lock)
{
	size_t at = offsetof(struct ks_seg_header, lock);

	if (any() % 2 == 0)
		put_word(at, any() % 3 == 0 ? any_word(at) : lock);
	else
		put_word(at + 8 + any() % 4 * 8, any_word(at + 8));
}

static _Noreturn void
be_attacker(kstat_pub_t *pub, unsigned seed)
{
	static char sound[1 << 16];
	uint64_t lock = ks_owner_self();

	state = seed;
	map = (char *)pub->header;
	used = atomic_load(&pub->header->used);
	used = used < sizeof(sound) ? used : sizeof(sound);
	memcpy(sound, map, used);
	for (uint64_t i = 0;; i++) {
		size_t at = any() % (used - 8);

		switch (any() % ATTACKS) {
		case 0:
		case 1:
			put_word(at, any_word(at));
			break;
		case 2:
			move_block();
			break;
		case 3:
			forge_entry(sound);
			break;
		case 4:
			change_state(lock);
			break;
		default: /* the lock of a record, wherever it may be */
			put_word(at & ~7ULL, lock);
		}
		atomic_fetch_add(&shared->steps[ATTACKER], 1);
		if (i % 500 == 0) /* there is something to see again */
			memcpy(map, sound, used);
		if (i % 64 == 0)
			(void)usleep(200);
	}
}

/* --- what is found ------------------------------------------------------------------------------------------- */

static pid_t pids[PROCESSES];

/* Looks after the processes for some seconds; says what is wrong, or nothing. */
static const char *
watch(int seconds)
{
	static char message[120];
	uint64_t steps[PROCESSES] = { 0 };
	int status, since[PROCESSES] = { 0 };

	for (int tick = 0; tick < seconds * 20; tick++) {
		(void)usleep(50000);
		for (int i = 0; i < PROCESSES; i++) {
			uint64_t now = atomic_load(&shared->steps[i]);

			if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
				(void)snprintf(message, sizeof(message), "%s ended with status %#x", names[i], (unsigned)status);
				pids[i] = 0;
				return message;
			}
			since[i] = now == steps[i] ? since[i] + 1 : 0;
			steps[i] = now;
			if (since[i] > LONGEST * 20) {
				(void)snprintf(message, sizeof(message), "%s waits for more than %d s", names[i], LONGEST);
				return message;
			}
		}
	}
	for (int i = 0; i < PROCESSES; i++) {
		if (steps[i] == 0) {
			(void)snprintf(message, sizeof(message), "%s did nothing", names[i]);
			return message;
		}
	}
	return NULL;
}

static const char *
attack(unsigned seed, int seconds)
{
	const char *message;
	kstat_pub_t *pub;
	kstat_t *k;

	memset(shared, 0, sizeof(*shared));
	for (int i = 0; i < PROCESSES; i++)
		pids[i] = 0;
	pids[NEIGHBOUR] = fork();
	if (pids[NEIGHBOUR] == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_neighbour();
	}
	while (atomic_load(&shared->counted) == 0) {
		if (waitpid(pids[NEIGHBOUR], NULL, WNOHANG) != 0)
			return "the neighbour ended at its begin";
		(void)usleep(1000);
	}
	pub = kstat_publish("shared", 0);
	k = pub != NULL ? publish_named(pub, "attacked", 3) : NULL;
	if (k == NULL || publish_named(pub, "also", 2) == NULL)
		return kstat_errmsg();
	for (int i = WORKER; i < PROCESSES; i++) {
		pids[i] = fork();
		if (pids[i] != 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (i == WORKER)
			be_worker(k);
		if (i == ATTACKER)
			be_attacker(pub, seed);
		be_reader(i);
	}
	message = watch(seconds);
	for (int i = PROCESSES - 1; i >= 0; i--) { /* the neighbour last: readers look for it */
		if (pids[i] > 0 && kill(pids[i], SIGKILL) == 0)
			(void)waitpid(pids[i], NULL, 0);
	}
	return message;
}

int
main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10, status;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	/* Each time another master, whose segment is new. */
	for (unsigned seed = 1; seconds > 0; seed++, seconds -= 5) {
		pid_t master = fork();

		if (master == 0) {
			const char *message = attack(seed, seconds < 5 ? seconds : 5);

			if (message != NULL)
				printf("%s, seed %u\n", message, seed);
			(void)fflush(stdout);
			_exit(message != NULL);
		}
		if (waitpid(master, &status, 0) != master || status != 0) {
			printf("the master ended with status %d, seed %u\n", status, seed);
			return 1;
		}
		(void)kstat_publish_gc(KSTAT_GC_PERSISTENT, NULL, NULL);
	}
	printf("unharmed\n");
	return 0;
}
