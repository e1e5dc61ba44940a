/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mechanism cuda-ipc: memory of another process is opened and closed again. The other
 * process is a child of this one, the program itself, which allocates the memory and lends it until it is hung up on.
 */
#include "harness/child.h"
#include "harness/err.h"
#include "stages/suite.h"
#include "stages/translation/register.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LEND_S 60.0 /* that the other process may take: it initialises CUDA */
#define END_S 5.0

static struct { struct child child; unsigned char handle[IPC_HANDLE]; } owner = { .child = { .pid = -1 } };

/* ---- the owner's side ---- */

json_t *suite_lend(int device, size_t bytes)
{
	unsigned char handle[IPC_HANDLE];
	char hex[2 * IPC_HANDLE + 1];

	if (ipc_own(device, bytes, handle))
		return NULL;
	for (int i = 0; i < IPC_HANDLE; i++)
		snprintf(hex + 2 * i, 3, "%02x", handle[i]);
	return json_pack("{s:s}", "handle", hex);
}

/* ---- the borrower's ---- */

static int handle_of(const json_t *reply, unsigned char handle[IPC_HANDLE])
{
	const char *hex = json_string_value(json_object_get(reply, "handle")), *why = json_string_value(json_object_get(reply, "reason"));

	if (!hex || strlen(hex) != 2 * IPC_HANDLE)
		return fs_fail(EIO, "the process that was to lend memory: %s", why && *why ? why : "it sent no handle");
	for (int i = 0; i < IPC_HANDLE; i++) {
		unsigned v;

		if (sscanf(hex + 2 * i, "%2x", &v) != 1)
			return fs_fail(EPROTO, "the process that lends memory sent \"%.20s...\" as its handle", hex);
		handle[i] = (unsigned char)v;
	}
	return 0;
}

static int ipc_open(struct reg *r)
{
	char *argv[] = { "fivestage", "serve", NULL };
	json_t *msg, *reply = NULL;
	int rc = ipc_use(r);

	if (rc || (rc = child_start(&owner.child, argv)))
		return rc;
	msg = json_pack("{s:s,s:i,s:I}", "op", "lend", "device", r->device, "bytes", (json_int_t)r->bytes);
	rc = msg ? child_send(&owner.child, msg) : fs_fail(ENOMEM, "no memory for a message");
	json_decref(msg);
	if (!rc)
		rc = child_recv(&owner.child, LEND_S, &reply);
	if (!rc)
		rc = handle_of(reply, owner.handle);
	else if (rc == -ETIMEDOUT || rc == -EPIPE)
		fs_fail(-rc, "the process that was to lend memory %s", rc == -ETIMEDOUT ? "didn't in 60 s" : "has ended");
	json_decref(reply);
	return rc;
}

static int ipc_make(struct reg *r)
{
	return ipc_map(owner.handle, &r->p);
}

static int ipc_undo(struct reg *r)
{
	return ipc_unmap(r->p);
}

static int ipc_verify(struct reg *r)
{
	return ipc_look(r->p, r->device, r->bytes);
}

static void ipc_close(struct reg *r)
{
	char how[128];

	(void)r;
	if (owner.child.pid < 0)
		return;
	child_hang_up(&owner.child, 0);
	child_end(&owner.child, END_S, how, sizeof(how));
}

const struct mech_ops mech_cuda_ipc = { ipc_open, ipc_make, ipc_undo, ipc_verify, ipc_close };
