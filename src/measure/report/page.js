/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hover and zoom for the plots. They are whole without it: figures stand in the titles of dots
 * and bars. A point under the pointer shows its title at once; a part of a plot that is marked
 * with the pointer fills it, and a double click brings back the whole.
 */
"use strict";
document.addEventListener("DOMContentLoaded", () => {
	const tip = document.createElement("div");

	tip.className = "tip";
	tip.hidden = true;
	document.body.append(tip);

	/* The nearest element with a title, up to its plot; a browser shows titles late. */
	const titleOf = element => {
		for (let e = element; e && e.tagName !== "svg"; e = e.parentElement) {
			const title = e.querySelector(":scope > title");

			if (title)
				return title.textContent;
		}
		return "";
	};

	const hover = event => {
		const text = titleOf(event.target);
		const room = window.innerWidth - tip.offsetWidth - 8;

		tip.hidden = !text;
		tip.textContent = text;
		tip.style.left = Math.max(8, Math.min(event.clientX + 14, room)) + "px";
		tip.style.top = event.clientY + 18 + "px";
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
			if (event.button !== 0 || event.pointerType === "touch")
				return;
			from = place(event);
			svg.setPointerCapture(event.pointerId);
		});
		svg.addEventListener("pointermove", event => {
			hover(event);
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
		svg.addEventListener("pointerleave", () => { tip.hidden = true; });
		svg.addEventListener("dblclick", () => {
			svg.setAttribute("viewBox", whole);
			svg.classList.remove("near");
		});
	};

	document.querySelectorAll("svg").forEach(zoom);
});
