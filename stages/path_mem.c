/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a queue: rings, record, doorbell, keys, payload slots, and what
 * the agents write their marks to. Owned by the point, set up before anything
 * runs, freed after everything has stopped.
 */
#include "harness/err.h"
#include "stages/path.h"
#include "stages/path_layout.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 64, MR_SEED = 20 };

static uint64_t round_up(uint64_t x, uint64_t to) { return (x + to - 1) / to * to; }

/* Messages between two flushes: enough that a drain is rare beside the depth, few
 * where one message takes a millisecond. */
static uint32_t block_of(const struct path_conf *c)
{
	uint32_t b = c->size > BLOCK_LARGE ? 8 : 128;

	while (b < 2 * c->depth && b < 2048)
		b *= 2;
	return b;
}

size_t path_db_bytes(const struct path_conf *c)
{
	size_t ring = ((size_t)1 << c->log_n) * CQE_SIZE, lines = (size_t)(c->lines - 1) * DB_STRIDE + LINE;

	return ring > lines ? ring : lines;
}

uint64_t path_line_share(const struct path_conf *c, uint64_t messages, uint32_t k)
{
	return messages * (k + 1) / c->lines - messages * k / c->lines;
}

uint8_t *path_db(const struct path_mem *m) { return m->db.p + (size_t)m->line * DB_STRIDE; }
uint8_t *path_tables(const struct path_mem *m) { return m->keys.p + m->line * m->tables; }

/* splitmix64: Steele, Lea, Flood, 2014. */
static uint64_t mixed(uint64_t z)
{
	z = (z + MR_SEED) * 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

uint32_t path_mr_of(const struct path_conf *c, uint64_t slot)
{
	return (uint32_t)((c->mr_random ? mixed(slot) : slot) % c->mr_count);
}

uint32_t path_key(const struct path_conf *c, int remote, uint32_t mr)
{
	return remote ? (1 + c->mr_count + mr) << 8 | PATH_RTAG : (1 + mr) << 8 | PATH_LTAG;
}

/* Of one side; both sides are laid out alike. */
uint64_t path_translations(const struct path_conf *c)
{
	uint64_t pages = ((c->slots * c->stride - 1) >> c->page_shift) + 1, n = 0;

	if (c->mr_count == 1)
		return pages;
	for (uint64_t i = 0; i < c->slots; i++) {
		uint64_t k = 0;

		while (k < i && (path_mr_of(c, k) != path_mr_of(c, i) ||
				 k * c->stride >> c->page_shift != i * c->stride >> c->page_shift))
			k++;
		n += k == i;
	}
	return n;
}

/* Keys and page entries for both ranges (each region has its own of the whole range), the word
 * that goes up when one is taken back, then the engine's scratch; all of it once for each line. */
static int keys_init(struct path_mem *m, const struct path_conf *c)
{
	uint64_t bytes = c->slots * c->stride, page = 1ull << c->page_shift;
	uint64_t pages = round_up(bytes, page) >> c->page_shift;
	int rd = c->op == WQE_READ;
	const struct buf *local = rd ? &m->dst : &m->src, *remote = rd ? &m->src : &m->dst;
	struct mkey *k;
	uint64_t *pte;
	uint8_t *tmp;
	int rc;

	m->nptes = (uint32_t)(2 * pages * c->mr_count);
	m->nkeys = 1 + 2 * c->mr_count;
	m->xlat_pages = (uint32_t)((c->size >> c->page_shift) + 2);
	m->ptes_off = round_up(m->nkeys * sizeof(struct mkey), LINE);
	m->gen_off = round_up(m->ptes_off + m->nptes * 8ull, LINE);
	m->xlat_off = m->gen_off + LINE;
	m->tables = round_up(m->xlat_off + 2ull * m->xlat_pages * 8, 4096) + LINE;
	rc = place_alloc(&m->keys, c->place[OBJ_KEYS], m->tables * c->lines, 4096, c->pinned);
	if (rc)
		return rc;
	tmp = calloc(1, m->xlat_off);
	if (!tmp)
		return fs_fail(ENOMEM, "no memory for key tables");
	k = (struct mkey *)tmp;
	pte = (uint64_t *)(tmp + m->ptes_off);
	for (uint32_t i = 0; i < 2 * c->mr_count; i++) {
		int far = i >= c->mr_count;
		const struct buf *b = far ? remote : local;
		uint32_t key = path_key(c, far, far ? i - c->mr_count : i);
		uint32_t rights = far ? MKEY_REMOTE_READ | MKEY_REMOTE_WRITE : MKEY_LOCAL_READ | MKEY_LOCAL_WRITE;

		k[key >> 8].id = pair32(key, MKEY_VALID | rights | c->page_shift << MKEY_SHIFT_BIT);
		k[key >> 8].start = (uint64_t)b->p;
		k[key >> 8].len = bytes;
		k[key >> 8].pages = pair32((uint32_t)(i * pages), (uint32_t)pages);
		for (uint64_t j = 0; j < pages; j++)
			pte[i * pages + j] = ((uint64_t)b->p + (j << c->page_shift)) | PTE_PRESENT;
	}
	for (uint32_t k = 0; !rc && k < c->lines; k++)
		rc = place_write(&m->keys, k * m->tables, tmp, m->xlat_off);
	free(tmp);
	return rc;
}

int path_mem_init(struct path_mem *m, const struct path_conf *c)
{
	uint64_t n = 1ull << c->log_n, page = 1ull << c->page_shift;
	uint64_t bytes = round_up(c->slots * c->stride, page);
	int issuer = c->issuer_gpu >= 0 ? c->issuer_gpu : PLACE_HOST, rc;

	memset(m, 0, sizeof(*m));
	m->event = -1;
	m->block = block_of(c);
	m->record_off = n * WQEBB;
	/* what the NIC's ring of marks has to hold: the measured messages, wherever
	 * the warm-up ended */
	m->keep = (uint32_t)(round_up(c->messages, m->block) + m->block);
	if (c->metric == METRIC_RATE && c->marks == MARKS_OUTER)
		m->keep = m->block;
	if ((rc = place_alloc(&m->queue, c->place[OBJ_QUEUE], m->record_off + LINE, 4096, c->pinned)) ||
	(rc = place_kept(&m->db, "doorbell", c->place[OBJ_DB], path_db_bytes(c), 4096, c->pinned)) ||
	(rc = place_kept(&m->cq, "cq", c->place[OBJ_CQ], n * CQE_SIZE, 4096, c->pinned)) ||
	(c->registration != REGISTERED_PERSISTENT && (rc = source_init(m, c))) ||
	(c->registration != REGISTERED_ON_DEMAND && (rc = place_alloc(&m->src, c->place[OBJ_SRC], bytes, page, c->pinned))) ||
	(rc = place_alloc(&m->dst, c->place[OBJ_DST], bytes, page, c->pinned)) ||
	(rc = keys_init(m, c)) ||
	(rc = place_alloc(&m->home, issuer, LINE, 4096, c->pinned)) ||
	(rc = place_alloc(&m->fresh, issuer, c->fresh + LINE, 4096, c->pinned)) ||
	(rc = place_alloc(&m->issuer_marks, issuer, (uint64_t)m->keep * ISSUER_SLOTS * 8, 4096, c->pinned)) ||
	(rc = place_alloc(&m->issuer_pairs, issuer, (c->messages / m->block + 3) * sizeof(struct clock_pair), 4096, c->pinned)) ||
	(rc = place_alloc(&m->out, issuer, sizeof(struct issue_out), 4096, c->pinned)) ||
	(rc = place_alloc(&m->nic_marks, c->place[OBJ_KEYS], (uint64_t)m->keep * NIC_SLOTS * 8, 4096, c->pinned)) ||
	(rc = place_alloc(&m->nic_pairs, c->place[OBJ_KEYS], (uint64_t)m->keep / m->block * sizeof(struct clock_pair), 4096, c->pinned)))
		return rc;
	source_forbid(m);
	if ((rc = path_helper_init(m, c)) || (rc = path_boundary_init(m, c)))
		return rc;
	m->stage = aligned_alloc(LINE, (size_t)m->block * SINK_SLOTS * 8); /* without marks nothing is kept */
	return m->stage ? 0 : fs_fail(ENOMEM, "no memory for marks");
}

void path_mem_term(struct path_mem *m)
{
	struct buf *all[] = { &m->queue, &m->db, &m->cq, &m->src, &m->dst, &m->keys, &m->home, &m->fresh,
			      &m->issuer_marks, &m->issuer_pairs, &m->out, &m->nic_marks, &m->nic_pairs };

	source_term(m); /* it takes back what the tables name */
	path_helper_term(m);
	path_boundary_term(m);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		place_free(all[i]);
	free(m->stage);
	m->stage = NULL;
}

int path_mem_reset(struct path_mem *m, const struct path_conf *c)
{
	uint64_t ci = c->nic->completes ? 0 : ~0ull >> 1; /* null: ahead of everything */
	int rc;

	/* zero: no WQE was ever written, no doorbell rung; 0xff: every CQE invalid */
	if ((rc = place_set(&m->queue, 0)) || (rc = place_set(&m->db, 0)) ||
	    (rc = place_set(&m->cq, 0xff)) || (rc = place_set(&m->out, 0)))
		return rc;
	if ((rc = path_helper_reset(m, c)) || (rc = place_set(&m->home, 0)))
		return rc;
	return place_write(&m->home, 0, &ci, sizeof(ci));
}
