/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where this process is stands in /proc/self/cgroup (cgroups(7)), where that is mounted in
 * /proc/self/mountinfo (proc(5)), what is in its files in the kernel's
 * Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst and scheduler/sched-bwc.rst.
 */
#include "harness/cgroup.h"
#include "harness/sysfile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Version 1 has no word for "no limit" but the largest number of whole pages in a long. */
#define NO_LIMIT (1ull << 62)

/* What is asked of each group, by its folder; found: what is known so far. */
typedef void look(const char *dir, int v2, void *found);

static FILE *open_in(const char *dir, const char *name)
{
	char path[8192];
	int n = snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n < (int)sizeof(path) ? fopen(path, "re") : NULL;
}

/* Is the word in a list with commas? */
static int listed(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; list; list = strchr(list, ',') ? strchr(list, ',') + 1 : NULL)
		if (!strncmp(list, word, n) && (!list[n] || list[n] == ','))
			return 1;
	return 0;
}

/* ---- the groups ---- */

/* Lines "hierarchy:controllers:path"; version 2 is "0::path". To be freed; NULL: in no group. */
static char *group_of_process(const char *root, int v2, const char *controller)
{
	FILE *f = open_in(root, "proc/self/cgroup");
	char *line = NULL, *path = NULL;
	size_t cap = 0;

	while (f && !path && getline(&line, &cap, f) >= 0) {
		char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;

		if (!at || at[1] != '/')
			continue;
		*names++ = *at++ = 0; /* a path may have more colons */
		at[strcspn(at, "\n")] = 0;
		if (v2 ? !strcmp(line, "0") && !*names : listed(names, controller))
			path = strdup(at);
	}
	free(line);
	if (f)
		fclose(f);
	return path;
}

/*
 * The part of a group's path that is below what is mounted, whose own path is `top`: in a
 * container that may be the container's group. A group that isn't below it ("/../a" from
 * outside a namespace) can't be found by name: "", so that what is mounted counts alone. It
 * may limit another group, but a refusal can be read, and a kill can't.
 */
static const char *below(const char *path, const char *top)
{
	size_t n = strcmp(top, "/") ? strlen(top) : 0;
	const char *rest = path + n;

	if (strncmp(path, top, n) || (*rest && *rest != '/') || !strcmp(rest, "/"))
		return "";
	for (const char *p = rest; (p = strstr(p, "/..")); p += 3)
		if (!p[3] || p[3] == '/')
			return "";
	return rest;
}

/* From the group itself up to where its hierarchy is mounted. */
static void look_up(const char *root, const char *mount, const char *rest, int v2, look *see, void *found)
{
	size_t top = strlen(root) + strlen(mount), len = top + strlen(rest) + 1;
	char *dir = malloc(len), *end;

	if (!dir)
		return;
	snprintf(dir, len, "%s%s%s", root, mount, rest);
	for (;;) {
		see(dir, v2, found);
		end = strrchr(dir + top, '/');
		if (!end)
			break;
		*end = 0;
	}
	free(dir);
}

/* In mountinfo blanks and backslashes of a path are three octal digits behind a backslash (proc(5)). */
static void unescape(char *path)
{
	char *to = path;

	for (const char *p = path; *p; p++) {
		if (*p == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' && p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
}

static void look_at_groups(const char *root, int v2, const char *controller, look *see, void *found)
{
	char *path = group_of_process(root, v2, controller), *line = NULL;
	FILE *f = path ? open_in(root, "proc/self/mountinfo") : NULL;
	char top[4096], mount[4096], type[32], options[1024];
	size_t cap = 0;

	while (f && getline(&line, &cap, f) >= 0) {
		const char *dash = strstr(line, " - "); /* behind as many fields as there are */

		if (!dash || sscanf(line, "%*s %*s %*s %4095s %4095s", top, mount) != 2 ||
		    sscanf(dash, " - %31s %*s %1023s", type, options) != 2)
			continue;
		unescape(top);
		unescape(mount);
		if (v2 ? !strcmp(type, "cgroup2") : !strcmp(type, "cgroup") && listed(options, controller))
			look_up(root, mount, below(path, top), v2, see, found);
	}
	free(line);
	if (f)
		fclose(f);
	free(path);
}

/* ---- what is in their files ---- */

/* What the kernel can drop when it needs room; shared and locked memory is in none of these. */
static uint64_t droppable(const char *dir, int v2)
{
	static const char *const v1_names[] = { "total_inactive_file ", "total_active_file ", NULL };
	static const char *const v2_names[] = { "inactive_file ", "active_file ", "slab_reclaimable ", NULL };
	const char *const *names = v2 ? v2_names : v1_names;
	FILE *f = open_in(dir, "memory.stat");
	uint64_t bytes = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		for (int i = 0; names[i]; i++)
			if (!strncmp(line, names[i], strlen(names[i])))
				bytes += strtoull(line + strlen(names[i]), NULL, 10);
	if (f)
		fclose(f);
	return bytes;
}

static void look_at_memory(const char *dir, int v2, void *found)
{
	uint64_t *left = found, limit, used, drop;

	/* "max", -1 and what is no number limit nothing */
	if (sysfile_number(&limit, "%s/%s", dir, v2 ? "memory.max" : "memory.limit_in_bytes") || limit >= NO_LIMIT)
		return;
	if (sysfile_number(&used, "%s/%s", dir, v2 ? "memory.current" : "memory.usage_in_bytes"))
		used = 0;
	drop = droppable(dir, v2);
	used -= drop < used ? drop : used;
	limit -= used < limit ? used : limit;
	*left = limit < *left ? limit : *left;
}

struct cpu_found { struct cgroup_cpu least; int is; };

static void look_at_cpu(const char *dir, int v2, void *found)
{
	struct cpu_found *c = found;
	uint64_t quota = 0, period = 0;
	char text[64];
	int told = !sysfile_line(text, sizeof(text), "%s/%s", dir, v2 ? "cpu.max" : "cpu.cfs_quota_us"); /* "max" and -1: none */
	int limited = told && *text >= '0' && *text <= '9';

	if (limited) {
		char *end;

		quota = strtoull(text, &end, 10);
		if (v2)
			period = strtoull(end, NULL, 10);
		else if (sysfile_number(&period, "%s/cpu.cfs_period_us", dir))
			period = 0;
		limited = told = quota && period;
	} else
		told = told && !strncmp(text, v2 ? "max" : "-1", v2 ? 3 : 2);
	if (told && c->is < 0)
		c->is = 0;
	if (limited && (c->is < 1 || (double)quota / (double)period < (double)c->least.quota_us / (double)c->least.period_us)) {
		c->is = 1;
		c->least.quota_us = quota;
		c->least.period_us = period;
	}
}

/* ---- what is asked ---- */

uint64_t cgroup_memory_left(const char *root)
{
	uint64_t left = UINT64_MAX;

	for (int v2 = 0; v2 <= 1; v2++)
		look_at_groups(root, v2, "memory", look_at_memory, &left);
	return left;
}

int cgroup_cpu_quota(const char *root, struct cgroup_cpu *c)
{
	struct cpu_found found = { .is = -1 };

	for (int v2 = 0; v2 <= 1; v2++)
		look_at_groups(root, v2, "cpu", look_at_cpu, &found);
	*c = found.least;
	return found.is;
}
