/* container.c - what names the container of a control group, see groups.h. SPDX-License-Identifier: MIT */
#include <string.h>

#include "source/linux/group/groups.h"

#define CONTAINER_ID 64

struct ks_text
ks_group_container(struct ks_text leaf)
{
	static const char *const prefixes[] = { "docker-", "libpod-", "crio-", "cri-containerd-", "nerdctl-",
		"lxc.payload.", "lxc.payload", "machine-" };
	static const char digits[] = "0123456789abcdef";
	const char *p = leaf.p;

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (ks_text_starts(&leaf, prefixes[i])) {
			leaf.p += strlen(prefixes[i]);
			if (ks_text_size(&leaf) > 6 && memcmp(leaf.end - 6, ".scope", 6) == 0)
				leaf.end -= 6;
			return leaf;
		}
	}
	while (p < leaf.end && memchr(digits, *p, sizeof(digits) - 1) != NULL)
		p++;
	return ks_text_size(&leaf) == CONTAINER_ID && p == leaf.end ? leaf : (struct ks_text){ leaf.p, leaf.p };
}

struct ks_text
ks_group_container_of(struct ks_text path)
{
	struct ks_text found = { path.p, path.p };

	while (ks_text_size(&path) > 0 && ks_text_size(&found) == 0) {
		const char *slash = memrchr(path.p, '/', ks_text_size(&path));

		found = ks_group_container((struct ks_text){ slash != NULL ? slash + 1 : path.p, path.end });
		path.end = slash != NULL ? slash : path.p;
	}
	return found;
}
