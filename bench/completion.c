/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The completion for bash, from the tables of commands, options, variables and
 * probes. `fivestage list completion` prints it; the build keeps it as a file,
 * and a test compares the two and asks it for words.
 */
#include "bench/generate.h"
#include <string.h>

/* "a|b" as "a b", each with `tail`. */
static void words(FILE *f, const char *list, const char *tail)
{
	while (list && *list) {
		size_t n = strcspn(list, "|");

		fprintf(f, "%.*s%s ", (int)n, list, tail);
		list += n + (list[n] == '|');
	}
}

static void commands(FILE *f)
{
	fputs("_fivestage_commands=\"", f);
	for (const struct command *c = fs_commands; c->name; c++)
		if (c->brief)
			fprintf(f, "%s ", c->name);
	fputs("--help --version\"\n\n# COMMAND: its options\n_fivestage_options() {\n\tcase $1 in\n", f);
	for (const struct command *c = fs_commands; c->name; c++) {
		if (!c->brief)
			continue;
		fprintf(f, "\t%s) echo \"", c->name);
		for (const struct option_row *o = fs_options; o->name; o++)
			if (c->accepts & o->accept)
				fprintf(f, "%s ", o->name);
		fputs("--help\" ;;\n", f);
	}
	fputs("\tesac\n}\n\n# COMMAND: words that it takes; \"configs\" are files\n_fivestage_words() {\n\tcase $1 in\n", f);
	for (const struct command *c = fs_commands; c->name; c++)
		if (c->brief && c->words)
			fprintf(f, "\t%s) echo \"%s\" ;;\n", c->name, c->words);
	fputs("\tesac\n}\n\n# COMMAND: does it take NAME=VALUE?\n_fivestage_settings() {\n\tcase $1 in\n", f);
	for (const struct command *c = fs_commands; c->name; c++)
		if (c->brief && (c->accepts & ACCEPT_SETTINGS))
			fprintf(f, "\t%s) return 0 ;;\n", c->name);
	fputs("\tesac\n\treturn 1\n}\n\n", f);
}

/* What stands for the marks of an option is what the variable of that name takes. */
static void option_values(FILE *f)
{
	fputs("# OPTION: what completes its value; nothing: it has none\n_fivestage_value() {\n\tcase $1 in\n", f);
	for (const struct option_row *o = fs_options; o->name; o++) {
		int v = fs_var_find(o->name + strspn(o->name, "-"));

		if (!o->value)
			continue;
		fprintf(f, "\t%s) echo \"", o->name);
		if (o->fill && !strcmp(o->fill, "mark") && v >= 0)
			words(f, fs_vars[v].pairs, ":");
		else
			fprintf(f, "%s", o->fill && !strcmp(o->fill, "directory") ? o->fill : "nothing");
		fputs("\" ;;\n", f);
	}
	fputs("\tesac\n}\n\n", f);
}

static void variables(FILE *f)
{
	fputs("_fivestage_variables=\"probe ", f);
	for (const struct var *v = fs_vars; v->name; v++)
		fprintf(f, "%s ", v->name);
	fputs("\"\n\n# VARIABLE: its named values\n_fivestage_values() {\n\tcase $1 in\n\tprobe) echo \"", f);
	for (int i = 0; fs_probes[i]; i++)
		fprintf(f, "%s ", fs_probes[i]->name);
	fputs("\" ;;\n", f);
	for (const struct var *v = fs_vars; v->name; v++) {
		if (!v->words && !v->pairs)
			continue;
		fprintf(f, "\t%s) echo \"", v->name);
		words(f, v->words, "");
		words(f, v->pairs, ":");
		fputs("\" ;;\n", f);
	}
	fputs("\tesac\n}\n\n", f);
}

/* bash breaks words at '=' and ':', so they are taken from the line; what is
 * answered begins where bash's word does. */
static const char body[] =
"_fivestage_reply() { # WORDS, PREFIX, what stands before it in this word\n"
"\tlocal w\n"
"\twhile IFS= read -r w; do\n"
"\t\tCOMPREPLY+=(\"$3$w\")\n"
"\tdone < <(compgen -W \"$1\" -- \"$2\")\n"
"}\n"
"\n"
"_fivestage_setting() { # NAME=VALUE[,VALUE...], as far as it is typed\n"
"\tlocal name=${1%%=*} value=${1#*=} before=\n"
"\tif [[ $value == *,* ]]; then\n"
"\t\tbefore=${value%,*},\n"
"\t\tvalue=${value##*,}\n"
"\tfi\n"
"\t[[ $COMP_WORDBREAKS == *=* ]] || before=$name=$before\n"
"\t[[ $value == *:* ]] || _fivestage_reply \"$(_fivestage_values \"$name\")\" \"$value\" \"$before\"\n"
"}\n"
"\n"
"_fivestage_configs() { # PROGRAM, what is typed\n"
"\tlocal w\n"
"\t_fivestage_reply \"$(\"$1\" list configs 2>/dev/null | sed -n 's/^  \\([^ ]*\\.ini\\) .*/\\1/p')\" \"$2\"\n"
"\twhile IFS= read -r w; do\n"
"\t\tCOMPREPLY+=(\"$w\")\n"
"\tdone < <(compgen -f -X '!*.ini' -- \"$2\")\n"
"\twhile IFS= read -r w; do\n"
"\t\tCOMPREPLY+=(\"$w/\")\n"
"\tdone < <(compgen -d -- \"$2\")\n"
"}\n"
"\n"
"_fivestage() {\n"
"\tlocal line=${COMP_LINE:0:COMP_POINT} cur= cmd fill words\n"
"\tCOMPREPLY=()\n"
"\tread -ra words <<<\"$line\"\n"
"\tif [[ $line != *[[:space:]] ]]; then\n"
"\t\tcur=${words[-1]}\n"
"\t\tunset 'words[-1]'\n"
"\tfi\n"
"\tif ((${#words[@]} < 2)); then\n"
"\t\t_fivestage_reply \"$_fivestage_commands\" \"$cur\"\n"
"\t\treturn\n"
"\tfi\n"
"\tcmd=${words[1]}\n"
"\tfill=$(_fivestage_value \"${words[-1]}\")\n"
"\tif [[ $fill == directory ]]; then\n"
"\t\twhile IFS= read -r line; do\n"
"\t\t\tCOMPREPLY+=(\"$line\")\n"
"\t\tdone < <(compgen -d -- \"$cur\")\n"
"\t\tcompopt -o filenames 2>/dev/null\n"
"\t\treturn\n"
"\telif [[ $fill == nothing ]]; then\n"
"\t\treturn\n"
"\telif [[ -n $fill ]]; then\n"
"\t\t_fivestage_reply \"$fill\" \"$cur\"\n"
"\telif [[ $cur == -* ]]; then\n"
"\t\t_fivestage_reply \"$(_fivestage_options \"$cmd\")\" \"$cur\"\n"
"\telif [[ $cur == *=* ]]; then\n"
"\t\t! _fivestage_settings \"$cmd\" || _fivestage_setting \"$cur\"\n"
"\telse\n"
"\t\tfill=$(_fivestage_words \"$cmd\")\n"
"\t\tif [[ $fill == configs ]]; then\n"
"\t\t\t_fivestage_configs \"${words[0]}\" \"$cur\"\n"
"\t\telse\n"
"\t\t\t_fivestage_reply \"$fill\" \"$cur\"\n"
"\t\tfi\n"
"\t\tif _fivestage_settings \"$cmd\"; then\n"
"\t\t\t_fivestage_reply \"${_fivestage_variables// /= }\" \"$cur\"\n"
"\t\tfi\n"
"\tfi\n"
"\tif ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *[=:/] ]]; then\n"
"\t\tcompopt -o nospace 2>/dev/null\n"
"\tfi\n"
"}\n"
"\n"
"complete -F _fivestage fivestage\n";

void completion_print(FILE *f)
{
	fputs("# SPDX-License-Identifier: Apache-2.0\n"
	      "# bash completion; generated by `fivestage list completion`: don't edit.\n\n", f);
	commands(f);
	option_values(f);
	variables(f);
	fputs(body, f);
}
