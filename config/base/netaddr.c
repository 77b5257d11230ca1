/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/base/netaddr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "config/base/units.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int mac_parse(const char *s, uint8_t ret[6])
{
	uint8_t mac[6];
	char between = s[0] && s[1] ? s[2] : '\0';

	if (between != ':' && between != '-')
		return -EINVAL;
	if (strlen(s) != MAC_TEXT - 1)
		return -EINVAL;
	for (size_t i = 0; i < 6; i++) {
		int high = hex_digit(s[i * 3]), low = hex_digit(s[i * 3 + 1]);

		if (high < 0 || low < 0 || (i < 5 && s[i * 3 + 2] != between))
			return -EINVAL;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	memcpy(ret, mac, sizeof(mac));
	return 0;
}

void mac_print(const uint8_t mac[6], char to[MAC_TEXT])
{
	snprintf(to, MAC_TEXT, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
		 mac[4], mac[5]);
}

/* Above 9 if it is none. */
static unsigned int digit(char c)
{
	return (unsigned int)(unsigned char)c - '0';
}

/*
 * The end of the IPv4 address that begins here, or NULL. inet_pton() takes the same, but wants a
 * text for itself, and a large file has two addresses a rule.
 */
static const char *read_ipv4(const char *s, uint8_t ret[4])
{
	for (size_t i = 0; i < 4; i++) {
		unsigned int part = digit(*s++);

		if (part > 9)
			return NULL;
		if (part && digit(*s) <= 9)
			part = part * 10 + digit(*s++);
		if (part > 9 && digit(*s) <= 9)
			part = part * 10 + digit(*s++);
		if (part > 255)
			return NULL;
		ret[i] = (uint8_t)part;
		if (i < 3 && *s++ != '.')
			return NULL;
	}
	return s;
}

/* The end of the address that begins here, of either family, at `until` or the text's end. */
static const char *read_ip(const char *s, char until, int *ret_family, uint8_t ret[16])
{
	const char *end = read_ipv4(s, ret);
	char text[INET6_ADDRSTRLEN];
	size_t n;

	*ret_family = 4;
	if (end && (!*end || *end == until))
		return end;
	*ret_family = 6;
	end = strchrnul(s, until);
	n = (size_t)(end - s);
	if (n >= sizeof(text))
		return NULL;
	memcpy(text, s, n);
	text[n] = '\0';
	return inet_pton(AF_INET6, text, ret) == 1 ? end : NULL;
}

int ip_parse(const char *s, int *ret_family, uint8_t ret[16])
{
	uint8_t addr[16] = { 0 };
	int family;

	if (!read_ip(s, '\0', &family, addr))
		return -EINVAL;
	memcpy(ret, addr, sizeof(addr));
	*ret_family = family;
	return 0;
}

int ip_prefix_parse(const char *s, int *ret_family, uint8_t ret[16], uint8_t *ret_len)
{
	uint8_t addr[16] = { 0 };
	const char *end;
	uint64_t len;
	int family, r;

	end = read_ip(s, '/', &family, addr);
	if (!end)
		return -EINVAL;
	len = family == 6 ? 128 : 32;
	if (*end) {
		r = parse_u64(end + 1, 0, len, &len);
		if (r < 0)
			return r;
	}
	memcpy(ret, addr, sizeof(addr));
	*ret_family = family;
	*ret_len = (uint8_t)len;
	return 0;
}

void ip_mask(int family, unsigned int len, uint8_t ret[16])
{
	unsigned int words = family == 6 ? 4 : 1;

	memset(ret, 0, 16);
	for (unsigned int i = 0; i < words && i * 32 < len; i++) {
		uint32_t bits = len - i * 32 >= 32 ? UINT32_MAX : ~(UINT32_MAX >> (len - i * 32));

		bits = htonl(bits);
		memcpy(ret + i * 4, &bits, sizeof(bits));
	}
}

bool ip_host_bits(int family, const uint8_t addr[16], unsigned int len)
{
	uint8_t mask[16];

	ip_mask(family, len, mask);
	for (size_t i = 0; i < (family == 6 ? 16u : 4u); i++)
		if (addr[i] & (uint8_t)~mask[i])
			return true;
	return false;
}

int mask_to_len(const uint8_t *mask, size_t size)
{
	uint8_t same[16];
	unsigned int len = 0;

	while (len < size * 8 && mask[len / 8] & (0x80u >> len % 8))
		len++;
	ip_mask(size == 16 ? 6 : 4, len, same);
	return memcmp(mask, same, size) == 0 ? (int)len : -1;
}

void ip_print(int family, const uint8_t addr[16], char to[NETADDR_TEXT])
{
	if (!inet_ntop(family == 6 ? AF_INET6 : AF_INET, addr, to, NETADDR_TEXT))
		to[0] = '\0';
}
