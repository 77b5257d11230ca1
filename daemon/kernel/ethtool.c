// SPDX-License-Identifier: GPL-2.0-or-later
/* SIOCETHTOOL: see ethtool.h. */
#include "daemon/kernel/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#define FEATURES_MOST 1024 /* a kernel has 60 to 70 */

static int ask(int fd, const char *name, void *command)
{
	struct ifreq ifr = { .ifr_data = command };

	if (!COPY_NAME(ifr.ifr_name, name))
		return -ENODEV;
	return ioctl(fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

int ethtool_driver(int fd, const char *name, char ret[32])
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int r = ask(fd, name, &info);

	if (r < 0)
		return r;
	info.driver[sizeof(info.driver) - 1] = '\0';
	copy_name(ret, 32, info.driver);
	return 0;
}

static int count_features(int fd, const char *name, uint32_t *ret)
{
	struct {
		struct ethtool_sset_info info;
		uint32_t count;
	} set = { { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES }, 0 };
	int r = ask(fd, name, &set);

	if (r < 0)
		return r;
	if (!set.info.sset_mask || set.count == 0 || set.count > FEATURES_MOST)
		return -EOPNOTSUPP;
	*ret = set.count;
	return 0;
}

static int find_bit(int fd, struct ethtool_offload_bit *bit, const char *name)
{
	_cleanup_free_ struct ethtool_gstrings *strings = NULL;
	uint32_t count;
	int r;

	if (bit->known)
		return 0;
	r = count_features(fd, name, &count);
	if (r < 0)
		return r;
	strings = calloc(1, sizeof(*strings) + (size_t)count * ETH_GSTRING_LEN);
	if (!strings)
		return -ENOMEM;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = count;
	r = ask(fd, name, strings);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < MIN(count, strings->len); i++) {
		const char *s = (const char *)strings->data + (size_t)i * ETH_GSTRING_LEN;

		if (strncmp(s, "hw-tc-offload", ETH_GSTRING_LEN) != 0)
			continue;
		bit->known = true;
		bit->bit = i;
		bit->blocks = (count + 31) / 32;
		return 0;
	}
	return -EOPNOTSUPP;
}

int ethtool_offload(int fd, struct ethtool_offload_bit *bit, const char *name)
{
	_cleanup_free_ struct ethtool_gfeatures *features = NULL;
	const struct ethtool_get_features_block *block;
	uint32_t mask;

	if (find_bit(fd, bit, name) < 0)
		return -1;
	features = calloc(1, sizeof(*features) + bit->blocks * sizeof(features->features[0]));
	if (!features)
		return -1;
	features->cmd = ETHTOOL_GFEATURES;
	features->size = bit->blocks;
	if (ask(fd, name, features) < 0)
		return -1;
	block = &features->features[bit->bit / 32];
	mask = 1u << bit->bit % 32;
	if (!(block->available & mask) && !(block->active & mask))
		return -1;
	return !!(block->active & mask);
}

int ethtool_set_offload(int fd, struct ethtool_offload_bit *bit, const char *name, bool on)
{
	_cleanup_free_ struct ethtool_sfeatures *features = NULL;
	uint32_t mask;
	int r = find_bit(fd, bit, name);

	if (r < 0)
		return r;
	features = calloc(1, sizeof(*features) + bit->blocks * sizeof(features->features[0]));
	if (!features)
		return -ENOMEM;
	features->cmd = ETHTOOL_SFEATURES;
	features->size = bit->blocks;
	mask = 1u << bit->bit % 32;
	features->features[bit->bit / 32].valid = mask;
	features->features[bit->bit / 32].requested = on ? mask : 0;
	return ask(fd, name, features);
}
