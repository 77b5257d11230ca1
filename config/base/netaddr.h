/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * netaddr: addresses as people write them. Strict: what is not wholly an address is refused, and
 * nothing is guessed ("10.1" is no IPv4 address, "010.0.0.1" is neither).
 */
#ifndef SWD_BASE_NETADDR_H
#define SWD_BASE_NETADDR_H

#include <stdint.h>

#include "config/base/util.h"

#define MAC_TEXT 18	/* "02:00:00:00:00:09" and NUL */
#define NETADDR_TEXT 64 /* an IPv6 address, "/128" or "/" and a mask, and NUL */

/* "02:00:00:00:00:09"; also "-" between. 0 or -EINVAL. */
int mac_parse(const char *s, uint8_t ret[6]);
void mac_print(const uint8_t mac[6], char to[MAC_TEXT]);

/*
 * An IPv4 or IPv6 address without prefix. ret_family gets 4 or 6, ret the address in network order
 * (4 bytes used for IPv4, the rest zero). 0 or -EINVAL.
 */
int ip_parse(const char *s, int *ret_family, uint8_t ret[16]);
/*
 * An address with "/LEN". Without a length, the whole address (32 or 128). 0, -EINVAL, or -ERANGE
 * for a length that is too long. Host bits are kept: who wants a prefix checks ip_host_bits().
 */
int ip_prefix_parse(const char *s, int *ret_family, uint8_t ret[16], uint8_t *ret_len);
/* True if bits behind the first `len` are set. */
bool ip_host_bits(int family, const uint8_t addr[16], unsigned int len);
void ip_mask(int family, unsigned int len, uint8_t ret[16]);
/* The length of a mask that is a prefix, or -1. size is 4 or 16 bytes. */
int mask_to_len(const uint8_t *mask, size_t size);
void ip_print(int family, const uint8_t addr[16], char to[NETADDR_TEXT]);

#endif
