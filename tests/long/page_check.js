/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader would trip over in a report, as a list of sentences. Run in the page. */
(() => {
	const found = [];
	const seen = element => element.getClientRects().length > 0;
	const name = element => element.textContent.trim().slice(0, 40) || element.className;

	for (const details of document.querySelectorAll("details"))
		details.open = true;
	const page = document.documentElement, room = page.clientWidth; /* a phone's innerWidth gives way */
	if (page.scrollWidth > room)
		found.push(`the page is ${page.scrollWidth} wide, the screen ${room}`);

	/* ---- nothing is cut ---- */
	for (const text of document.querySelectorAll("svg text")) {
		const box = text.getBoundingClientRect();
		const frame = text.ownerSVGElement.getBoundingClientRect();

		if (!seen(text) || !text.textContent)
			continue;
		if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 ||
		    box.bottom > frame.bottom + 1)
			found.push(`"${name(text)}" leaves its picture: ${Math.round(box.left - frame.left)} to ` +
				`${Math.round(box.right - frame.left)} of ${Math.round(frame.width)}`);
		if (box.height < 10)
			found.push(`"${name(text)}" is ${box.height.toFixed(1)} pixels high`);
	}
	for (const svg of document.querySelectorAll("svg")) {
		if (/NaN|Infinity|undefined/.test(svg.outerHTML))
			found.push(`a picture has no number: ${svg.getAttribute("aria-label")}`);
		const texts = [...svg.querySelectorAll("text")].filter(t => seen(t) && t.textContent);

		texts.forEach((a, i) => texts.slice(i + 1).forEach(b => {
			const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();

			if (p.left + 1 < q.right && q.left + 1 < p.right && p.top + 4 < q.bottom &&
			    q.top + 4 < p.bottom)
				found.push(`"${name(a)}" and "${name(b)}" overlap`);
		}));
	}
	for (const e of document.querySelectorAll("main *:not(svg *)")) {
		const box = e.getBoundingClientRect();

		if (seen(e) && box.right > room + 1 && !e.closest(".scroll"))
			found.push(`"${name(e)}" reaches to ${Math.round(box.right)}`);
	}
	const paper = matchMedia("print").matches;
	for (const box of document.querySelectorAll(".scroll"))
		if (seen(box) && box.scrollWidth > box.clientWidth + 1 &&
		    (paper || !box.classList.contains("over")))
			found.push(`${paper ? "paper cuts" : "nothing says that it goes on:"} a table: ${name(box)}`);

	/* ---- no empty column ---- */
	for (const table of document.querySelectorAll("table")) {
		const rows = [...table.querySelectorAll("tbody tr")];

		for (let i = 0; rows.length && i < rows[0].cells.length; i++)
			if (rows.every(row => !row.cells[i] || (/^[–-]?$/.test(row.cells[i].textContent.trim()) &&
			    !row.cells[i].children.length)))
				found.push(`column ${i + 1} of a table is empty: ${name(table)}`);
		for (const row of rows)
			if (row.cells.length !== rows[0].cells.length)
				found.push(`a row has ${row.cells.length} cells: ${name(row)}`);
		const head = table.querySelector("thead tr");
		if (head && rows.length && head.cells.length !== rows[0].cells.length)
			found.push(`${head.cells.length} heads over ${rows[0].cells.length} cells: ${name(head)}`);
	}

	/* ---- contrast ---- */
	const colour = text => (text.match(/[\d.]+/g) || []).map(Number);
	const over = (top, below) => {
		const alpha = top.length > 3 ? top[3] : 1;

		return [0, 1, 2].map(i => top[i] * alpha + below[i] * (1 - alpha));
	};
	const light = rgb => rgb.map(v => v / 255).map(v =>
		v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
		.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
	const contrast = (a, b) => {
		const [x, y] = [light(a), light(b)].sort((p, q) => q - p);

		return (x + 0.05) / (y + 0.05);
	};
	const ground = element => {
		let rgb = colour(getComputedStyle(document.body).backgroundColor);
		const chain = [];

		for (let e = element; e; e = e.parentElement)
			chain.unshift(e);
		for (const e of chain) {
			const c = colour(getComputedStyle(e).backgroundColor);

			if (c.length >= 3)
				rgb = over(c, rgb);
		}
		return rgb;
	};
	/* Of SVG: what is painted below the middle of a text. */
	const painted = text => {
		const box = text.getBoundingClientRect();
		const x = box.left + box.width / 2, y = box.top + box.height / 2;
		let rgb = ground(text.ownerSVGElement.parentElement);

		for (const e of text.ownerSVGElement.querySelectorAll("rect")) {
			const b = e.getBoundingClientRect(), style = getComputedStyle(e);
			const c = colour(style.fill);

			if (style.fill === "none" || x < b.left || x > b.right || y < b.top || y > b.bottom)
				continue;
			rgb = over([...c.slice(0, 3), (c[3] ?? 1) * style.opacity * style.fillOpacity], rgb);
		}
		return rgb;
	};
	const weak = new Set();
	for (const e of document.querySelectorAll("body *:not(script, svg *)")) {
		const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());

		if (seen(e) && own && contrast(colour(getComputedStyle(e).color), ground(e)) < 4.5)
			weak.add(`"${name(e)}" has a contrast of ` +
				contrast(colour(getComputedStyle(e).color), ground(e)).toFixed(2));
	}
	for (const e of document.querySelectorAll("svg text"))
		if (seen(e) && e.textContent &&
		    contrast(colour(getComputedStyle(e).fill).slice(0, 3), painted(e)) < 4.5)
			weak.add(`"${name(e)}" in a picture has a contrast of ` +
				contrast(colour(getComputedStyle(e).fill).slice(0, 3), painted(e)).toFixed(2));
	return found.concat([...weak]);
})()
