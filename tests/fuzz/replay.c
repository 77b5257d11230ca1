// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gives each file of a folder to a fuzz target, which traps at what is wrong.
 */
#include <dirent.h>
#include <stdio.h>

#include "config/base/util.h"

#define FILE_MOST (1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a block of its own size, so that a sanitizer sees who reads behind it. */
static void replay(const uint8_t *bytes, size_t size)
{
	_cleanup_free_ uint8_t *data = malloc(size ? size : 1);

	if (!data)
		abort();
	memcpy(data, bytes, size);
	LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
	static uint8_t bytes[FILE_MOST];
	DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *entry;
	int n = 0;

	while (folder && (entry = readdir(folder))) {
		char path[512];
		FILE *f;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%.200s", argv[1], entry->d_name);
		f = fopen(path, "rb");
		if (!f) {
			perror(path);
			return 1;
		}
		/* The last line of the output names the one that ended it. */
		printf("%s\n", path);
		fflush(stdout);
		replay(bytes, fread(bytes, 1, sizeof(bytes), f));
		fclose(f);
		n++;
	}
	if (folder)
		closedir(folder);
	printf("%d files\n", n);
	return n ? 0 : 1;
}
