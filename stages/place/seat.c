/* SPDX-License-Identifier: Apache-2.0 */
#include "stages/place/seat.h"
#include "harness/err.h"
#include <errno.h>
#include <stdlib.h>

enum { SMS_MAX = 1024 };

/* The words that both have; else the number. */
static int seat_of(const struct point *pt, const char *variable)
{
	return fs_is(pt, variable, "auto") ? SEAT_AUTO : fs_is(pt, variable, "any") ? SEAT_ANY : (int)fs_num(pt, variable);
}

int seats_sm(const struct point *pt)
{
	int s = seat_of(pt, "sm");

	return s == SEAT_AUTO ? 0 : s;
}

static int has_sm(const struct machine *m, const char *variable, int sm, int device, char *why, size_t len)
{
	int n = m && device >= 0 && device < m->ngpus ? m->gpu[device].sms : 0;

	return sm < 0 || n < 1 || sm < n ? 0 :
	       fs_refuse(ENODEV, why, len, "%s=%d: gpu %d has no such SM; legal: 0..%d", variable, sm, device, n - 1);
}

int seats_resolve(const struct point *pt, const struct machine *m, int issuer_gpu, int nic_gpu, int *sm, int *nic_sm,
		  char *why, size_t len)
{
	int n = fs_is(pt, "nic_sm", "near") ? SEAT_NEAR : fs_is(pt, "nic_sm", "far") ? SEAT_FAR : seat_of(pt, "nic_sm");
	int s = seat_of(pt, "sm"), same = issuer_gpu >= 0 && issuer_gpu == nic_gpu, rc;

	*sm = s;
	*nic_sm = n;
	if (s != SEAT_AUTO && issuer_gpu < 0)
		return fs_refuse(EINVAL, why, len, "sm: a CPU issues; legal: sm=auto, and cpu says which CPU");
	if (n != SEAT_AUTO && nic_gpu < 0)
		return fs_refuse(EINVAL, why, len, "nic_sm: no GPU has the NIC's part; legal: nic_sm=auto");
	if (same && n == SEAT_AUTO)
		*nic_sm = s == SEAT_ANY ? SEAT_ANY : SEAT_NEAR;
	if ((n == SEAT_NEAR || n == SEAT_FAR) && (!same || s == SEAT_ANY))
		return fs_refuse(EINVAL, why, len, "nic_sm=%s is seen from the issuer's SM; legal: with issuer and NIC on one GPU and sm=auto or a number",
				 n == SEAT_NEAR ? "near" : "far");
	if (same && n >= 0 && n == (s == SEAT_AUTO ? 0 : s))
		return fs_refuse(EINVAL, why, len, "sm and nic_sm are both %d: they would share the SM; legal: two different ones", n);
	rc = has_sm(m, "sm", s, issuer_gpu, why, len);
	return rc ? rc : has_sm(m, "nic_sm", n, nic_gpu, why, len);
}

void seats_found(struct rows *out, const struct seat_map *map)
{
	if (!map->sms)
		return;
	rows_found(out, "l2_near_sms", "%u", map->near);
	rows_found(out, "l2_near_ns", "%.0f", map->near_ns);
	rows_found(out, "l2_far_sms", "%u", map->far);
	if (map->far)
		rows_found(out, "l2_far_ns", "%.0f", map->far_ns);
	if (map->nic_near >= 0)
		rows_found(out, "nic_sm", "%s", map->nic_near ? "near" : "far");
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

uint32_t seats_split(const double *ns, uint32_t n, uint8_t *far)
{
	double v[SMS_MAX], wide = 0, limit = 0;
	uint32_t known = 0, count = 0;

	for (uint32_t i = 0; i < n; i++) {
		far[i] = 0;
		if (ns[i] > 0 && known < SMS_MAX)
			v[known++] = ns[i];
	}
	qsort(v, known, sizeof(v[0]), by_value);
	for (uint32_t i = 1; i < known; i++)
		if (v[i] - v[i - 1] > wide && v[i] >= 1.1 * v[i - 1]) {
			wide = v[i] - v[i - 1];
			limit = v[i];
		}
	for (uint32_t i = 0; limit > 0 && i < n; i++)
		count += far[i] = ns[i] >= limit;
	return count;
}
