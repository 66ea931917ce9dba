"use strict";
(() => {
  const all = (query, root = document) => Array.from(root.querySelectorAll(query));
  const one = (id) => document.getElementById(id);

  // What is wider than its frame says so, as long as there is more to the right. Blocks of source are laid out, and so
  // have a width, only when they come into sight.
  const frames = all(".scroll, .source");
  let waiting = false;
  const hint = () => {
    waiting = false;
    const more = frames.map((frame) => frame.scrollLeft + frame.clientWidth + 2 < frame.scrollWidth);
    frames.forEach((frame, at) => frame.classList.toggle("wide", more[at]));
  };
  const look = () => {
    if (!waiting) requestAnimationFrame(hint);
    waiting = true;
  };
  for (const frame of frames) frame.addEventListener("scroll", look, { passive: true });
  addEventListener("resize", look);
  addEventListener("scroll", look, { passive: true });
  look();

  // Tables: a click on a title sorts by its column, the largest numbers first, then the other way round.
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    const heads = all("thead th", table);
    const value = (row, column) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    heads.forEach((head, column) => head.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") === "descending"
        || (head.getAttribute("aria-sort") === null && column === 0);
      const sign = up ? 1 : -1;
      for (const divider of all("tr.divider", body)) divider.remove(); // of an order that is no more
      const rows = Array.from(body.rows).map((row) => [value(row, column), row]);
      rows.sort(([a], [b]) => sign * (typeof a === "number" ? a - b : a.localeCompare(b)));
      body.append(...rows.map(([, row]) => row));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      table.dispatchEvent(new Event("sorted"));
    }));
  }

  // A long table shows its first rows, and the others when it is asked for them. A filter looks at all of them.
  const FIRST = 20;
  for (const table of all("table.sortable")) {
    const body = table.tBodies[0];
    if (body.rows.length <= FIRST + 10) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "unfold";
    button.textContent = `Show all ${body.querySelectorAll("tr:not(.divider)").length.toLocaleString("en").replaceAll(",", "\u202f")} rows`;
    const fold = () => Array.from(body.rows).forEach((row, at) => row.classList.toggle("beyond", at >= FIRST));
    table.classList.add("folded");
    table.addEventListener("sorted", () => { if (table.classList.contains("folded")) fold(); });
    button.addEventListener("click", () => { table.classList.remove("folded"); button.remove(); });
    table.parentElement.after(button);
    fold();
  }

  // The filter: words that must all be in the row's title; * stands for anything.
  const filter = one("filter");
  const hide = one("hide");
  if (filter) {
    const rows = all("table.sortable tbody tr:not(.divider)").map((row) => [row, row.cells[0].textContent.toLowerCase()]);
    const apply = () => {
      const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean).map((word) =>
        new RegExp(word.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*")));
      let shown = 0;
      document.body.classList.toggle("filtered", words.length > 0);
      for (const [row, title] of rows) {
        row.hidden = !words.every((word) => word.test(title)) || Boolean(hide && hide.checked && row.className === "whole");
        shown += !row.hidden;
      }
      one("shown").textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    };
    filter.addEventListener("input", apply);
    if (hide) hide.addEventListener("change", apply);
    apply();
  }

  // Switches: marks of a kind of line on or off.
  for (const button of all(".switch")) {
    const show = () => document.body.classList.toggle(`show-${button.dataset.kind}`, button.getAttribute("aria-pressed") === "true");
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      show();
    });
    show();
  }

  // Steps: runs of missing or partial lines (of hot ones, where times are shown), one after the other.
  const stops = [];
  let last = null;
  for (const line of all(".source p[id]")) {
    if (line.classList.contains("more")) continue;
    const kind = ["missing", "partial", "hot"].find((name) => line.classList.contains(name));
    if (kind && !(kind === "missing" && last === "missing")) stops.push(line);
    if (kind || line.className) last = kind;
  }
  let at = -1;
  const place = one("place");
  const told = () => { if (place) place.textContent = stops.length ? (at < 0 ? "" : `${at + 1} of `) + stops.length + (stops.length === 1 ? " place" : " places") : "no place"; };
  const go = (step) => {
    if (!stops.length) return;
    if (at >= 0) stops[at].classList.remove("here");
    at = at < 0 && step < 0 ? stops.length - 1 : (at + step + stops.length) % stops.length;
    stops[at].classList.add("here");
    stops[at].scrollIntoView({ block: "center" });
    history.replaceState(null, "", `#${stops[at].id}`);
    told();
  };
  if (one("forth")) {
    one("forth").addEventListener("click", () => go(1));
    one("back").addEventListener("click", () => go(-1));
    told();
  }

  // Contexts of a line: a set of numbers of names, shown in a panel.
  const panel = one("panel");
  const open = (button) => {
    const names = one("contexts").children;
    const list = panel.querySelector("ul");
    list.replaceChildren();
    for (const range of one("sets").children[Number(button.dataset.set)].dataset.c.split(" ")) {
      const [first, end = first] = range.split("-").map(Number);
      for (let number = first; number <= end; number += 1) {
        const item = document.createElement("li");
        item.textContent = names[number].textContent;
        list.append(item);
      }
    }
    panel.querySelector("h2").textContent = `Line ${button.parentElement.id.slice(1)} ran in`;
    panel.hidden = false;
    panel.scrollTop = 0;
  };
  if (panel) {
    let kept = false;
    document.addEventListener("click", (event) => {
      const button = event.target.closest(".ctx");
      if (button) { kept = true; open(button); }
    });
    document.addEventListener("mouseover", (event) => {
      const button = event.target.closest(".ctx");
      if (button) { kept = false; open(button); }
    });
    document.addEventListener("mouseout", (event) => {
      if (event.target.closest(".ctx") && !kept) panel.hidden = true;
    });
    one("close").addEventListener("click", () => { panel.hidden = true; });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && panel) { panel.hidden = true; return; }
    if (event.target.matches("input")) { if (event.key === "Escape") event.target.blur(); return; }
    if (event.key === "n" || event.key === "j") go(1);
    else if (event.key === "p" || event.key === "k") go(-1);
    else if (event.key === "u" && one("up")) one("up").click();
    else if (event.key === "/" && filter) { filter.focus(); event.preventDefault(); }
  });
})();
