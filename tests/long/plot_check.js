/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what is wrong with ticks, places, and pictures of invented figures. It runs in a report of
 * a latency. */
(() => {
	const found = [];
	const expect = (about, got, wanted) => {
		const [a, b] = [got, wanted].map(v => JSON.stringify(v));

		if (a !== b)
			found.push(`${about}: ${a}, not ${b}`);
	};

	/* ---- axes ---- */
	for (const [hi, n, last] of [[11.1, 7, "12"], [10, 6, "10"], [0.97, 6, "1.0"], [1, 6, "1.0"],
		[43, 6, "50"], [120, 7, "120"], [3e-5, 7, "0.000030"], [1e12, 6, "1000000000000"]]) {
		const ticks = linearTicks(hi, 6);

		expect(`linear ticks to ${hi}`, [ticks.at.length, ticks.text(ticks.at.at(-1))], [n, last]);
	}
	for (let hi = 1e-300; hi < 1e300; hi *= 7.3) {
		const { at } = linearTicks(hi, 6);

		expect(`ticks to ${hi} are 2 to 7 and cover it`,
			at.length >= 2 && at.length <= 7 && at.at(-1) >= hi * (1 - 1e-6), true);
	}
	expect("powers of two", binaryTicks(2 ** 20, 2 ** 30, 9), [20, 22, 24, 26, 28, 30].map(e => 2 ** e));
	expect("one power of two", binaryTicks(3, 5, 9), [4]);
	expect("few powers of two", binaryTicks(1, 2 ** 63, 9).length, 7);
	expect("1, 2, 5", decimalTicks(12, 430, 10), [20, 50, 100, 200]);
	expect("powers of ten", decimalTicks(1, 1e6, 10), [0, 1, 2, 3, 4, 5, 6].map(e => 10 ** e));
	expect("a place", axisOf(0, 10, 100, 0, false).at(2.5), 75);
	expect("a place on a log axis", axisOf(1, 1024, 0, 100, true).at(32).toFixed(9), "50.000000000");
	expect("places of what is no number", [axisOf(1, 1024, 0, 100, true).at(0),
		axisOf(0, 10, 100, 0, false).at(NaN), axisOf(5, 5, 7, 9, false).at(5)], [0, 100, 7]);
	expect("quantities", [sizeText(1536), amountText(1.5e9), timeText(0.5), timeText(999.6),
		digits(NaN), digits(1e15)], ["1.50 KiB", "1.50 GB", "500 ns", "1.00 ms", "-", "1.00e+15"]);

	/* ---- pictures ---- */
	const record = () => JSON.parse(document.querySelector("script[type='application/json']").textContent);
	const pictures = { curve, cpu, rate, pairs, shares, stages, histogram };
	const drawn = (...records) => Object.values(pictures).flatMap(draw =>
		[WIDE, NARROW].map(width => draw(width, records)?.svg).filter(Boolean));
	const times = count => {
		const r = record();

		for (const row of r.rows)
			row.histogram = count.map(us => ({ us, count: 5 }));
		delete r.rows.at(-1).baseline_half_rtt_us;
		return histogram(NARROW, [r]).svg;
	};
	const band = record();
	const narrow = css => `text[class='${css}']`;

	expect("a tick at the left edge begins there", !!times([1095, 2000]).querySelector(narrow("tick")), true);
	expect("one at the right ends there", !!times([1300, 1825]).querySelector(narrow("tick end")), true);
	band.rows.at(-1).half_rtt_us.p99 = 50 * band.rows.at(-1).half_rtt_us.p50;
	const points = curve(WIDE, [band]).svg.querySelector(".band").getAttribute("points").split(" ");
	expect("the band of latencies reaches the slowest, within the plot",
		points[band.rows.length - 1].split(",")[1] > 34, true);
	expect("lines of two records", [".s0", ".s1", ".s2"].map(css =>
		!!curve(WIDE, [record(), record()]).svg.querySelector(css)), [true, true, false]);
	for (const v of [0, 1e-300, 1e-3, 1, 1e300])
		for (const latency of [true, false]) {
			const r = record();

			for (const row of r.rows) {
				for (const part of [row, row.time_us, row.stage_us, row.half_rtt_us, ...row.pairs,
					...row.per_nic])
					for (const name of Object.keys(part).filter(n => Number.isFinite(part[n])))
						part[name] = v;
				row.histogram = [{ us: v, count: 2 ** 63 }];
				row.size = 2 ** 40 * v;
				if (!latency)
					delete row.half_rtt_us;
			}
			for (const svg of drawn(r))
				if (/NaN|Infinity|undefined/.test(svg.outerHTML))
					found.push(`${svg.getAttribute("aria-label")} of ${v} has no number`);
		}
	const hostile = record(), text = "</text><b>\"'&<script>";
	hostile.rows.at(-1).per_nic[0].nic = text;
	for (const svg of drawn(hostile))
		expect("elements of hostile text", svg.querySelectorAll("b, script").length, 0);
	expect("hostile text", shares(WIDE, [hostile]).svg.textContent.includes(text), true);
	return found;
})()
