/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing one setting's text by its type, and the text that says what is allowed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cpuset.h"
#include "base/nets.h"
#include "base/parse.h"
#include "base/settings.h"

#define CHANNELS_PER_NIC_MAX 64

static const char *const bool_words[] = { "0", "1", "no", "yes", "off", "on" };

static const char *const type_name[TCPX_TYPE_COUNT_OF] = {
	[TCPX_TYPE_STRING] = "text", [TCPX_TYPE_BOOL] = "switch",
	[TCPX_TYPE_COUNT] = "count", [TCPX_TYPE_SIZE] = "size",
	[TCPX_TYPE_MS] = "time",     [TCPX_TYPE_WORD] = "word",
	[TCPX_TYPE_CHANNELS] = "channels", [TCPX_TYPE_CPUS] = "CPU list",
	[TCPX_TYPE_PORT] = "port",   [TCPX_TYPE_PORTS] = "port range",
	[TCPX_TYPE_NETS] = "networks",
};

const char *
tcpx_setting_type_name(enum tcpx_setting_type type)
{
	return type_name[type];
}

static int
bool_parse(const char *text, uint64_t *num)
{
	for (size_t i = 0; i < sizeof(bool_words) / sizeof(bool_words[0]); i++)
		if (!strcasecmp(text, bool_words[i])) {
			*num = i % 2;
			return 0;
		}
	return -EINVAL;
}

static int
word_parse(const char *const *words, const char *text, uint64_t *num)
{
	for (size_t i = 0; words[i]; i++)
		if (!strcasecmp(text, words[i])) {
			*num = i;
			return 0;
		}
	return -EINVAL;
}

/* "16", or "4/nic". */
static int
channels_parse(const char *text, struct tcpx_setting_value *value)
{
	size_t len = strcspn(text, "/");
	char digits[24];

	if (len >= sizeof(digits) || (text[len] && strcasecmp(text + len, "/nic")))
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (tcpx_parse_count(digits, &value->num))
		return -EINVAL;
	value->per_nic = text[len] != '\0';
	if (value->per_nic && (value->num < 1 || value->num > CHANNELS_PER_NIC_MAX))
		return -EINVAL;
	return 0;
}

static int
cpus_parse(const char *text)
{
	struct tcpx_cpuset set;

	return *text ? tcpx_cpuset_parse(text, &set) : 0;
}

static int
port_parse(const char *text, uint64_t *num)
{
	*num = TCPX_PORT_OFF;
	if (!strcasecmp(text, "off"))
		return 0;
	return tcpx_parse_count(text, num) || *num > UINT16_MAX ? -EINVAL : 0;
}

/* "28515-28614", or "". */
static int
ports_parse(const char *text, uint64_t *num)
{
	size_t len = strcspn(text, "-");
	uint64_t first, last;
	char digits[8];

	*num = 0;
	if (!*text)
		return 0;
	if (len >= sizeof(digits) || !text[len])
		return -EINVAL;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (tcpx_parse_count(digits, &first) || tcpx_parse_count(text + len + 1, &last) ||
	    first == 0 || first > last || last > UINT16_MAX)
		return -EINVAL;
	*num = first << 16 | last;
	return 0;
}

static int
by_type_parse(const struct tcpx_setting_def *def, const char *text,
	      struct tcpx_setting_value *value)
{
	switch (def->type) {
	case TCPX_TYPE_BOOL:
		return bool_parse(text, &value->num);
	case TCPX_TYPE_COUNT:
		return tcpx_parse_count(text, &value->num);
	case TCPX_TYPE_SIZE:
		return tcpx_parse_size(text, &value->num);
	case TCPX_TYPE_MS:
		return tcpx_parse_ms(text, &value->num);
	case TCPX_TYPE_WORD:
		return word_parse(def->words, text, &value->num);
	case TCPX_TYPE_CHANNELS:
		return channels_parse(text, value);
	case TCPX_TYPE_CPUS:
		return cpus_parse(text);
	case TCPX_TYPE_PORT:
		return port_parse(text, &value->num);
	case TCPX_TYPE_PORTS:
		return ports_parse(text, &value->num);
	case TCPX_TYPE_NETS:
		return strlen(text) <= TCPX_SETTING_TEXT_MAX ? tcpx_nets_check(text) : -EINVAL;
	default:
		return strlen(text) <= TCPX_SETTING_TEXT_MAX ? 0 : -EINVAL;
	}
}

int
tcpx_setting_parse(const struct tcpx_setting_def *def, const char *text,
		   struct tcpx_setting_value *value)
{
	struct tcpx_setting_value v = { 0 };

	if (!def->automatic || strcasecmp(text, "auto")) {
		if (by_type_parse(def, text, &v))
			return -EINVAL;
		if (def->max && (v.num < def->min || v.num > def->max) &&
		    !(def->automatic && v.num == 0))
			return -EINVAL;
	}
	*value = v;
	return 0;
}

static void
words_format(const char *const *words, char *buf, size_t cap)
{
	size_t len = 0;

	for (; *words && len < cap; words++)
		len += (size_t)snprintf(buf + len, cap - len, "%s%s", len ? ", " : "",
					*words);
}

const char *
tcpx_setting_allowed(const struct tcpx_setting_def *def, char *buf, size_t cap)
{
	const char *automatic = def->automatic ? "auto, or " : "";
	unsigned long long min = def->min, max = def->max;
	char low[24], high[24];

	switch (def->type) {
	case TCPX_TYPE_BOOL:
		snprintf(buf, cap, "0, 1, no, yes, off, on");
		break;
	case TCPX_TYPE_COUNT:
		snprintf(buf, cap, "%s%llu to %llu", automatic, min, max);
		break;
	case TCPX_TYPE_SIZE:
		snprintf(buf, cap, "%s%s to %s bytes (suffix K, M, G)", automatic,
			 tcpx_format_size(min, low, sizeof(low)),
			 tcpx_format_size(max, high, sizeof(high)));
		break;
	case TCPX_TYPE_MS:
		snprintf(buf, cap, "%s%llu to %llu milliseconds (suffix ms, s)", automatic,
			 min, max);
		break;
	case TCPX_TYPE_WORD:
		words_format(def->words, buf, cap);
		break;
	case TCPX_TYPE_CHANNELS:
		snprintf(buf, cap, "%s%llu to %llu, or 1/nic to %d/nic", automatic, min, max,
			 CHANNELS_PER_NIC_MAX);
		break;
	case TCPX_TYPE_PORT:
		snprintf(buf, cap, "0 to 65535, or off");
		break;
	case TCPX_TYPE_PORTS:
		snprintf(buf, cap, "FIRST-LAST of 1 to 65535, as 28515-28614");
		break;
	case TCPX_TYPE_NETS:
		snprintf(buf, cap, "ADDRESS or ADDRESS/BITS, between commas, as 10.0.0.0/8,fd00::/8");
		break;
	case TCPX_TYPE_CPUS:
		snprintf(buf, cap, "a list of CPUs below %d, as 8-21,112", TCPX_CPUS_MAX);
		break;
	default:
		snprintf(buf, cap, "at most %d bytes", TCPX_SETTING_TEXT_MAX);
	}
	return buf;
}
