/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.csv: one line a row of the plan, so a point that stands in two
 * experiments has two lines. Every variable has a column, in table order, with
 * the value that was asked for; what was found instead (for `auto`) belongs to
 * the results. An experiment that varies nothing has empty cells there.
 */
#include "harness/file.h"
#include "harness/plan.h"

void plan_print(const struct plan *p, FILE *f)
{
	char text[160];

	csv_text(f, 1, "point");
	csv_text(f, 0, "experiment");
	csv_text(f, 0, "probe");
	csv_text(f, 0, "varied");
	csv_text(f, 0, "value");
	for (int v = 0; fs_vars[v].name; v++)
		csv_text(f, 0, fs_vars[v].name);
	csv_end(f);
	for (int i = 0; i < p->nrows; i++) {
		const struct plan_row *r = &p->row[i];
		const struct point *pt = &p->point[r->point].pt;

		csv_text(f, 1, pt->id);
		csv_text(f, 0, p->exp[r->experiment].name);
		csv_text(f, 0, pt->probe->name);
		csv_text(f, 0, r->varied);
		csv_text(f, 0, r->value);
		for (int v = 0; fs_vars[v].name; v++)
			csv_text(f, 0, fs_var_format(&fs_vars[v], &pt->val[v], text, sizeof(text)));
		csv_end(f);
	}
}

int plan_write(const struct plan *p, const char *dir)
{
	struct outfile o;
	int rc = outfile_open(&o, dir, "plan.csv");

	if (rc)
		return rc;
	plan_print(p, o.f);
	return outfile_commit(&o);
}
