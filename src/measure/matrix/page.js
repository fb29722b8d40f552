/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pictures of a study m: heat map, intervals, and points over time. Shades are eight
 * strengths of one colour: readable in print and without red and green.
 */
const MARGIN = 14;
const ROOM = 190; /* for names at the left; on a narrow picture they are above */

const precise = v => String(Number(v.toPrecision(6)));
const median = values => {
	const v = values.toSorted((a, b) => a - b), half = v.length >> 1;

	return v.length % 2 ? v[half] : (v[half - 1] + v[half]) / 2;
};

/* Divides each run by the median of its block: cell effect and noise remain. */
const ratiosOf = m => {
	const figures = m.cells.map(() => Array(m.study.blocks).fill(NaN));

	for (const run of m.counted)
		figures[run.cell][run.block - 1] = run.figure ?? NaN;
	const medians = figures[0].map((_, b) =>
		median(figures.map(row => row[b]).filter(Number.isFinite)));
	return figures.map(row => row.map((v, b) => v / medians[b]));
};

const blocks = (width, [m]) => {
	const narrow = width < WIDE, left = narrow ? 0 : ROOM, above = narrow ? 22 : 0;
	const n = m.study.blocks, cell = Math.min(90, (width - MARGIN - left) / n);
	const ratios = ratiosOf(m), all = ratios.flat().filter(Number.isFinite);
	const lo = Math.min(...all), hi = Math.max(...all), high = 30 + above;
	const shadeOf = v => hi > lo ? Math.floor(Math.min(7, 8 * (v - lo) / (hi - lo))) : 3;

	if (!all.length)
		return null;
	const p = new Picture(width, 34 + high * m.cells.length,
		"Each run over its block's median");
	for (let b = 0; b < n; b += Math.ceil(24 / cell)) /* numbers that do not overlap */
		p.text("tick middle", left + cell * (b + 0.5), 20, b + 1);
	m.cells.forEach(({ name }, r) => {
		const y = 28 + high * r;

		p.name(name, left - 12, y);
		ratios[r].forEach((v, b) => {
			const x = left + cell * b, known = Number.isFinite(v);
			const text = `${name}, ${b + 1}: ${known ? precise(v) : "no figure"}`;

			p.rect(known ? `k h${shadeOf(v)}` : "void", x + 1, y + above + 1,
				cell - 2, 28, text);
			if (known && cell > 40)
				p.text(shadeOf(v) > 4 ? "middle over" : "middle", x + cell / 2,
					y + above + 20, v.toFixed(2));
		});
	});
	return p;
};

const effects = (width, [m]) => {
	const narrow = width < WIDE, above = narrow ? 20 : 0;
	const under = 1 - m.margin, over = 1 + m.margin;
	const some = m.effects.filter(e => e.kind !== "exploratory" && e.blocks > 1);
	const x = axisOf(Math.min(1 - 1.5 * m.margin, ...some.map(e => e.lo)),
		Math.max(1 + 1.5 * m.margin, ...some.map(e => e.hi)), narrow ? 24 : ROOM + 30,
		width - (narrow ? 24 : MARGIN));
	const bottom = 34 + (28 + above) * some.length;

	if (!some.length)
		return null;
	const p = new Picture(width, bottom + 34, "Effects with their intervals");
	p.rect("margin", x.at(under), 24, x.at(over) - x.at(under), bottom - 24,
		`does not matter: within ${precise(100 * m.margin)} %`);
	p.ratios(x, 24, bottom);
	p.text("unit middle", x.at(1), 18, "no difference");
	some.forEach((e, i) => {
		const y = 34 + (28 + above) * i, at = y + above + 11;
		const [ratio, lo, hi] = [e.ratio, e.lo, e.hi].map(v => v.toFixed(4));

		p.name(e.name, ROOM + 10, y - 4);
		p.line("whisker", x.at(e.lo), at, x.at(e.hi), at);
		p.dot(e.kind === "primary" ? "dot f0" : "dot f6", x.at(e.ratio), at, 5,
			`${e.name}: ${ratio}, ${lo} to ${hi}`);
	});
	return p;
};

/* Every valid run in the order of time, coloured by its cell. */
const points = (width, [m]) => {
	const narrow = width < WIDE, keys = m.cells.slice(0, COLOURS + 1);
	const most = Math.max(0, ...m.counted.map(run => run.figure ?? 0));
	const colour = cell => `dot f${Math.min(cell, COLOURS)}`;

	if (!(most > 0))
		return null;
	const ticks = linearTicks(most, 5);
	const y = axisOf(0, Math.max(most, ticks.at.at(-1)), 260, 20);
	const x = axisOf(0, Math.max(m.counted.length - 1, 1), 70, width - (narrow ? 8 : 154));
	const p = new Picture(width, narrow ? 306 + 22 * Math.ceil(keys.length / 2) : 300,
		"Every run in the order of time");
	for (const v of ticks.at) {
		p.line("grid", x.from, y.at(v), x.to, y.at(v));
		p.text("tick end", x.from - 8, y.at(v) + 4, ticks.text(v));
	}
	m.counted.forEach(({ cell, figure }, k) => {
		if (Number.isFinite(figure))
			p.dot(colour(cell), x.at(k), y.at(figure), 4.5,
				`run ${k + 1}, ${m.cells[cell].name}: ${precise(figure)}`);
	});
	keys.forEach(({ name }, i) => { /* names of colours: at the right, or below */
		const at = narrow ? [i % 2 ? width / 2 + 6 : 6, 312 + 22 * (i >> 1)] :
			[width - 126, 24 + 20 * i];

		p.dot(colour(i), ...at, 4.5, name);
		p.text("tick", at[0] + 12, at[1] + 4,
			i < COLOURS ? name.slice(0, narrow ? 24 : 16) : "others");
	});
	p.text("unit", x.from, 288, "first run");
	p.text("unit end", x.to, 288, "last run");
	return p;
};

drawAll({ blocks, effects, points });
