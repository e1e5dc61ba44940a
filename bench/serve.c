/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child's side: one message a line (harness/child.h).
 *
 *   {"op":"scout"}                                   machine as JSON
 *   {"op":"lend","device":,"bytes":}                 {"handle":"..."} of GPU memory, or a "done"; from
 *       a child that borrows it, which this one is a child of then
 *   {"op":"run","id":,"probe":,"vars":{},"rep":,"raw":path|null}
 *       any number of {"row":{}}, then {"found":{}}, then
 *       {"done":0 | -errno,"reason":"..."}
 *
 * Ends when the parent closes the pipe, and dies with the parent (harness/child.c).
 */
#include "bench/bench.h"
#include "stages/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int send_new(json_t *j)
{
	int err = j ? child_up_send(j) : -ENOMEM;

	json_decref(j);
	return err;
}

static int send_done(int err, const char *reason)
{
	return send_new(json_pack("{s:i,s:o}", "done", err, "reason", wire_text(reason)));
}

static int serve_scout(void)
{
	struct machine m;
	int err;

	memset(&m, 0, sizeof m);
	err = suite_scout(&m);
	if (err && !m.gpu_reason[0])
		snprintf(m.gpu_reason, sizeof m.gpu_reason, "%s", fs_reason());
	return send_new(machine_to_json(&m));
}

static int serve_lend(const json_t *msg)
{
	json_int_t bytes = json_integer_value(json_object_get(msg, "bytes"));
	json_t *j = bytes > 0 ? suite_lend((int)json_integer_value(json_object_get(msg, "device")), (size_t)bytes) : NULL;

	if (bytes <= 0)
		fs_fail(EPROTO, "lend: no bytes");
	return j ? send_new(j) : send_done(-EIO, fs_reason());
}

/* The point as the parent sees it: every variable by name. */
static int point_from(const json_t *msg, struct point *pt)
{
	const char *name = json_string_value(json_object_get(msg, "probe")), *key;
	const struct probe *probe = name ? fs_probe_find(name) : NULL;
	json_t *vars = json_object_get(msg, "vars"), *val;

	if (!probe)
		return fs_fail(EPROTO, "asked for a probe that isn't there: %s", name ? name : "none named");
	fs_point_init(pt, probe);
	json_object_foreach(vars, key, val) {
		int err = fs_point_set(pt, key, json_is_string(val) ? json_string_value(val) : "");

		if (err)
			return err;
	}
	fs_point_id(pt);
	return 0;
}

static int send_results(const struct rows *rs)
{
	json_t *found = json_object();
	int err = 0;

	for (size_t i = 0; i < rs->n && !err; i++)
		err = send_new(json_pack("{s:o}", "row", row_to_json(&rs->row[i])));
	for (int i = 0; i < rs->nfound; i++)
		json_object_set_new(found, rs->found[i].name, wire_text(rs->found[i].text));
	return err ? (json_decref(found), err) : send_new(json_pack("{s:o}", "found", found));
}

static int serve_run(const json_t *msg)
{
	const char *raw = json_string_value(json_object_get(msg, "raw"));
	struct point *pt = calloc(1, sizeof *pt);
	struct rows rs;
	int err, sent;

	rows_init(&rs);
	fs_reason_clear();
	err = pt ? point_from(msg, pt) : fs_fail(ENOMEM, "out of memory");
	if (!err && raw) {
		rs.raw = fopen(raw, "w");
		if (!rs.raw)
			err = fs_fail(errno, "%s: %s", raw, strerror(errno));
	}
	if (!err)
		err = fs_probe_run(pt, &rs);
	if (rs.raw) {
		FILE *f = rs.raw;
		int bad = ferror(f);

		if ((fclose(f) || bad) && !err)
			err = fs_fail(EIO, "%s: not written whole", raw);
		rs.raw = NULL;
	}
	sent = send_results(&rs);
	if (!sent)
		sent = send_done(err, err ? fs_reason() : "");
	rows_free(&rs);
	free(pt);
	return sent;
}

int cmd_serve(int argc, char **argv)
{
	json_t *msg;
	int err = 0;

	(void)argv;
	if (argc != 1)
		return FS_EXIT_USAGE;
	while (!err && !(err = child_up_recv(&msg))) {
		const char *op = json_string_value(json_object_get(msg, "op"));

		if (op && !strcmp(op, "scout"))
			err = serve_scout();
		else if (op && !strcmp(op, "lend"))
			err = serve_lend(msg);
		else if (op && !strcmp(op, "run"))
			err = serve_run(msg);
		else
			err = send_done(-EPROTO, "no such operation");
		json_decref(msg);
	}
	/* The parent has hung up: that is how this ends. */
	return err == -EPIPE ? FS_EXIT_OK : FS_EXIT_FAILED;
}
