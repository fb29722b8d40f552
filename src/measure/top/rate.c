/* SPDX-License-Identifier: Apache-2.0 */
/* Rates per second from two looks at the same engines, by the engines' own clocks. */
#include <string.h>

#include "base/figures.h"
#include "measure/top/top.h"

double
top_number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

double
top_per_s(const json_t *o, const char *key)
{
	return top_number(json_object_get(o, "per_s"), key);
}

double
top_link_Bps(const json_t *nic)
{
	double mbps = top_number(nic, "mbps");

	return mbps > 0 ? mbps * 1e6 / 8 : top_number(nic, "gbps") * 1e9 / 8; /* older engines */
}

const char *
top_string(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

const json_t *
top_list(const json_t *o, const char *key)
{
	const json_t *list = json_object_get(o, key);

	return json_is_array(list) ? list : NULL;
}

/* Do two objects describe the same thing? The figures that name it have the same values. */
static bool
same(const json_t *a, const json_t *b, const struct shape *figures)
{
	shape_each(f, figures)
		if ((f->use & FIGURE_KEY) && (f->use & FIGURE_REPORT) &&
		    !json_equal(json_object_get(a, f->name), json_object_get(b, f->name)))
			return false;
	return true;
}

static const json_t *
earlier(const json_t *list, const json_t *o, size_t hint, const struct shape *figures)
{
	const json_t *other = json_array_get(list, hint);
	size_t i;

	if (other && same(other, o, figures)) /* nearly always at the same index */
		return other;
	json_array_foreach(list, i, other)
		if (same(other, o, figures))
			return other;
	return NULL;
}

static void
rate(json_t *now, const json_t *before, double seconds, const struct shape *figures)
{
	json_t *per_s;
	double more;

	if (!json_is_object(now))
		return;
	per_s = before && seconds > 0 ? json_object() : json_null();
	shape_each(f, figures)
		if (json_is_object(per_s) && (f->use & FIGURE_RATE)) {
			more = top_number(now, f->name) - top_number(before, f->name);
			json_object_set_new(per_s, f->name,
					    json_real(more > 0 ? more / seconds : 0));
		}
	json_object_set_new(now, "per_s", per_s);
}

static void
rate_list(json_t *now, const json_t *before, const char *list, double seconds,
	  const struct shape *figures)
{
	const json_t *old = before ? top_list(before, list) : NULL;
	json_t *all = json_object_get(now, list), *o;
	size_t i;

	if (!json_is_array(all))
		return;
	json_array_foreach(all, i, o)
		rate(o, earlier(old, o, i, figures), seconds, figures);
}

void
top_rates(json_t *now, const json_t *before)
{
	const json_t *old_engines = before ? top_list(before, "engines") : NULL, *old, *old_session;
	json_t *engine, *session, *sessions;
	double seconds;
	size_t i, k;

	json_array_foreach(json_object_get(now, "engines"), i, engine) {
		old = earlier(old_engines, engine, i, &tcpx_engine_figures);
		seconds = old ? (top_number(engine, "time_ns") - top_number(old, "time_ns")) / 1e9 : 0;
		json_object_set_new(engine, "interval_s", json_real(seconds > 0 ? seconds : 0));
		rate(json_object_get(engine, "totals"), json_object_get(old, "totals"), seconds,
		     &tcpx_totals_figures);
		rate_list(engine, old, "nics", seconds, &tcpx_nic_figures);
		rate_list(engine, old, "gpus", seconds, &tcpx_gpu_figures);
		rate_list(engine, old, "lane_labels", seconds, &tcpx_label_figures);
		rate_list(engine, old, "sessions", seconds, &tcpx_session_figures);
		sessions = json_object_get(engine, "sessions");
		json_array_foreach(sessions, k, session) {
			old_session = earlier(top_list(old, "sessions"), session, k,
					      &tcpx_session_figures);
			rate_list(session, old_session, "channels", seconds,
				  &tcpx_channel_figures);
		}
	}
}
