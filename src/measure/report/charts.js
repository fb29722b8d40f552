/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of a report about one or several records. */

/* Iterations that a percentile needs to say more than the slowest one, as in row.h. */
const P99_ITERS = 100, P999_ITERS = 1000;

const isLatency = row => Number.isFinite(row?.half_rtt_us?.p50);
/* The row that speaks for a record: the largest size, the last of equals. */
const subjectOf = record =>
	record.rows.reduce((best, row) => best?.size > row.size ? best : row, null);

/* ---- a chart of lines ---- */

const NAMES = 160; /* room at the right of a wide chart */
const NAME_STEP = 19;
const REACH = 2.5; /* times the highest line: as far as a limit or a band stretches the axis */

const lineOf = s => `line s${s.colour}${s.dashed ? " base" : ""}`;

/* Times reach as far as the band; what begins at 0 as far as the lines allow. */
const fitY = (c, ys, bottom, top) => {
	const most = Math.max(...ys);
	const tops = c.band.map(b => c.times ? b.hi : Math.min(b.hi, REACH * most));
	const hi = Math.max(most, ...tops, c.limit <= REACH * most ? c.limit : 0);

	if (c.times) {
		const least = Math.min(...ys, ...c.band.map(b => b.lo));
		const under = steps(least, [10, 5, 2, 1]).find(s => s <= least * (1 + 1e-9));
		const over = steps(hi, [1, 2, 5, 10]).find(s => s >= hi * (1 - 1e-9));

		return axisOf(under, over > under ? over : 2 * under, bottom, top, true);
	}
	return axisOf(0, linearTicks(hi || 1, 6).at.at(-1), bottom, top, false);
};

const drawAxes = (p, c, x, y, box) => {
	const most = p.narrow ? 5 : 9;
	const ticks = y.log ? { at: decimalTicks(y.lo, y.hi, 12), text: timeText } :
		linearTicks(y.hi, 6);
	const along = c.sizes ? { at: binaryTicks(x.lo, x.hi, most), text: sizeText } :
		linearTicks(x.hi, most);

	for (const v of ticks.at) {
		p.line(v === y.lo ? "axis" : "grid", box.left, y.at(v), box.right, y.at(v));
		p.text("tick end", box.left - 8, y.at(v) + 4, ticks.text(v));
	}
	p.text("unit", 0, 16, c.unit);
	for (const v of along.at.filter(v => v <= x.hi * (1 + 1e-9))) {
		p.line("axis", x.at(v), box.bottom, x.at(v), box.bottom + 5);
		p.text("tick middle", x.at(v), box.bottom + 21, along.text(v));
	}
	p.text("unit end", box.right, box.bottom + 41, c.xUnit);
};

/* Draws the limit, or says it in words where a line would squeeze the others. */
const drawLimit = (p, c, y, box) => {
	const text = `${c.limitName} ${digits(c.limit)}`, at = y.at(c.limit);

	if (c.limit > y.hi) {
		p.text("tick end", box.right, 16, text + ": above the plot");
	} else if (c.limit > 0) {
		p.line("limit", box.left, at, box.right, at);
		p.text("tick", box.left + 6, at > box.top + 20 ? at - 6 : at + 16, text);
	}
};

/* The band is cut only where it would squeeze the lines: a mark shows where it goes on. */
const drawBand = (p, band, x, y, box) => {
	const side = end => band.map(b => [x.at(b.x), Math.max(y.at(b[end]), box.top)]);

	if (band.length < 2)
		return;
	p.path("polygon", "band", [...side("hi"), ...side("lo").reverse()]);
	for (const b of band.filter(b => b.hi > y.hi))
		p.dot("cut", x.at(b.x), box.top + 3, 3, `the band goes on to ${digits(b.hi)}`);
};

/* Names are at the ends of the lines; on a narrow chart above it, beside a piece of each. */
const drawNames = (p, named, y, box) => {
	const places = named.map(s => ({ s, y: y.at(s.points.at(-1).y) }));
	const room = k => box.bottom - NAME_STEP * (places.length - 1 - k);
	const name = (s, x, at) => p.text(`label c${s.colour}`, x, at,
		`${s.name}\u2002${digits(s.value ?? s.points.at(-1).y)}`);

	if (p.narrow) {
		named.forEach((s, i) => {
			const x = i % 2 ? p.width / 2 : 0, at = 40 + 22 * Math.floor(i / 2);

			p.line(lineOf(s), x + 2, at - 5, x + 20, at - 5);
			name(s, x + 27, at);
		});
		return;
	}
	places.sort((a, b) => a.y - b.y);
	for (let i = 1; i < places.length; i++) /* push down what would overlap */
		places[i].y = Math.max(places[i].y, places[i - 1].y + NAME_STEP);
	for (let i = places.length - 1; i > 0; i--) { /* and back up what left the picture */
		places[i].y = Math.min(places[i].y, room(i));
		places[i - 1].y = Math.min(places[i - 1].y, places[i].y - NAME_STEP);
	}
	for (const place of places)
		name(place.s, box.right + 14, place.y + 4);
};

/* The points that the chart can show. */
const shown = (c, points) => points.filter(p => Number.isFinite(p.x) && Number.isFinite(p.y) &&
	(!c.sizes || p.x > 0) && (!c.times || p.y > 0));

/*
 * Lines over sizes, on an axis of powers of two, or over time in seconds. A chart c has label,
 * unit, xUnit, series of { name, value, colour, dashed, dots, points of { x, y, text } }, the
 * first drawn last, so on top; sizes: x is a size; times: y is a time, on a logarithmic axis;
 * a limit across with limitName; and a band of { x, lo, hi } behind the lines.
 */
const chart = (width, c) => {
	const series = c.series.map(s => ({ ...s, points: shown(c, s.points) }))
		.filter(s => s.points.length);
	const named = series.filter(s => s.name), points = series.flatMap(s => s.points);
	const xs = points.map(p => p.x), narrow = width < WIDE;
	const top = 34 + (narrow ? 22 * Math.ceil(named.length / 2) : 0);
	const box = { left: c.times ? 62 : 52, right: width - (narrow ? 28 : NAMES), top,
		bottom: top + (narrow ? 250 : 322) };
	let lo = c.sizes ? Math.min(...xs) : 0, hi = Math.max(...xs);

	if (!points.length)
		return null;
	if (!(lo < hi))
		[lo, hi] = [lo / 2, Math.max(hi * 2, 1)];
	const x = c.sizes ? axisOf(lo, hi, box.left + 14, box.right - 6, true) :
		axisOf(lo, hi, box.left, box.right, false);
	const y = fitY(c, points.map(p => p.y), box.bottom, top);
	const p = new Picture(width, box.bottom + 46, c.label);

	drawAxes(p, c, x, y, box);
	drawBand(p, c.band, x, y, box);
	drawLimit(p, c, y, box);
	for (const s of series.reverse()) {
		p.path("polyline", lineOf(s), s.points.map(at => [x.at(at.x), y.at(at.y)]));
		const css = `${s.dots ? "dot" : "spot"} f${s.colour}`;
		for (const at of s.points.filter(at => at.text))
			p.dot(css, x.at(at.x), y.at(at.y), 4, at.text);
	}
	drawNames(p, named, y, box);
	return p;
};

/* ---- curves ---- */

/* The NICs' line rates together, as the speed is counted; 0: not known of all. */
const lineRate = record => {
	const rates = record.nics.map(nic => nic.mbps / 1e3 || nic.gbps || 0);

	return rates.every(rate => rate > 0) ? rates.reduce((a, b) => a + b, 0) / 8 *
		(record.rows[0]?.dir === "bi" ? 2 : 1) : 0;
};

/* The band from the fastest iteration of each size to the one at the 99th percentile. */
const bandOf = (rows, times) => rows.map(row => {
	const t = (times ? row.half_rtt_us : row.time_us) ?? {};
	const ends = [t.min, t.p99].map(us => times ? us : row.busbw_GBps * t.mean / us);

	return { x: row.size, lo: Math.min(...ends), hi: Math.max(...ends) };
}).filter(b => b.x > 0 && b.lo > 0 && Number.isFinite(b.hi));

/* Speed (or with --lat time) over size, one line a record, the baselines dashed. */
const curve = (width, records) => {
	const one = records.length === 1, times = isLatency(records[0].rows[0]);
	const ours = row => times ? row.half_rtt_us?.p50 : row.busbw_GBps;
	const raw = row => times ? row.baseline_half_rtt_us?.p50 : row.baseline_GBps;
	const about = (row, i) => [
		...one ? [] : [letterOf(i)],
		`${sizeText(row.size)}: ${digits(ours(row))} ${times ? "\u00b5s" : "GB/s"}`,
		Number.isFinite(raw(row)) && `raw sockets ${digits(raw(row))}`,
		Number.isFinite(row.ratio) && `ratio ${row.ratio.toFixed(3)}`,
		row.degraded && "degraded"].filter(Boolean).join(", ");

	return one && records[0].rows.length < 2 ? null : chart(width, {
		label: times ? "Half round trip over size" : "Bandwidth over size",
		unit: times ? "median of half a round trip, log scale" : "GB/s",
		xUnit: "size of one transfer", sizes: true, times,
		limit: times ? 0 : lineRate(records[0]), limitName: "line rate",
		series: records.map(({ rows }, i) => ({ name: one ? "tcpx" : letterOf(i),
			colour: i, dots: true, points: rows.map(row =>
				({ x: row.size, y: ours(row), text: about(row, i) })),
		})).concat(records.map(({ rows }, i) => ({ name: one ? "raw sockets" : "",
			colour: one ? COLOURS : i, dashed: true,
			points: rows.map(row => ({ x: row.size, y: raw(row) })),
		}))),
		band: one ? bandOf(records[0].rows, times) : [],
	});
};

/* CPU seconds of a GB over size: of each end and of both, and of raw sockets. */
const cpu = (width, [{ rows }]) => {
	const [client, server] = rows[0]?.dir === "bi" ? ["client", "server"] :
		rows[0]?.op === "read" ? ["receiver", "sender"] : ["sender", "receiver"];
	const line = (name, key, colour) => ({ name, colour, dashed: colour === COLOURS,
		dots: colour < COLOURS, points: rows.map(({ size, [key]: y }) => ({ x: size, y,
			text: `${sizeText(size)}, ${name}: ${digits(y)} CPU s/GB` })) });

	if (rows.filter(row => row.cpu_s_per_GB >= 0 && !isLatency(row)).length < 2)
		return null;
	return chart(width, {
		label: "CPU time of a GB over size", unit: "CPU seconds per GB",
		xUnit: "size of one transfer", sizes: true, band: [],
		series: [line("both ends", "cpu_s_per_GB", 0),
			line(client, "client_cpu_s_per_GB", 1),
			line(server, "server_cpu_s_per_GB", 2),
			line("raw, both", "baseline_cpu_s_per_GB", COLOURS)],
	});
};

/* Points of a line: more would lie on each other. */
const POINTS_MAX = 400;

const ratePoints = series => {
	const step = Math.floor(series.length / POINTS_MAX) + 1;

	return range(0, Math.ceil(series.length / step) - 1).map(i => {
		const part = series.slice(i * step, (i + 1) * step), end = part.at(-1).t_s;
		const begin = series[i * step - 1]?.t_s ?? 0;
		const bytes = part.reduce((sum, point) => sum + point.bytes, 0);
		const y = end > begin ? bytes / 1e9 / (end - begin) : 0;

		return { x: (begin + end) / 2, y, text: `${begin.toFixed(2)} to ` +
			`${end.toFixed(2)} s: ${digits(y)} GB/s` };
	});
};

/* Speed over time of each record's subject that has a series. */
const rate = (width, records) => chart(width, {
	label: "Rate over time", unit: "GB/s", xUnit: "seconds", band: [],
	series: records.map(subjectOf).map((row, colour) => {
		const series = isLatency(row) ? [] : row?.series ?? [];

		return { colour, value: row?.busbw_GBps, dots: series.length <= 60,
			name: records.length > 1 ? `${letterOf(colour)}\u2002mean` : "mean",
			points: series.length > 1 ? ratePoints(series) : [] };
	}),
});

/* ---- the paired comparison ---- */

const PAIRS_MAX = 40, PAIR_STEP = 15;

/* The ratio of every pair, their median and its interval: a median of nine hides too much. */
const pairs = (width, records) => {
	const row = subjectOf(records[0]), some = row.pairs.slice(0, PAIRS_MAX), top = 30;
	const all = [1, ...row.pairs.map(p => p.ratio)];
	const lo = Math.min(...all), hi = Math.max(...all);
	const room = Math.max(0.12 * (hi - lo), 0.01);
	const x = axisOf(lo - room, hi + room, 84, width - 14), one = x.at(1);
	const last = top + PAIR_STEP * (some.length - 1), bottom = last + PAIR_STEP + 6;
	const ci = row.ratio_ci;

	if (some.length < 2 || !Number.isFinite(row.ratio))
		return null;
	const p = new Picture(width, bottom + 28, "Ratio to raw sockets, pair by pair");
	p.ratios(x, top - 6, bottom);
	if (one > width - 80)
		p.text("unit end", width - 2, top - 14, "as fast as raw sockets");
	else
		p.text("unit middle", Math.max(one, 80), top - 14, "as fast as raw sockets");
	if (Number.isFinite(ci?.lo) && Number.isFinite(ci.hi))
		p.rect("ci", x.at(ci.lo), top - 6, x.at(ci.hi) - x.at(ci.lo), bottom - top + 6,
			`median ${row.ratio.toFixed(3)}, ` +
			`${ci.lo.toFixed(3)} to ${ci.hi.toFixed(3)}`);
	p.line("line s0", x.at(row.ratio), top - 6, x.at(row.ratio), bottom);
	p.text("tick", 0, top + 8, "first pair");
	p.text("tick", 0, last + 8, "last pair");
	some.forEach((pair, i) => p.dot("dot f0", x.at(pair.ratio), top + PAIR_STEP * i + 4, 5,
		`pair ${i + 1}: ours ${timeText(pair.ours_us)}, raw sockets ` +
		`${timeText(pair.baseline_us)}, ratio ${pair.ratio.toFixed(3)}`));
	return p;
};

/* ---- bars ---- */

const BAR = 20, BAR_STEP = 34, NAME_WIDTH = 84; /* of a size at the left of its bar */

const clamp = (v, lo, hi) => v >= lo ? Math.min(v, hi) : lo; /* NaN gives lo */

/* A bar a NIC; its bytes are at the right, and below the name on a narrow picture. */
const shares = (width, records) => {
	const nics = subjectOf(records[0]).per_nic, narrow = width < WIDE;
	const step = BAR_STEP + (narrow ? 18 : 0), right = narrow ? width - 76 : 630;
	const most = Math.max(0, ...nics.map(nic => clamp(nic.share, 0, 1)));
	const letters = Math.max(0, ...nics.map(nic => (nic.nic + nic.peer_nic).length + 3));
	const left = narrow ? 0 : clamp(8 * letters + 16, NAME_WIDTH, 315);

	if (!(most > 0))
		return null;
	const p = new Picture(width, step * nics.length + 6, "Share of the bytes per NIC");
	nics.forEach((nic, i) => {
		const y = step * i + 6, below = narrow ? y + 22 : y;
		const share = clamp(nic.share, 0, 1), bar = (right - left) * share / most;
		const percent = `${(100 * share).toFixed(1)} %`;
		const about = `${amountText(nic.bytes)} \u00b7 ${nic.retransmits} retransmit` +
			(nic.retransmits === 1 ? "" : "s");

		p.text("name", 0, y + 15, `${nic.nic} \u2192 ${nic.peer_nic}`);
		p.rect("bar f0", left, below, bar, BAR, `${nic.nic}: ${percent}, ${about}`);
		p.text("value", left + bar + 10, below + 15, percent);
		p.text(nic.retransmits ? "tick end warn" : "tick end", width, y + 15, about);
	});
	return p;
};

const STAGE_ROWS = 12, STAGES = ["wire", "unpack", "ack"];

/* A bar a size, split by stage after a channel took the chunk; small transfers have none. */
const stages = (width, records) => {
	const total = row => STAGES.reduce((sum, stage) => sum + row.stage_us[stage], 0);
	const all = records[0].rows.filter(row => total(row) > 0);
	const n = Math.min(all.length, STAGE_ROWS), step = BAR_STEP * 0.85;
	const part = (all.length - 1) / Math.max(n - 1, 1);

	if (!n)
		return null;
	const p = new Picture(width, 28 + step * n, "Where the time of a chunk went");
	STAGES.forEach((stage, i) => {
		p.rect(`bar g${i + 1}`, NAME_WIDTH + 90 * i, 3, 12, 12);
		p.text("tick", NAME_WIDTH + 90 * i + 18, 13.5, stage);
	});
	range(0, n - 1).map(k => all[Math.floor(k * part)]).forEach((row, k) => {
		const y = 28 + step * k;
		let x = NAME_WIDTH;

		p.text("name", 0, y + 15, sizeText(row.size));
		p.text("tick end", width, y + 15, timeText(total(row)));
		STAGES.forEach((stage, i) => {
			const us = row.stage_us[stage], share = clamp(us / total(row), 0, 1);
			const long = share * (width - 80 - NAME_WIDTH), percent = 100 * share;

			if (!(share > 0))
				return;
			p.rect(`bar g${i + 1}`, x, y, long - 1.5, BAR,
				`${stage}: ${timeText(us)}, ${percent.toFixed(1)} %`);
			if (long > 44)
				p.text(i < 2 ? "in" : "in dark", x + long / 2, y + 14.5,
					`${percent.toFixed(0)} %`);
			x += long;
		});
	});
	return p;
};

/* ---- a histogram ---- */

const BINS = 88, HISTOGRAM_TOP = 86, HISTOGRAM_BOTTOM = 310;
const EDGE = 28; /* half of the longest text of a tick */

/*
 * Counts over equal parts of the x axis. A recorder's buckets are as narrow as a clock tick or
 * as wide as a bar: each is spread evenly over the bins that it covers. It begins where the
 * one before ended, or, if empty ones were left out, as far down as the narrowest reaches.
 */
const binsOf = (buckets, lo, hi) => {
	const x = axisOf(lo, hi, 0, BINS, true), bins = Array(BINS).fill(0);
	const ratios = buckets.slice(1).map((b, i) => b.us / buckets[i].us).filter(r => r > 1);
	const step = Math.min(2, ...ratios);

	buckets.forEach((b, i) => {
		const from = Math.max(buckets[i - 1]?.us ?? 0, b.us / step);
		const left = clamp(x.at(from), 0, BINS - 1);
		const right = clamp(x.at(b.us), left + 1e-6, BINS);

		for (let k = Math.floor(left); k < BINS && k < right; k++)
			bins[k] += b.count / (right - left) *
				(Math.min(right, k + 1) - Math.max(left, k));
	});
	return bins;
};

/* The middle of a text is at its tick, unless an edge of the picture would cut it. */
const drawTimes = (p, x, bottom, unit) => {
	p.line("axis", x.from, bottom, x.to, bottom);
	for (const v of decimalTicks(x.lo, x.hi, p.narrow ? 6 : 10)) {
		const at = x.at(v), right = at > p.width - EDGE;

		p.line("axis", at, bottom, at, bottom + 5);
		p.text(at < EDGE ? "tick" : right ? "tick end" : "tick middle", at,
			bottom + 21, timeText(v));
	}
	p.text("unit end", p.width, bottom + 44, `${unit}, log scale`);
};

/* Times of transfers, with --lat half round trips, with the percentiles marked. */
const histogram = (width, records) => {
	const row = subjectOf(records[0]), lat = isLatency(row), bottom = HISTOGRAM_BOTTOM;
	const t = lat ? row.half_rtt_us : row.time_us;
	const raw = lat && row.baseline_half_rtt_us?.p50 || Infinity; /* it is marked */
	const times = row.histogram.filter(b => b.count && b.us > 0).map(b => b.us);
	const lo = Math.min(...times, raw) / 1.1, hi = Math.max(...times) * 1.1;
	const x = axisOf(lo, hi, 8, width - 8, true), bar = (x.to - x.from) / BINS;

	if (!times.length)
		return null;
	const bins = binsOf(row.histogram, lo, hi);
	const y = axisOf(0, Math.max(...bins), bottom, HISTOGRAM_TOP, false);
	const p = new Picture(width, bottom + 50, lat ? "Histogram of half round trips" :
		"Histogram of the transfers' times");
	const edge = k => timeText(lo * (hi / lo) ** (k / BINS));
	const mark = (us, name, css, at) => {
		const flip = x.at(us) > width - 120, text = `${name} ${timeText(us)}`;

		if (!(us >= lo && us <= hi))
			return;
		p.line(css, x.at(us), at - 8, x.at(us), bottom);
		p.text(flip ? "value end" : "value", x.at(us) + (flip ? -6 : 6), at, text);
	};

	bins.forEach((count, k) => {
		const top = Math.min(y.at(count), bottom - 1);

		if (count >= 0.5)
			p.rect("bar f0", x.from + bar * k, top, bar - 1, bottom - top,
				`${edge(k)} to ${edge(k + 1)}: ${count.toFixed(0)}`);
	});
	drawTimes(p, x, bottom, lat ? "half a round trip" : "time of a transfer");
	mark(raw, "raw sockets p50", "mark base", 14);
	mark(t.p50, "p50", "mark", 34);
	if (row.iters >= P99_ITERS)
		mark(t.p99, "p99", "mark", 54);
	if (row.iters >= P999_ITERS)
		mark(t.p999, "p99.9", "mark", 74);
	return p;
};

drawAll({ curve, cpu, rate, pairs, shares, stages, histogram });
