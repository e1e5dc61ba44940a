/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of commands and exit codes. --help, the man page (bench/manual.c),
 * the completion (bench/completion.c) and what a command accepts derive from
 * them and from the table of options (bench/options.c).
 */
#include "bench/bench.h"
#include <string.h>

const struct command fs_commands[] = {
	{
		.name = "run", .run = cmd_run,
		.accepts = ACCEPT_DIR | ACCEPT_REPEAT | ACCEPT_SEED | ACCEPT_RAW | ACCEPT_DRY_RUN | ACCEPT_RESUME |
			   ACCEPT_TIMEOUT | ACCEPT_CROSS | ACCEPT_WORDS | ACCEPT_SETTINGS,
		.usage = "[CONFIG.ini ...] [OPTIONS] [NAME=VALUE[,VALUE...]]...",
		.brief = "measure",
		.words = "configs",
		.text = "Measures the points of the configs, or of the settings; without either, those of "
			"the shipped default.ini. A config is looked for as it is named and then among the "
			"shipped ones (`fivestage list configs`). NAME=V1,V2 varies that variable, also as "
			"8..1M*2 or 1..8+1; probe=NAME chooses what is measured.\n"
			"\n"
			"Results are a directory of files, each of them whole or not there. The table on "
			"stdout is a summary. When a run is interrupted or killed, --resume goes on with it: "
			"it measures the points that are missing and, once more, those that failed; what "
			"else stands is kept as it is. It takes what to measure, --seed, --repeat and --raw "
			"from the directory; where they are given they must be the same, and so must "
			"program, GPUs, CPU and the CPUs it may use.",
	},
	{
		.name = "list", .run = cmd_list,
		.accepts = ACCEPT_MARKDOWN | ACCEPT_WORDS,
		.usage = "[variables|probes|nics|stages|configs] [--markdown]",
		.brief = "print what there is",
		.words = "variables probes nics stages configs",
		.text = "Prints what there is; all of it without an argument.",
	},
	{
		.name = "validate", .run = cmd_validate,
		.accepts = ACCEPT_DIR | ACCEPT_REPEAT | ACCEPT_SEED | ACCEPT_TIMEOUT | ACCEPT_NS | ACCEPT_UNTOLD |
			   ACCEPT_SETTINGS,
		.usage = "[OPTIONS] [NAME=VALUE]...",
		.brief = "is the attribution right?",
		.text = "Plants a known wait at each mark of the issuer and the NIC in turn, and checks that "
			"it comes back in its own interval, in size, and nowhere else. Settings are those of "
			"the probe path; without any: nic=soft, and issuer=gpu where there is a GPU, else cpu. "
			"Writes validate.csv beside the files of a run. Exit code 6 when anything is off.",
	},
	{ .name = "serve", .run = cmd_serve },
	{ .name = NULL },
};

const struct exit_row fs_exits[] = {
	{ FS_EXIT_OK, "fine" },
	{ FS_EXIT_FAILED, "a point failed, or a file could not be written" },
	{ FS_EXIT_USAGE, "usage or config error, nothing written" },
	{ FS_EXIT_REFUSED, "refused before anything ran" },
	{ FS_EXIT_INVALID, "validation failed" },
	{ FS_EXIT_SKIPPED, "everything was skipped" },
	{ FS_EXIT_TIMEOUT, "a wait ran out and nothing was finished" },
	{ 129, "ended by SIGHUP; what is finished stays" },
	{ 130, "ended by SIGINT (Ctrl-C), likewise" },
	{ 143, "ended by SIGTERM, likewise" },
	{ 0, NULL },
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = fs_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}
