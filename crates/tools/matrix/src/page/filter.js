"use strict";
const field = document.querySelector("input[type=search]");
const broken = document.querySelector("input[type=checkbox]");
const shown = document.querySelector("#shown");
const groups = [...document.querySelectorAll("table tbody")];
function filter() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  let rows = 0;
  for (const group of groups) {
    let own = 0;
    for (const row of group.querySelectorAll("tr[data-text]")) {
      const text = row.dataset.text;
      const fits = words.every(word => text.includes(word)) && (!broken.checked || row.dataset.bad === "1");
      row.hidden = !fits;
      own += fits ? 1 : 0;
    }
    group.hidden = own === 0;
    rows += own;
  }
  shown.textContent = rows + (rows === 1 ? " row" : " rows");
}
field.addEventListener("input", filter);
broken.addEventListener("change", filter);
filter();
