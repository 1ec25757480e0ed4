/*
 * screen.c - a full-screen program's terminal: frames are drawn on it, and keys are read from it.
 *
 * Frames that a slow terminal has not taken must not queue up, and a terminal may lie behind buffers that no system
 * call shows: a pty, ssh, a multiplexer. So each frame ends with a question, the status report that every terminal
 * since the VT100 answers, and the next frame is drawn when the answer is there. A terminal that did not answer within
 * a second of the first question gets no more of them: then the queue that the kernel shows decides. One that did
 * answer is waited for; because an answer can get lost, the question alone is repeated now and then.
 *
 * No write waits, so that keys and signals are obeyed: what the terminal does not take stays in `bytes` and is
 * written when it can be, while the script waits for keys. SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/frame.h"
#include "lua/compat.h"
#include "lua/core.h"
#include "lua/error.h"
#include "lua/terminal.h"
#include "lua/wait.h"

#define SCREEN "kstat.screen"
#define QUESTION "\033[5n"
#define ANSWER "\033[0n"
#define ANSWER_SIZE (sizeof(ANSWER) - 1)
#define ANSWERS_NEVER_NS KS_NANOSEC    /* after the first question */
#define ASK_AGAIN_NS (10 * KS_NANOSEC) /* one that has answered before */
#define LOOK_NS (KS_NANOSEC / 50)      /* between two looks at the kernel's queue */
#define REST_NS (KS_NANOSEC / 20)      /* for the rest of an answer, of which a key may be the first byte */
#define PIECE 256                      /* bytes that are written at once where a write may wait */

struct screen {
	int fd;     /* keys; -1: closed */
	int out;    /* frames; standard output if that terminal cannot be opened once more */
	bool owned; /* fd is to be closed */
	bool utf8;
	char enter[KS_TERMINAL_LEAVE_MAX];
	size_t enter_size;
	char leave[KS_TERMINAL_LEAVE_MAX];
	size_t leave_size;
	struct ks_frame shown, next;
	struct ks_buf bytes; /* for the terminal */
	size_t written;      /* of them */
	bool known;          /* it shows `shown`, once all bytes are written */
	bool refused;        /* a frame was, as long as it is busy */
	bool answers, never; /* neither: it has not been asked for long enough */
	hrtime_t asked_at;
	size_t matched;      /* bytes of an answer that were read */
	hrtime_t matched_at;
};

static struct screen *
check_screen(lua_State *L)
{
	struct screen *s = luaL_checkudata(L, 1, SCREEN);

	luaL_argcheck(L, s->fd >= 0, 1, "the screen is closed");
	return s;
}

/* Pushes a screen that is closed. */
static struct screen *
new_screen(lua_State *L)
{
	struct screen *s = ks_lua_newuserdata(L, sizeof(*s));

	s->fd = s->out = -1;
	ks_lua_setmetatable(L, SCREEN);
	return s;
}

/* --- frames ------------------------------------------------------------------------------------- */

static void
check_lines(lua_State *L, int t)
{
	int n;

	luaL_checktype(L, t, LUA_TTABLE);
	n = (int)ks_lua_rawlen(L, t);
	for (int i = 1; i <= n; i++) {
		lua_rawgeti(L, t, i);
		luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, t, "lines must be strings");
		lua_pop(L, 1);
	}
}

static void
fill_frame(lua_State *L, int t, struct ks_frame *f, int columns, int rows, bool utf8)
{
	int n = (int)ks_lua_rawlen(L, t);

	if (!ks_frame_clear(f, columns, rows))
		luaL_error(L, "not enough memory");
	for (int row = 0; row < n && row < rows; row++) {
		size_t len;
		const char *line;

		lua_rawgeti(L, t, row + 1);
		line = lua_tolstring(L, -1, &len);
		ks_frame_line(f, row, line, len, utf8);
		lua_pop(L, 1);
	}
}

static int
check_size(lua_State *L, int i, int most)
{
	lua_Integer n = ks_lua_checkinteger(L, i);

	luaL_argcheck(L, n >= 1 && n <= most, i, "no size of a window");
	return (int)n;
}

/*
 * frame(lines, before, columns, rows[, utf8]) -> the bytes that turn a window that shows the lines `before` into one
 * that shows `lines`; before nil: nothing is known about it. utf8 false: the terminal has ASCII only.
 */
static int
frame(lua_State *L)
{
	int columns = check_size(L, 3, KS_TERMINAL_COLUMNS), rows = check_size(L, 4, KS_TERMINAL_ROWS);
	bool known = !lua_isnoneornil(L, 2), utf8 = lua_isnoneornil(L, 5) || lua_toboolean(L, 5);
	struct screen *s;

	check_lines(L, 1);
	if (known)
		check_lines(L, 2);
	s = new_screen(L);
	fill_frame(L, 1, &s->next, columns, rows, utf8);
	if (known)
		fill_frame(L, 2, &s->shown, columns, rows, utf8);
	ks_frame_update(&s->bytes, &s->next, known ? &s->shown : NULL);
	if (s->bytes.failed)
		return luaL_error(L, "not enough memory");
	lua_pushlstring(L, s->bytes.len > 0 ? s->bytes.data : "", s->bytes.len);
	return 1;
}

/* --- what the terminal takes ---------------------------------------------------------------------- */

static bool
has_rest(const struct screen *s)
{
	return s->written < s->bytes.len;
}

/* Writes what the terminal takes without waiting, unless a handler gave it back. False: it is gone. */
static bool
write_rest(struct screen *s)
{
	while (has_rest(s) && ks_terminal_entered()) {
		size_t n = s->bytes.len - s->written;
		ssize_t done;

		if (s->out == STDOUT_FILENO) {
			struct pollfd p = { .fd = s->out, .events = POLLOUT };

			if (poll(&p, 1, 0) == 0)
				return true;
			n = n < PIECE ? n : PIECE;
		}
		done = write(s->out, s->bytes.data + s->written, n);
		if (done < 0 && errno == EAGAIN)
			return true;
		if (done < 0 && errno != EINTR)
			return false;
		s->written += done > 0 ? (size_t)done : 0;
		s->asked_at = gethrtime();
	}
	return true;
}

static void
ask(struct screen *s)
{
	ks_buf_adds(&s->bytes, QUESTION);
	ks_terminal_asked = s->answers ? KS_TERMINAL_ANSWERS : 1;
}

/* Returns whether the terminal can take a frame, as far as is known now. */
static bool
is_ready(struct screen *s)
{
	int queued = 0;

	if (!ks_terminal_entered() || has_rest(s))
		return false;
	if (ks_terminal_asked && s->answers) {
		if (gethrtime() - s->asked_at >= ASK_AGAIN_NS) {
			ask(s);
			(void)write_rest(s);
		}
		return false;
	}
	if (ks_terminal_asked) {
		if (gethrtime() - s->asked_at < ANSWERS_NEVER_NS)
			return false;
		s->never = true;
		ks_terminal_asked = 0;
	}
	return !s->never || ioctl(s->out, TIOCOUTQ, &queued) != 0 || queued == 0;
}

/* The time at which read() looks again without an event. */
static hrtime_t
next_look(const struct screen *s, hrtime_t deadline)
{
	hrtime_t at = deadline;

	if (s->refused && !has_rest(s) && ks_terminal_entered()) {
		if (ks_terminal_asked)
			at = s->asked_at + (s->answers ? ASK_AGAIN_NS : ANSWERS_NEVER_NS);
		else
			at = gethrtime() + LOOK_NS;
	}
	if (s->matched > 0 && s->matched_at + REST_NS < at)
		at = s->matched_at + REST_NS;
	return at < deadline ? at : deadline;
}

/*
 * screen:draw(lines) -> bytes that were written | nil, why. The lines are the whole frame, from the top. why: "busy",
 * the terminal has not taken the frame before: draw when read() says "ready"; or "closed": it is gone.
 */
static int
screen_draw(lua_State *L)
{
	struct screen *s = check_screen(L);
	struct ks_frame before = s->shown;
	int columns, rows;

	check_lines(L, 2);
	s->refused = !is_ready(s);
	if (s->refused) {
		lua_pushnil(L);
		lua_pushliteral(L, "busy");
		return 2;
	}
	ks_terminal_size(s->out, &columns, &rows);
	fill_frame(L, 2, &s->next, columns, rows, s->utf8);
	s->known = s->known && before.columns == columns && before.rows == rows;
	ks_buf_reset(&s->bytes);
	s->written = 0;
	ks_frame_update(&s->bytes, &s->next, s->known ? &before : NULL);
	if (s->bytes.len > 0 && !s->never)
		ask(s);
	if (s->bytes.failed) {
		ks_buf_reset(&s->bytes);
		return luaL_error(L, "not enough memory");
	}
	s->shown = s->next;
	s->next = before;
	s->known = true;
	if (!write_rest(s)) {
		lua_pushnil(L);
		lua_pushliteral(L, "closed");
		return 2;
	}
	lua_pushinteger(L, (lua_Integer)s->bytes.len);
	return 1;
}

/* screen:anew(): the next draw assumes nothing about what the terminal shows. */
static int
screen_anew(lua_State *L)
{
	check_screen(L)->known = false;
	return 0;
}

/* --- what is typed ---------------------------------------------------------------------------------- */

/* Takes answers out of what was read; returns how many bytes remain. A beginning of one is kept back. */
static size_t
take_answers(struct screen *s, const char *bytes, size_t n, char *keys)
{
	size_t have = 0;

	for (size_t i = 0; i < n; i++) {
		if (bytes[i] != ANSWER[s->matched]) {
			memcpy(keys + have, ANSWER, s->matched);
			have += s->matched;
			s->matched = 0;
		}
		if (bytes[i] != ANSWER[s->matched]) {
			keys[have++] = bytes[i];
		} else if (++s->matched == ANSWER_SIZE) {
			s->matched = 0;
			s->answers = true;
			s->never = false;
			ks_terminal_asked = 0;
		}
	}
	s->matched_at = gethrtime();
	return have;
}

/* Pushes the keys that were typed, also those that looked like the beginning of an answer for long enough. */
static bool
push_keys(lua_State *L, struct screen *s, const char *keys, size_t n)
{
	if (s->matched > 0 && (!ks_terminal_asked || gethrtime() - s->matched_at >= REST_NS)) {
		lua_pushlstring(L, keys, n);
		lua_pushlstring(L, ANSWER, s->matched);
		lua_concat(L, 2);
		s->matched = 0;
		return true;
	}
	if (n > 0)
		lua_pushlstring(L, keys, n);
	return n > 0;
}

static bool
is_gone(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

static int
push_reason(lua_State *L, const char *why)
{
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

/*
 * screen:read(deadline) -> bytes | nil, why. deadline: nanoseconds of gethrtime(). why: "time", "ready" (a frame was
 * refused, and can be drawn now), "interrupted", "continued" (enter again), "signal" (the window may have another size)
 * or "closed": the terminal is gone.
 */
static int
screen_read(lua_State *L)
{
	struct screen *s = check_screen(L);
	hrtime_t deadline = ks_lua_checkdeadline(L, 2);

	for (;;) {
		struct ks_wait_input in = { .fd = s->fd };
		char keys[sizeof(in.bytes) + ANSWER_SIZE];
		hrtime_t until;
		enum ks_wait why;

		if (!write_rest(s))
			return push_reason(L, "closed");
		if (s->refused && is_ready(s)) {
			s->refused = false;
			return push_reason(L, "ready");
		}
		until = next_look(s, deadline);
		why = ks_wait_files(until, &in, has_rest(s) && ks_terminal_entered() ? s->out : -1);
		if (why == KS_WAIT_INPUT && in.n <= 0) {
			bool is_wrong = in.n < 0 && errno != EINTR && errno != EAGAIN;

			return push_reason(L, is_wrong || is_gone(s->fd) ? "closed" : ks_wait_word(why));
		}
		if (push_keys(L, s, keys, in.n > 0 ? take_answers(s, in.bytes, (size_t)in.n, keys) : 0))
			return 1;
		if (why != KS_WAIT_INPUT && why != KS_WAIT_OUTPUT && (why != KS_WAIT_TIME || until == deadline))
			return push_reason(L, ks_wait_word(why));
	}
}

/* --- its life ----------------------------------------------------------------------------------------- */

/*
 * screen:enter() -> true | nil, message, errno. The terminal gives every key at once and shows
 * none; the text for entering is written. Also where the terminal is entered already: after the process
 * was stopped, somebody else may have changed it, and the next frame is a whole one.
 */
static int
screen_enter(lua_State *L)
{
	struct screen *s = check_screen(L);

	if (ks_terminal_enter(s->fd, s->out, s->leave, s->leave_size) != 0)
		return ks_lua_failerrno(L, errno, "the terminal");
	ks_terminal_asked = 0;
	s->known = false;
	s->matched = 0;
	ks_buf_reset(&s->bytes);
	ks_buf_add(&s->bytes, s->enter, s->enter_size);
	s->written = 0;
	(void)write_rest(s);
	lua_pushboolean(L, 1);
	return 1;
}

/* screen:close(), also its __gc and __close: the terminal is as it was before. */
static int
screen_close(lua_State *L)
{
	struct screen *s = luaL_checkudata(L, 1, SCREEN);

	if (s->fd >= 0) {
		ks_terminal_leave();
		if (s->owned)
			(void)close(s->fd);
		if (s->out != STDOUT_FILENO)
			(void)close(s->out);
		s->fd = s->out = -1;
	}
	ks_frame_free(&s->shown);
	ks_frame_free(&s->next);
	ks_buf_free(&s->bytes);
	return 0;
}

/*
 * screen(enter, leave[, utf8]) -> screen | nil, message, errno. The terminal of standard input, or, if that
 * is none, of the process. enter and leave: what is written to standard output when it is entered and when it is
 * closed, at most 64 bytes each. utf8 false: it shows ASCII only.
 */
static int
screen_open(lua_State *L)
{
	size_t enter_size, leave_size;
	const char *enter = luaL_checklstring(L, 1, &enter_size);
	const char *leave_text = luaL_checklstring(L, 2, &leave_size);
	bool utf8 = lua_isnoneornil(L, 3) || lua_toboolean(L, 3);
	struct screen *s;

	luaL_argcheck(L, enter_size <= sizeof(s->enter), 1, "too long");
	luaL_argcheck(L, leave_size <= sizeof(s->leave), 2, "too long");
	s = new_screen(L);
	memcpy(s->enter, enter, enter_size);
	s->enter_size = enter_size;
	memcpy(s->leave, leave_text, leave_size);
	s->leave_size = leave_size;
	s->utf8 = utf8;
	s->owned = !isatty(STDIN_FILENO);
	s->fd = s->owned ? open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY) : STDIN_FILENO;
	if (s->fd < 0)
		return ks_lua_failerrno(L, errno, "no terminal to read keys from");
	/* Others use standard output, too: it cannot be changed so that its writes do not wait. */
	if (isatty(STDOUT_FILENO))
		s->out = open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (s->out < 0)
		s->out = STDOUT_FILENO;
	return 1;
}

void
ks_lua_add_screen(lua_State *L)
{
	static const luaL_Reg methods[] = {
		{ "enter", screen_enter },
		{ "close", screen_close },
		{ "read", screen_read },
		{ "draw", screen_draw },
		{ "anew", screen_anew },
		{ NULL, NULL }
	};

	ks_lua_newtype(L, SCREEN, screen_close, NULL, methods);
	ks_lua_setfunction(L, "screen", screen_open);
	ks_lua_setfunction(L, "frame", frame);
}
