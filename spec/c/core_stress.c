/*
 * core_stress.c - ten processes with four threads each update one I/O kstat, one NAMED kstat and one
 * histogram of a segment for some seconds, longer where the machine is slow, while readers in other
 * processes look at them all the time. No update may be lost, and no reader may see a record that never was.
 * Usage: core_stress [SECONDS [PROCESSES [THREADS]]], KSTAT_DIR set. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain/chain.h"
#include "kstat_provider.h"
#include "source/sources.h"

enum { READ_BYTES = 4096, WRITE_BYTES = 512, READERS = 2, BUCKETS = 10 };

/* What the updaters say they did, and the readers so far; anonymous memory shared with them. */
struct tally {
	uint64_t reads, writes, waits, values[BUCKETS], failures, looked[READERS];
};

static struct tally *tally;
static volatile int *stop;

static kstat_t *io, *named, *hist, *timers;

static void
give_up(const char *what)
{
	printf("%s: %s\n", what, kstat_errmsg());
	_exit(1);
}

static void
publish(void)
{
	const char *pseg[] = { "misc", "stress", "0", "sizes" };
	kstat_pub_t *pub = kstat_publish("stress", 0);

	if (pub == NULL)
		give_up("kstat_publish");
	io = kstat_publish_create(pub, "stress", 0, "queue", "disk", KSTAT_TYPE_IO, 1, 0);
	named = kstat_publish_create(pub, "stress", 0, "counters", "misc", KSTAT_TYPE_NAMED, 4, 0);
	hist = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LINEAR, KSTAT_NVMT_BYTES, 1, 0, 0,
	    1024, 128, 0, "sizes", 0);
	timers = kstat_publish_create(pub, "stress", 0, "events", "misc", KSTAT_TYPE_TIMER, 1, 0);
	if (io == NULL || named == NULL || hist == NULL || timers == NULL)
		give_up("create");
	kstat_named_init(&KSTAT_NAMED_PTR(named)[0], "plain", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(named)[1], "own", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(named)[2], "max", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(named)[3], "text", KSTAT_DATA_STRING);
	kstat_named_setstr(&KSTAT_NAMED_PTR(named)[3], "");
	kstat_timer_init(timers->ks_data, "event");
	(void)kstat_publish_shards(named, 64);
	if (kstat_install(io) != 0 || kstat_install(named) != 0 || kstat_install(timers) != 0 ||
	    kstat2_install(hist) != 0)
		give_up("install");
}

/* --- updaters ------------------------------------------------------------------------------------ */

static void *
update(void *arg)
{
	kstat_ioq_t *q = kstat_ioq(io);
	kstat_etimer_t *timer = kstat_etimer(timers, NULL);
	kstat_counter_t *plain = kstat_counter(named, "plain");
	kstat_counter_t *own = kstat_counter_own(named, "own", NULL);
	kstat_counter_t *max = kstat_counter(named, "max");
	struct tally did = { .reads = 0 };
	uint64_t state = (uint64_t)(uintptr_t)&did ^ (uint64_t)getpid() << 20;
	char text[32];

	(void)arg;
	while (!*stop) {
		uint64_t value;
		hrtime_t start = gethrtime();

		state = state * 6364136223846793005ULL + 1442695040888963407ULL;
		value = (state >> 33) % 1152;
		if (kstat_ioq_waitq_enter(q) != 0 || kstat_ioq_waitq_to_runq(q) != 0)
			did.failures++;
		if ((state >> 60) == 0) {
			/* Changes its mind now and then. */
			if (kstat_ioq_runq_back_to_waitq(q) != 0 || kstat_ioq_waitq_to_runq(q) != 0)
				did.failures++;
		}
		if (state >> 63) {
			did.failures += kstat_ioq_done(q, KSTAT_IO_READ, READ_BYTES) != 0;
			did.reads++;
		} else {
			did.failures += kstat_ioq_done(q, KSTAT_IO_WRITE, WRITE_BYTES) != 0;
			did.writes++;
		}
		kstat_counter_add(plain, 1);
		kstat_counter_add(own, 1);
		kstat_counter_max(max, value);
		did.failures += kstat2_hist_add_value(hist, value) != 0;
		did.values[value == 0 ? 0 : value >= 1024 ? 9 : 1 + value / 128]++;
		did.failures += kstat_etimer_event(timer, start, start + 7) != 0;
		if (did.reads % 64 == 0) {
			memset(text, 'a' + (int)(state >> 40) % 26, sizeof(text));
			did.failures += kstat_named_store(named, "text", text, (state >> 50) % sizeof(text)) != 0;
		}
	}
	(void)__atomic_fetch_add(&tally->reads, did.reads, __ATOMIC_SEQ_CST);
	(void)__atomic_fetch_add(&tally->writes, did.writes, __ATOMIC_SEQ_CST);
	(void)__atomic_fetch_add(&tally->failures, did.failures, __ATOMIC_SEQ_CST);
	for (int i = 0; i < BUCKETS; i++)
		(void)__atomic_fetch_add(&tally->values[i], did.values[i], __ATOMIC_SEQ_CST);
	return NULL;
}

static void
updater(int threads)
{
	pthread_t thread[64];

	for (int i = 1; i < threads; i++) {
		if (pthread_create(&thread[i], NULL, update, NULL) != 0)
			_exit(1);
	}
	(void)update(NULL);
	for (int i = 1; i < threads; i++)
		(void)pthread_join(thread[i], NULL);
	_exit(0);
}

/* --- readers --------------------------------------------------------------------------------------- */

struct seen {
	kstat_io_t io;
	uint64_t sum, plain, own, events;
	uint64_t reads, busy;
};

static uint64_t
number(kstat_t *k, const char *stat)
{
	return ((kstat_named_t *)kstat_data_lookup(k, stat))->value.ui64;
}

static const char *
check_io(kstat_t *k, struct seen *s, unsigned most)
{
	kstat_io_t *n = KSTAT_IO_PTR(k), *o = &s->io;

	if (n->nread != (uint64_t)n->reads * READ_BYTES ||
	    n->nwritten != (uint64_t)n->writes * WRITE_BYTES)
		return "bytes and operations do not go together";
	if (n->rlentime < n->rtime || n->wlentime < n->wtime)
		return "a length * time sum below its time";
	if (n->rcnt + n->wcnt > most)
		return "more requests than threads";
	if (n->reads < o->reads || n->writes < o->writes || n->rtime < o->rtime ||
	    n->wtime < o->wtime || n->rlentime < o->rlentime || n->wlentime < o->wlentime)
		return "the queue went backwards";
	if (most > 0 && n->rlentime - o->rlentime > (n->rtime - o->rtime) * (hrtime_t)most)
		return "a longer queue than there are threads";
	*o = *n;
	return NULL;
}

static const char *
check_hist(kstat_t *k, struct seen *s)
{
	kstat_named_t *kn = kstat_data_lookup(k, "buckets");
	uint64_t sum = 0;

	for (uint32_t i = 0; i < kn->value.string.len / 8; i++)
		sum += kn->value.string.addr.ints[i];
	if (sum < s->sum)
		return "the histogram lost counts";
	s->sum = sum;
	return NULL;
}

static const char *
check_named(kstat_t *k, struct seen *s)
{
	kstat_named_t *text = kstat_data_lookup(k, "text");
	const char *p = KSTAT_NAMED_STR_PTR(text);
	uint64_t plain = number(k, "plain"), own = number(k, "own");

	if (plain < s->plain || own < s->own)
		return "a counter went backwards";
	for (size_t i = 0; i < strlen(p); i++) {
		if (p[i] != p[0])
			return "a text of two texts";
	}
	s->plain = plain;
	s->own = own;
	return NULL;
}

static const char *
check_timer(kstat_t *k, struct seen *s)
{
	kstat_timer_t *t = KSTAT_TIMER_PTR(k);

	if (t->elapsed_time != (hrtime_t)t->num_events * 7 || t->num_events < s->events ||
	    t->stop_time != t->start_time + 7 * (t->num_events > 0))
		return "the timer's values do not go together";
	s->events = t->num_events;
	return NULL;
}

/* Reads all four; what is wrong with them, or NULL. */
static const char *
look(kstat_ctl_t *kc, struct seen *s, unsigned most)
{
	const char *wrong = NULL;

	for (kstat_t *k = kc->kc_chain; k != NULL && wrong == NULL; k = k->ks_next) {
		if (kstat_read(kc, k, NULL) == -1) {
			if (errno != EAGAIN)
				return kstat_errmsg();
			s->busy++;
			continue;
		}
		s->reads++;
		if (k->ks_type == KSTAT_TYPE_IO)
			wrong = check_io(k, s, most);
		else if (k->ks_type == KSTAT_TYPE_TIMER)
			wrong = check_timer(k, s);
		else if (strcmp(k->ks_name, "sizes") == 0)
			wrong = check_hist(k, s);
		else
			wrong = check_named(k, s);
	}
	return wrong;
}

static void
reader(int number, unsigned most)
{
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	struct seen s;
	const char *wrong = NULL;

	memset(&s, 0, sizeof(s));
	if (kc == NULL || kc->kc_chain == NULL)
		give_up("reader");
	while (!*stop && wrong == NULL) {
		wrong = look(kc, &s, most);
		__atomic_store_n(&tally->looked[number], s.reads, __ATOMIC_RELAXED);
	}
	if (wrong != NULL)
		printf("torn: %s\n", wrong);
	else
		printf("reads %llu busy %llu\n", (unsigned long long)s.reads, (unsigned long long)s.busy);
	(void)fflush(stdout);
	(void)kstat_close(kc);
	_exit(wrong != NULL);
}

/* --- the whole --------------------------------------------------------------------------------------- */

/* Whether enough was done to say something of it; what failed meanwhile ends it, too, when time is up. */
static bool
is_enough(void)
{
	uint64_t least = kstat_counter_get(kstat_counter(named, "plain")) / 20;

	for (int i = 0; i < READERS; i++) {
		uint64_t looked = __atomic_load_n(&tally->looked[i], __ATOMIC_RELAXED);

		if (looked < least)
			least = looked;
	}
	return least > 1000;
}

static int
compare(const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		printf("%s: %llu, not %llu\n", what, (unsigned long long)got, (unsigned long long)want);
	return got != want;
}

static int
totals(void)
{
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	uint64_t all = tally->reads + tally->writes;
	struct seen s;
	const char *wrong;
	int bad = 0;
	kstat_t *k;

	memset(&s, 0, sizeof(s));
	if (kc == NULL || (wrong = look(kc, &s, 0)) != NULL || s.busy > 0) {
		printf("at the end: %s\n", kc == NULL ? kstat_errmsg() : wrong);
		return 1;
	}
	bad += compare("failed calls", tally->failures, 0);
	bad += compare("reads", s.io.reads, (uint32_t)tally->reads);
	bad += compare("writes", s.io.writes, (uint32_t)tally->writes);
	bad += compare("plain", s.plain, all);
	bad += compare("own", s.own, all);
	bad += compare("events", s.events, all);
	bad += compare("sum of buckets", s.sum, all);
	k = kstat_lookup(kc, "stress", 0, "sizes");
	for (uint32_t i = 0; i < BUCKETS; i++) {
		kstat_named_t *kn = kstat_data_lookup(k, "buckets");

		bad += compare("bucket", i < kn->value.string.len / 8 ? kn->value.string.addr.ints[i] : 0,
		    tally->values[i]);
	}
	(void)kstat_close(kc);
	printf("updates %llu\n", (unsigned long long)all);
	return bad;
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 3;
	int processes = argc > 2 ? atoi(argv[2]) : 10, threads = argc > 3 ? atoi(argv[3]) : 4;
	int status, bad = 0;

	tally = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	stop = (volatile int *)((char *)tally + 4096);
	publish();
	for (int i = 0; i < processes + READERS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid == 0 && i < processes)
			updater(threads);
		if (pid == 0)
			reader(i - processes, (unsigned)(processes * threads));
	}
	(void)usleep((useconds_t)(seconds * 1e6));
	for (int i = 0; i < 1000 && !is_enough(); i++)
		(void)usleep(60000);
	*stop = 1;
	while (wait(&status) > 0)
		bad += status != 0;
	bad += totals();
	printf("%s\n", bad == 0 ? "exact" : "wrong");
	return bad != 0;
}
