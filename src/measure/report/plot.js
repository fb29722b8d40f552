/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pictures of the figures that the page carries as JSON. Each is drawn twice, for a screen and
 * for a phone, where the first would be too small to read; the page shows one of them. Texts
 * keep their size, so there is less room on a phone. A picture of nothing is not drawn.
 */
"use strict";
const WIDE = 880, NARROW = 400;
const COLOURS = 6; /* of records; one more is that of what is compared with */

/* ---- quantities, as out_text.c writes them ---- */

const digits = v => {
	const size = Math.abs(v);
	const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;

	return !Number.isFinite(v) ? "-" : size < 1e15 ? v.toFixed(size > 0 ? decimals : 0) :
		v.toExponential(2);
};
const withUnit = (v, base, units) => {
	let unit = 0;

	for (; unit + 1 < units.length && v >= base * 0.9995; unit++)
		v /= base;
	return (Number.isInteger(v) ? v.toFixed(0) : digits(v)) + " " + units[unit];
};
const sizeText = v => withUnit(v, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
const amountText = v => withUnit(v, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);
const timeText = us => us > 0 && us < 1 ? withUnit(us * 1000, 1000, ["ns"]) :
	withUnit(us, 1000, ["\u00b5s", "ms", "s"]);
const letterOf = index => String.fromCharCode(65 + index);

/* ---- axes ---- */

/* Values lo..hi lie at pixels from..to; on a log axis both are positive. A value that is not a
 * number lands at the start. */
const axisOf = (lo, hi, from, to, log) => ({
	lo, hi, from, to, log,
	at(v) {
		const part = log ? Math.log(v / lo) / Math.log(hi / lo) : (v - lo) / (hi - lo);

		return Number.isFinite(part) ? from + part * (to - from) : from;
	},
});
const steps = (v, mantissas) => mantissas.map(m => m * 10 ** Math.floor(Math.log10(v)));
/* 0, step, 2 step, ... the last at or above hi (> 0); step is 1, 2 or 5 times a power of ten,
 * and there are at most most + 1 of them. */
const linearTicks = (hi, most) => {
	const all = steps(hi / most, [1, 2, 5, 10]);
	const step = all.find(s => hi <= s * most * (1 + 1e-9)) ?? all[3];
	const decimals = step < 1 ? Math.min(Math.ceil(-Math.log10(step) - 1e-9), 100) : 0;
	const at = [0];

	while (at.at(-1) < hi * (1 - 1e-9) && at.length <= most)
		at.push(step * at.length);
	return { at, step, text: v => v.toFixed(decimals) };
};
const range = (first, last) =>
	Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => first + i);
/* Powers of 2 within lo..hi (positive), 1, 2, 5, 10, ... powers apart, at most most. */
const binaryTicks = (lo, hi, most) => {
	const first = Math.ceil(Math.log2(lo) - 1e-9), last = Math.floor(Math.log2(hi) + 1e-9);
	const step = [1, 2, 5, 10, 20, 50].find(s =>
		Math.floor(last / s) - Math.floor((first - 1) / s) <= most);

	return range(first, last).filter(e => e % step === 0).map(e => 2 ** e);
};
/* 1, 2, 5 times powers of ten within lo..hi, or the powers alone if those are too many. */
const decimalTicks = (lo, hi, most) => {
	const decades = range(Math.floor(Math.log10(lo)), Math.ceil(Math.log10(hi)));
	const within = mantissas => decades.flatMap(e => mantissas.map(m => m * 10 ** e))
		.filter(v => v >= lo * (1 - 1e-9) && v <= hi * (1 + 1e-9));
	const fine = within([1, 2, 5]);

	return (fine.length < most ? fine : within([1])).slice(0, most);
};

/* ---- shapes ---- */

class Picture {
	/* label: the content of the picture, for readers who cannot see it. */
	constructor(width, height, label) {
		this.width = width;
		this.narrow = width < WIDE;
		this.svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
		this.svg.setAttribute("viewBox", `0 0 ${width} ${height.toFixed(0)}`);
		this.svg.setAttribute("role", "img");
		this.svg.setAttribute("aria-label", label);
	}
	/* Adds a shape; its title is a tooltip. */
	put(name, css, places, title) {
		const fixed = v => typeof v === "number" ? v.toFixed(1) : v;
		const make = kind => document.createElementNS(this.svg.namespaceURI, kind);
		const element = make(name);

		element.setAttribute("class", css);
		for (const [attribute, v] of Object.entries(places))
			element.setAttribute(attribute, fixed(v));
		if (title)
			element.appendChild(make("title")).textContent = title;
		return this.svg.appendChild(element);
	}
	line(css, x1, y1, x2, y2) {
		this.put("line", css, { x1, y1, x2, y2 });
	}
	rect(css, x, y, width, height, title) {
		this.put("rect", css, { x, y, width: Math.max(width, 0),
			height: Math.max(height, 0) }, title);
	}
	dot(css, cx, cy, r, title) {
		this.put("circle", css, { cx, cy, r }, title);
	}
	text(css, x, y, text) {
		this.put("text", css, { x, y }).textContent = text;
	}
	/* A polyline or a polygon through [x, y] of the points. */
	path(name, css, points) {
		const places = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);

		this.put(name, css, { points: places.join(" ") });
	}
	/* The name of what is below y: at the left up to x; above it on a narrow picture. */
	name(name, x, y) {
		if (this.narrow)
			this.text("label", 0, y + 18, name.slice(0, 48));
		else
			this.text("label end", x, y + 20, name.slice(0, 24));
	}
	/* Round values on both sides of 1, which is always one of them. */
	ratios(x, top, bottom) {
		const { step, text } = linearTicks(x.hi - x.lo, this.narrow ? 4 : 7);

		for (let k = Math.ceil((x.lo - 1) / step); 1 + k * step <= x.hi; k++) {
			const v = 1 + k * step, at = x.at(v);

			this.line(k === 0 ? "one" : "grid", at, top, at, bottom);
			this.text("tick middle", at, bottom + 20, text(v));
		}
	}
}

/* Draws a picture into each element whose data-plot names it. Pictures are functions of a width
 * and of the page's records. */
const drawAll = pictures => document.addEventListener("DOMContentLoaded", () => {
	const records = [...document.querySelectorAll("script[type='application/json']")]
		.map(element => JSON.parse(element.textContent));

	for (const place of document.querySelectorAll("[data-plot]"))
		for (const [css, width] of [["wide", WIDE], ["narrow", NARROW]]) {
			const picture = pictures[place.dataset.plot](width, records);

			picture?.svg.classList.add(css);
			place.append(...picture ? [picture.svg] : []);
		}
});
