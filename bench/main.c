/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: finds the command and hands over. Every command prints its help
 * on --help; what each exit code means stands in harness/err.h and in the help
 * below.
 */
#include "bench/bench.h"
#include "revision.h"
#include <errno.h>
#include <signal.h>
#include <string.h>

static const char help[] =
	"fivestage: takes one GPU-initiated message apart into five stages\n"
	"\n"
	"  fivestage run [CONFIG.ini ...] [-o DIR] [NAME=VALUE[,VALUE...]]...   measure\n"
	"  fivestage list [variables|probes|nics|stages|configs]              what there is\n"
	"  fivestage validate [-o DIR] [NAME=VALUE]...                         is the attribution right?\n"
	"\n"
	"  fivestage COMMAND --help says more; fivestage --version.\n"
	"\n"
	"Exit codes: 0 fine; 1 a point failed; 2 usage or config error, nothing written;\n"
	"5 refused before anything ran; 6 validation failed; 77 everything was skipped;\n"
	"124 a wait ran out and nothing was finished; 130 interrupted.\n";

/* One row a command; one without help text is not for users. */
static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "run", cmd_run },
	{ "list", cmd_list },
	{ "validate", cmd_validate },
	{ "serve", cmd_serve },
};

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	/* A child that has died must be an error code, not our own end. */
	signal(SIGPIPE, SIG_IGN);

	if (!name) {
		fputs(help, stderr);
		return FS_EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help")) {
		fputs(help, stdout);
		return FS_EXIT_OK;
	}
	if (!strcmp(name, "--version")) {
		printf("fivestage %s (%s)\n", FS_VERSION, FS_REVISION);
		return FS_EXIT_OK;
	}
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (!strcmp(name, commands[i].name)) {
			int code = commands[i].run(argc - 1, argv + 1);

			if (fflush(stdout) && code == FS_EXIT_OK) {
				fs_fail(EIO, "cannot write to standard output");
				return FS_EXIT_FAILED;
			}
			return code;
		}
	fs_fail(EINVAL, "%s is no command; legal: run, list, validate", name);
	return FS_EXIT_USAGE;
}
