/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: finds the command (bench/commands.c) and hands over. Every
 * command prints its help on --help.
 */
#include "bench/bench.h"
#include "revision.h"
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

const char *fs_program = "fivestage";

static void help(FILE *f)
{
	fputs("fivestage: takes one GPU-initiated message apart into five stages\n\n", f);
	for (const struct command *c = fs_commands; c->name; c++)
		if (c->brief)
			fprintf(f, "  fivestage %s %s\n        %s\n", c->name, c->usage, c->brief);
	fputs("\n  fivestage COMMAND --help says more; fivestage --version.\n\nExit codes:\n", f);
	for (const struct exit_row *e = fs_exits; e->words; e++)
		fprintf(f, "  %3d  %s\n", e->code, e->words);
}

/*
 * A standard descriptor that is closed would be given to the next file that is
 * opened, a result among them, and then be printed into. What takes its place
 * refuses (stdout is opened for reading, so writing is seen to fail) or takes all.
 */
static void keep_standard(void)
{
	static const int modes[] = { O_RDONLY, O_RDONLY, O_WRONLY };

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", modes[fd]) != fd)
			_exit(FS_EXIT_FAILED); /* there is nobody to tell */
}

static int unknown(const char *name)
{
	char legal[256] = "";
	size_t n = 0;

	for (const struct command *c = fs_commands; c->name; c++)
		if (c->brief)
			n += (size_t)snprintf(legal + n, sizeof legal - n, "%s%s", n ? ", " : "", c->name);
	fs_fail(EINVAL, "%s is no command; legal: %s", name, legal);
	return FS_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;
	const struct command *cmd;
	int code = FS_EXIT_OK;

	keep_standard();
	/* Which characters may be printed; numbers stay as they are in C. */
	setlocale(LC_CTYPE, "");
	/* A child that has died, or a reader of ours, must be an error code and not
	 * our own end. */
	signal(SIGPIPE, SIG_IGN);
	if (argc > 0)
		fs_program = argv[0];

	if (!name) {
		help(stderr);
		return FS_EXIT_USAGE;
	}
	if (!strcmp(name, "--help") || !strcmp(name, "-h") || !strcmp(name, "help"))
		help(stdout);
	else if (!strcmp(name, "--version"))
		printf("fivestage %s (%s)\n", FS_VERSION, FS_REVISION);
	else if ((cmd = command_find(name)))
		code = cmd->run(argc - 1, argv + 1);
	else
		return unknown(name);
	if ((fflush(stdout) || ferror(stdout)) && code == FS_EXIT_OK) {
		fs_fail(EIO, "cannot write to standard output");
		return FS_EXIT_FAILED;
	}
	return code;
}
