/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and zoom of pictures that are drawn. The dot or bar nearest to the pointer or to a touch
 * shows its title at once; a part of a picture that is marked with the pointer fills it, and a
 * double click brings back the whole. Tables that are cut say so, and the records can be saved as
 * files.
 */
document.addEventListener("DOMContentLoaded", () => {
	const reach = 28; /* pixels from a pointer to what it means */
	const tip = document.createElement("div");
	let chosen = null;

	tip.className = "tip";
	tip.hidden = true;
	document.body.append(tip);

	const hide = () => {
		tip.hidden = true;
		if (chosen)
			chosen.classList.remove("at");
		chosen = null;
	};

	/* The element with a title that is nearest to the event; a browser shows titles late. */
	const nearest = (svg, event) => {
		let best = null, least = reach;

		for (const title of svg.querySelectorAll("title")) {
			const box = title.parentElement.getBoundingClientRect();
			const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
			const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
			const middle = Math.hypot(event.clientX - (box.left + box.right) / 2,
				event.clientY - (box.top + box.bottom) / 2);
			const far = Math.hypot(x, y) + middle / 1e4;

			if (far < least) {
				least = far;
				best = title.parentElement;
			}
		}
		return best;
	};

	const show = (svg, event) => {
		const element = nearest(svg, event);

		if (element !== chosen)
			hide();
		if (!element)
			return;
		chosen = element;
		chosen.classList.add("at");
		tip.textContent = element.querySelector(":scope > title").textContent;
		tip.hidden = false;
		tip.style.left = Math.max(8, Math.min(event.clientX + 14,
			document.documentElement.clientWidth - tip.offsetWidth - 8)) + "px";
		tip.style.top = Math.max(8, event.clientY + 18 + tip.offsetHeight > window.innerHeight ?
			event.clientY - tip.offsetHeight - 12 : event.clientY + 18) + "px";
	};

	const zoom = svg => {
		const whole = svg.getAttribute("viewBox");
		let mark = null, from = null;

		const place = event => new DOMPoint(event.clientX, event.clientY)
			.matrixTransform(svg.getScreenCTM().inverse());
		const area = to => ({
			x: Math.min(from.x, to.x), y: Math.min(from.y, to.y),
			width: Math.abs(to.x - from.x), height: Math.abs(to.y - from.y),
		});
		const end = () => {
			if (mark)
				mark.remove();
			mark = from = null;
		};

		svg.addEventListener("pointerdown", event => {
			show(svg, event);
			if (event.button !== 0 || event.pointerType === "touch")
				return;
			from = place(event);
			svg.setPointerCapture(event.pointerId);
		});
		svg.addEventListener("pointermove", event => {
			if (event.pointerType !== "touch")
				show(svg, event);
			if (!from)
				return;
			if (!mark) {
				mark = document.createElementNS(svg.namespaceURI, "rect");
				mark.setAttribute("class", "chosen");
				svg.append(mark);
			}
			for (const [name, value] of Object.entries(area(place(event))))
				mark.setAttribute(name, value);
		});
		svg.addEventListener("pointerup", event => {
			const a = from ? area(place(event)) : { width: 0, height: 0 };

			end();
			if (a.width < 12 || a.height < 12)
				return; /* a click */
			svg.setAttribute("viewBox", [a.x, a.y, a.width, a.height].join(" "));
			svg.classList.add("near");
		});
		svg.addEventListener("pointercancel", end);
		svg.addEventListener("pointerleave", event => {
			if (event.pointerType !== "touch") /* its value stays until the next touch */
				hide();
		});
		svg.addEventListener("dblclick", () => {
			svg.setAttribute("viewBox", whole);
			svg.classList.remove("near");
		});
	};

	document.querySelectorAll("svg").forEach(zoom);
	document.addEventListener("pointerdown", event => {
		if (!event.target.closest("svg"))
			hide();
	});

	const watch = new ResizeObserver(entries => {
		for (const entry of entries)
			entry.target.classList.toggle("over",
				entry.target.scrollWidth > entry.target.clientWidth + 1);
	});
	document.querySelectorAll(".scroll").forEach(box => watch.observe(box));

	const saves = document.querySelector(".saves");
	const records = document.querySelectorAll("script[type='application/json']");

	for (const record of saves ? records : []) {
		const button = document.createElement("button");

		button.textContent = records.length > 1 ?
			"save " + "ABCDEF"[record.id.split("-")[1]] : "save it";
		button.addEventListener("click", () => {
			const link = document.createElement("a");

			link.href = URL.createObjectURL(new Blob([record.textContent.trim() + "\n"],
				{ type: "application/json" }));
			link.download = "tcpx-" + record.id + ".json";
			link.click();
			URL.revokeObjectURL(link.href);
		});
		saves.append(button);
	}
});
