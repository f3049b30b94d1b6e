"use strict";
for (const table of document.querySelectorAll("table.interactive")) {
  const headings = [...table.tHead.rows[0].cells];
  const value = (row, at) => {
    const cell = row.cells[at];
    return "order" in cell.dataset ? Number(cell.dataset.order) : cell.textContent;
  };
  const compare = (a, b) => {
    if (typeof a === typeof b) return typeof a === "number" ? a - b : a.localeCompare(b);
    return typeof a === "number" ? -1 : 1;
  };
  headings.forEach((heading, at) => {
    heading.querySelector("button").addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((one) => one.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const groups = [...table.tBodies].filter((group) => group.className === "body");
      const rows = groups.flatMap((group) => [...group.rows]);
      rows.sort((a, b) => (down ? -1 : 1) * compare(value(a, at), value(b, at)));
      groups[0].append(...rows);
    });
  });
  const filter = table.closest(".table").querySelector("input");
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const group of table.tBodies) {
      if (group.className !== "body") continue;
      for (const row of group.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}
for (const button of document.querySelectorAll(".copy")) {
  button.addEventListener("click", async () => {
    const code = button.parentElement.querySelector("code");
    getSelection().selectAllChildren(code);
    if (navigator.clipboard) await navigator.clipboard.writeText(code.textContent);
  });
}
