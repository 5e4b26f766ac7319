"use strict";
(() => {
  const root = document.documentElement;

  // Theme: that of the system until somebody asks for the other one.
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
  const nameButton = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.hidden = false;
  nameButton();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    nameButton();
  });
  system.addEventListener("change", nameButton);

  // Sorting: a click on a heading, and again for the other direction. Gaps stay at the end.
  const compareText = new Intl.Collator(undefined, { numeric: true }).compare;
  const valueOf = (row, column, numeric) => {
    const cell = row.cells[column];
    return numeric ? Number.parseFloat(cell.dataset.v) : cell.textContent.trim();
  };
  const sortBy = (table, heading, direction) => {
    const column = heading.cellIndex;
    const numeric = heading.dataset.sort === "number";
    const rows = Array.from(table.tBodies[0].rows, (row) => ({
      row, value: valueOf(row, column, numeric),
    }));
    rows.sort((a, b) => {
      if (!numeric) return direction * compareText(a.value, b.value);
      const gaps = Number.isNaN(a.value) - Number.isNaN(b.value);
      return gaps || (Number.isNaN(a.value) ? 0 : direction * (a.value - b.value));
    });
    table.tBodies[0].append(...rows.map((one) => one.row));
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
  };
  for (const table of document.querySelectorAll("table[data-sortable]")) {
    for (const heading of table.tHead.rows[0].cells) {
      if (!heading.dataset.sort) continue;
      const sort = document.createElement("button");
      sort.type = "button";
      sort.className = "sort";
      sort.append(...heading.childNodes);
      heading.append(sort);
      sort.addEventListener("click", () => {
        const rising = heading.getAttribute("aria-sort") === "ascending";
        sortBy(table, heading, rising ? -1 : 1);
      });
    }
  }

  // Filtering: rows whose text, or whose shortened names in full, hold what was typed.
  const textOf = (row) => [
    row.textContent, ...Array.from(row.querySelectorAll("[title]"), (one) => one.title),
  ].join(" ").toLocaleLowerCase();
  for (const input of document.querySelectorAll("input[data-filters]")) {
    const rows = Array.from(document.getElementById(input.dataset.filters).tBodies[0].rows);
    const texts = new Map(rows.map((row) => [row, textOf(row)]));
    const count = input.parentElement.querySelector(".count");
    input.parentElement.hidden = false;
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLocaleLowerCase();
      for (const row of rows) row.hidden = !texts.get(row).includes(wanted);
      const left = rows.filter((row) => !row.hidden).length;
      count.textContent = wanted ? `${left} of ${rows.length} shown` : "";
    });
  }

  // A name in a legend brings out its own line.
  for (const figure of document.querySelectorAll("figure.linked")) {
    const entries = figure.querySelectorAll(".legend li");
    const emphasise = (chosen) => {
      figure.classList.toggle("choosing", chosen !== null);
      for (const group of figure.querySelectorAll("svg .series")) {
        group.classList.toggle("chosen", group.dataset.series === chosen);
      }
    };
    for (const entry of entries) {
      entry.tabIndex = 0;
      const bring = () => emphasise(entry.dataset.series);
      const release = () => emphasise(null);
      entry.addEventListener("pointerenter", bring);
      entry.addEventListener("focus", bring);
      entry.addEventListener("pointerleave", release);
      entry.addEventListener("blur", release);
    }
  }
})();
