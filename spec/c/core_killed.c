/*
 * core_killed.c - kills writers of published kstats at random moments. After each death every reader's
 * call must return soon, with a record that was complete, or EAGAIN; the next publisher of the name must
 * start clean; and processes that share the records must be able to go on: also when others that share them have
 * threads, call exec() in the middle of an update, or are numbered in another PID namespace (as root only).
 * Usage: core_killed KILLS, KSTAT_DIR set. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chain/chain.h"
#include "chain/values.h"
#include "kstat_blob.h"
#include "kstat_provider.h"
#include "provider/segment/word.h"
#include "source/sources.h"

static uint64_t complete, busy, gone, lingering;
static hrtime_t slowest;

struct kstats {
	kstat_t *io, *named, *hist, *timers, *times, *blob;
};

/* A statsblob of which all processes know the template. */
static kstat_t *
publish_blob(kstat_pub_t *pub)
{
	struct voistatspec vss[] = { STATS_VSS_SUM(), STATS_VSS_MAX() };
	static int tpl = -1;

	if (tpl < 0 && ((tpl = stats_tpl_alloc("killed", 0)) < 0 ||
	    stats_tpl_add_voistats((uint32_t)tpl, 0, "v", VSD_DTYPE_INT_U64, NVSS(vss), vss, 0) != 0))
		return NULL;
	return kstat_publish_statsblob(pub, "killed", 0, "blob", "misc", (uint32_t)tpl, 1, 0);
}

static int
publish(const char *name, struct kstats *s)
{
	const char *pseg[] = { "misc", "killed", "0", "hist" };
	kstat_pub_t *pub = kstat_publish(name, 0);

	if (pub == NULL)
		return -1;
	s->io = kstat_publish_create(pub, "killed", 0, "io", "disk", KSTAT_TYPE_IO, 1, 0);
	s->named = kstat_publish_create(pub, "killed", 0, "named", "misc", KSTAT_TYPE_NAMED, 2, 0);
	s->timers = kstat_publish_create(pub, "killed", 0, "timer", "misc", KSTAT_TYPE_TIMER, 1, 0);
	s->hist = kstat2_publish_histogram(pub, pseg, 4, KSTAT2_NVHIST_LOG2, KSTAT_NVMT_BYTES, 1, 0, 0, 0,
	    0, 0, "", 0);
	s->times = kstat_publish_latency(pub, "killed", 0, "times", NULL, 0, NULL, 5, 1000, 1000000);
	s->blob = publish_blob(pub);
	if (s->io == NULL || s->named == NULL || s->timers == NULL || s->hist == NULL || s->blob == NULL ||
	    s->times == NULL || kstat_publish_label(s->times, "route", "/search") != 0)
		return -1;
	kstat_named_init(&KSTAT_NAMED_PTR(s->named)[0], "count", KSTAT_DATA_UINT64);
	kstat_named_init(&KSTAT_NAMED_PTR(s->named)[1], "text", KSTAT_DATA_STRING);
	kstat_timer_init(s->timers->ks_data, "event");
	return kstat_install(s->io) | kstat_install(s->named) | kstat_install(s->timers) |
	    kstat2_install(s->hist) | kstat2_install(s->times) | kstat_install(s->blob);
}

/* Changes everything once; 0, or what refused. */
static const char *
touch(const struct kstats *s, uint64_t i)
{
	kstat_ioq_t *q = kstat_ioq(s->io);
	char text[40];

	memset(text, 'a' + (int)(i % 26), sizeof(text));
	kstat_counter_add(kstat_counter(s->named, "count"), 1);
	if (kstat_ioq_runq_enter(q) != 0 || kstat_ioq_done(q, KSTAT_IO_READ, 512) != 0)
		return "queue";
	if (kstat2_hist_add_value(s->hist, i) != 0 || kstat2_hist_add_value(s->times, 900 + i % 200) != 0)
		return "histogram";
	if (kstat_blob_update_uint(kstat_blob(s->blob), 0, 3, false) != 0)
		return "statsblob";
	if (kstat_etimer_event(kstat_etimer(s->timers, NULL), 100, 103) != 0)
		return "timer";
	if (kstat_named_store(s->named, "text", text, i % sizeof(text)) != 0)
		return "text";
	return NULL;
}

/* --- the reader ------------------------------------------------------------------------------------ */

/* A number among the statistics that people see, or what is not one. */
static uint64_t
statistic(const kstat_t *k, const char *name, const char **text)
{
	struct ks_values v = { NULL, 0, 0 };
	uint64_t number = UINT64_MAX;

	*text = "";
	(void)ks_values_collect(&v, k, true);
	for (size_t i = 0; i < v.n; i++) {
		if (strcmp(v.pair[i].name, name) == 0 && v.pair[i].value.kind == KS_VALUE_STRING)
			*text = v.pair[i].value.str;
		else if (strcmp(v.pair[i].name, name) == 0)
			number = v.pair[i].value.u64;
	}
	ks_values_free(&v);
	return number;
}

/* Each value of the histogram was at least 900 and less than 1,100, each of the statsblob 3. */
static const char *
check_counts(kstat_t *k)
{
	const char *text;
	uint64_t n = statistic(k, "count", &text), sum = statistic(k, "sum", &text);

	if (strcmp(k->ks_name, "blob") == 0)
		return statistic(k, "v_sum", &text) % 3 != 0 ? "torn statsblob" : NULL;
	if (sum < 900 * n || sum >= 1100 * n + (n == 0))
		return "torn histogram";
	(void)statistic(k, "route", &text);
	return strcmp(text, "/search") != 0 ? "no label" : NULL;
}

static const char *
check(kstat_t *k)
{
	if (strcmp(k->ks_name, "blob") == 0 || strncmp(k->ks_name, "times", 5) == 0)
		return check_counts(k);
	if (k->ks_type == KSTAT_TYPE_IO) {
		kstat_io_t *io = KSTAT_IO_PTR(k);

		if (io->nread != io->reads * 512ULL || io->rlentime < io->rtime || io->writes != 0)
			return "torn queue";
	} else if (k->ks_type == KSTAT_TYPE_TIMER) {
		kstat_timer_t *t = KSTAT_TIMER_PTR(k);

		if (t->elapsed_time != (hrtime_t)t->num_events * 3)
			return "torn timer";
	} else if (strcmp(k->ks_name, "named") == 0) {
		const char *p = KSTAT_NAMED_STR_PTR((kstat_named_t *)kstat_data_lookup(k, "text"));

		for (size_t i = 0; p != NULL && i < strlen(p); i++) {
			if (p[i] != p[0])
				return "torn text";
		}
	}
	return NULL;
}

/* The processor time of this thread: how long others keep it from running is not the reader's doing. */
static hrtime_t
own_time(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (hrtime_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Reads whatever is in the chain; what is wrong, or NULL. */
static const char *
read_all(kstat_ctl_t *kc)
{
	const char *wrong = NULL;

	for (kstat_t *k = kc->kc_chain; k != NULL && wrong == NULL; k = k->ks_next) {
		hrtime_t start = own_time(), took;
		kid_t rc = kstat_read(kc, k, NULL);

		took = own_time() - start;
		if (took > slowest)
			slowest = took;
		if (rc > 0) {
			complete++;
			wrong = check(k);
		} else if (errno == EAGAIN) {
			busy++;
		} else if (errno == ENXIO) {
			gone++;
		} else {
			wrong = kstat_errmsg();
		}
	}
	return wrong;
}

static const char *
look(kstat_ctl_t *kc)
{
	if (kstat_chain_update(kc) == -1)
		return kstat_errmsg();
	return read_all(kc);
}

/*
 * Looks until nothing is in the chain. The kernel keeps what a dead process held while others, such as
 * ps, look into its memory: so it may take more than one look, but not for ever.
 */
static const char *
look_till_empty(kstat_ctl_t *kc)
{
	const char *wrong = look(kc);

	for (int i = 0; i < 30000 && wrong == NULL && kc->kc_chain != NULL; i++) {
		lingering++;
		(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		wrong = look(kc);
	}
	if (wrong == NULL && kc->kc_chain != NULL)
		wrong = "a dead publisher's kstats are still in the chain";
	return wrong;
}

static void
pause_randomly(long most)
{
	(void)nanosleep(&(struct timespec){ 0, random() % most }, NULL);
}

/* --- publishers that die, and the next of their name -------------------------------------------------- */

static void *
touch_for_ever(void *arg)
{
	for (uint64_t i = 0; touch(arg, i) == NULL; i++)
		continue;
	return NULL;
}

static void
publisher(int report)
{
	struct kstats s;
	pthread_t thread;
	char verdict = 'c';

	if (publish("killed", &s) != 0)
		verdict = 'f';
	else if (kstat_counter_get(kstat_counter(s.named, "count")) != 0)
		verdict = 'd';
	if (write(report, &verdict, 1) != 1 || verdict != 'c')
		_exit(1);
	if (pthread_create(&thread, NULL, touch_for_ever, &s) != 0)
		_exit(1);
	(void)touch_for_ever(&s);
	_exit(2);
}

static const char *
publishers(kstat_ctl_t *kc, int kills)
{
	int report[2], clean = 0;
	const char *wrong = NULL;
	char verdict;

	if (pipe2(report, O_NONBLOCK) != 0)
		return "pipe";
	for (int i = 0; i < kills && wrong == NULL; i++) {
		pid_t pid = fork();
		int status;

		if (pid < 0)
			return "fork";
		if (pid == 0)
			publisher(report[1]);
		/* Every second one is left to publish first, however busy the machine is. */
		if (i % 2 == 1)
			(void)poll(&(struct pollfd){ .fd = report[0], .events = POLLIN }, 1, 60000);
		pause_randomly(4000000);
		wrong = look(kc);
		if (random() % 2 == 0)
			pause_randomly(1000000);
		(void)kill(pid, SIGKILL);
		/* What was seen a moment ago can still be read, whether its writer is dead or dying. */
		if (wrong == NULL)
			wrong = read_all(kc);
		(void)waitpid(pid, &status, 0);
		if (wrong == NULL)
			wrong = read_all(kc);
		if (wrong == NULL)
			wrong = look_till_empty(kc);
		while (read(report[0], &verdict, 1) == 1) {
			clean += verdict == 'c';
			if (verdict != 'c')
				wrong = verdict == 'd' ? "a publisher found old values" : "a publisher failed";
		}
	}
	if (wrong == NULL && clean < kills / 20)
		wrong = "hardly any publisher got to publish";
	printf("publishers killed %d, of which had published %d\n", kills, clean);
	return wrong;
}

/* --- processes that share records with those that die --------------------------------------------------- */

static struct kstats shared;

/* Interrupts an update: the process becomes another program in the middle of it. */
static void
become_another(int sig)
{
	(void)sig;
	(void)execl("/bin/sleep", "sleep", "1000", (char *)NULL);
	_exit(1);
}

static void
set_alarm(void)
{
	struct itimerval t = { .it_value = { 0, 1 + random() % 1500 } };

	(void)signal(SIGALRM, become_another);
	(void)setitimer(ITIMER_REAL, &t, NULL);
}

/* The ways in which a process that shares the records can be killed. */
enum way { PLAIN, THREADS, EXEC, EXEC_THREADS, NAMESPACE, WAYS };

static void
share(enum way way)
{
	pthread_t thread;

	(void)setpgid(0, 0);
	srandom((unsigned)getpid() ^ (unsigned)gethrtime());
	if (way == NAMESPACE && geteuid() == 0 && unshare(CLONE_NEWPID) == 0) {
		/* The child is process 1 of the new namespace, whose threads have small numbers. */
		if (fork() > 0) {
			for (;;)
				(void)pause();
		}
		}
	if ((way == THREADS || way == EXEC_THREADS) &&
	    pthread_create(&thread, NULL, touch_for_ever, &shared) != 0)
		_exit(1);
	if (way == EXEC || way == EXEC_THREADS)
		set_alarm();
	(void)touch_for_ever(&shared);
	_exit(2);
}

static const char *
survivors(kstat_ctl_t *kc, int kills)
{
	const char *wrong = NULL;
	hrtime_t longest = 0;

	if (publish("shared", &shared) != 0)
		return kstat_errmsg();
	for (int i = 0; i < kills && wrong == NULL; i++) {
		enum way way = (enum way)(i % WAYS);
		pid_t pid = fork();
		hrtime_t start;

		if (pid < 0)
			return "fork";
		if (pid == 0)
			share(way);
		(void)setpgid(pid, pid); /* what it starts dies with it */
		pause_randomly(way == NAMESPACE ? 4000000 : 1500000);
		/* One that has become another program stays alive: its records must be free all the same. */
		if (way != EXEC && way != EXEC_THREADS)
			(void)kill(-pid, SIGKILL);
		/* The dead process is a zombie now and then: nobody has waited for it yet. */
		start = gethrtime();
		wrong = touch(&shared, (uint64_t)i);
		/* On a busy machine it may not get to die within the second that updates wait. */
		if (wrong != NULL && errno == EAGAIN && gethrtime() - start > 1000000000LL)
			wrong = NULL;
		if (gethrtime() - start > longest)
			longest = gethrtime() - start;
		if (way == EXEC || way == EXEC_THREADS)
			pause_randomly(1500000);
		if ((way == EXEC || way == EXEC_THREADS) && wrong == NULL)
			wrong = touch(&shared, (uint64_t)i);
		(void)kill(-pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		if (wrong == NULL)
			wrong = touch(&shared, (uint64_t)i);
		if (wrong == NULL)
			wrong = look(kc);
	}
	if (wrong == NULL && kc->kc_chain == NULL)
		wrong = "the survivor's kstats left the chain";
	printf("survived %d, longest wait %.1f ms\n", kills, (double)longest / 1e6);
	return wrong;
}

/* --- a process that becomes another program in the very middle of an update ----------------------------- */

/* Locks each record as an update does, and goes away by exec(), or by a signal in another PID namespace. */
static const char *
in_the_middle(bool space)
{
	const char *wrong = NULL;
	ks_word *word[] = { (ks_word *)kstat_ioq(shared.io), (ks_word *)kstat_etimer(shared.timers, NULL) };

	for (int i = 0; i < 2 && wrong == NULL; i++) {
		pid_t pid = fork();
		int status, tries = 0;

		if (pid < 0)
			return "fork";
		/* The first process of the namespace would ignore its own signal: the second dies. */
		if (pid == 0 && space && unshare(CLONE_NEWPID) == 0 && ((pid = fork()) > 0 || (pid = fork()) > 0))
			_exit(waitpid(pid, &status, 0) < 0);
		if (pid == 0) {
			(void)ks_word_lock(word[i]);
			if (space)
				(void)raise(SIGKILL);
			become_another(0);
		}
		while ((atomic_load(word[i]) & KS_WORD_OWNER) == 0 && tries++ < 10000)
			(void)nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		wrong = touch(&shared, (uint64_t)i);
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, 0);
	}
	return wrong;
}

int
main(int argc, char **argv)
{
	int kills = argc > 1 ? atoi(argv[1]) : 100;
	kstat_ctl_t *kc = ks_chain_open_source(ks_source_segment_open(), NULL);
	const char *wrong;

	srandom((unsigned)getpid());
	wrong = publishers(kc, kills);
	if (wrong == NULL)
		wrong = survivors(kc, kills / 2);
	if (wrong == NULL && in_the_middle(false) != NULL)
		wrong = "exec() in the middle of an update locked a record";
	if (wrong == NULL && geteuid() == 0 && in_the_middle(true) != NULL)
		wrong = "a death in another PID namespace locked a record";
	printf("complete %llu busy %llu gone %llu lingering %llu slowest %.1f ms\n",
	    (unsigned long long)complete, (unsigned long long)busy, (unsigned long long)gone,
	    (unsigned long long)lingering, (double)slowest / 1e6);
	printf("%s\n", wrong == NULL ? "sound" : wrong);
	(void)kstat_close(kc);
	return wrong != NULL;
}
