(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("data").textContent);
  var slider = document.getElementById("slider");
  if (!slider) { return; }
  var states = [data.initial];
  data.changes.forEach(function (changes, i) {
    var next = Object.assign({}, states[i]);
    Object.keys(changes).forEach(function (name) { next[name] = changes[name]; });
    states.push(next);
  });
  var values = document.getElementById("values");
  var now = document.getElementById("now");
  var count = document.getElementById("count");
  function all(selector) { return Array.prototype.slice.call(document.querySelectorAll(selector)); }
  function mark(selector, name, on) {
    all("." + name).forEach(function (e) { e.classList.remove(name); });
    if (!selector) { return null; }
    var found = all(selector);
    found.forEach(function (e) { e.classList.add(name); });
    return on ? found[0] : null;
  }
  function show(element, box) {
    if (!element || !box) { return; }
    var e = element.getBoundingClientRect(), b = box.getBoundingClientRect();
    if (e.top < b.top + 20 || e.bottom > b.bottom - 20) { box.scrollTop += e.top - b.top - b.height / 3; }
  }
  // Steps have the numbers that they have in the whole path, of which the beginning may be missing.
  var first = data.before, last = data.before + data.changes.length;
  function go(step) {
    step = Math.max(first, Math.min(last, step));
    slider.value = step;
    count.textContent = step + " / " + last;
    var at = step - first;
    var told = at > 0 ? data.told[at - 1] : step === 0 ? "the initial state" : "after step " + step;
    now.textContent = told;
    var changed = at === 0 ? {} : data.changes[at - 1];
    values.textContent = "";
    Object.keys(states[at]).forEach(function (name) {
      var row = values.insertRow();
      row.insertCell().textContent = name;
      row.insertCell().textContent = states[at][name];
      if (Object.prototype.hasOwnProperty.call(changed, name)) { row.className = "changed"; }
    });
    values.querySelectorAll("td").forEach(function (cell) { cell.className = "code"; });
    var line = at === 0 ? "" : data.lines[at - 1];
    show(mark(line, "here", true), document.querySelector(".source"));
    var row = "tr[data-step='" + step + "']";
    mark(row + ", #chart-" + step, "current", false);
    show(document.querySelector(row), document.querySelector(".steps"));
    show(document.getElementById("chart-" + step), document.querySelector(".picture"));
  }
  slider.addEventListener("input", function () { go(Number(slider.value)); });
  document.getElementById("back").addEventListener("click", function () { go(Number(slider.value) - 1); });
  document.getElementById("forth").addEventListener("click", function () { go(Number(slider.value) + 1); });
  all("tr[data-step]").forEach(function (row) {
    row.addEventListener("click", function () { go(Number(row.dataset.step)); });
  });
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.altKey || event.metaKey) { return; }
    var step = Number(slider.value);
    var keys = { ArrowRight: step + 1, ArrowLeft: step - 1, j: step + 1, k: step - 1, Home: first, End: last,
      PageDown: step + 10, PageUp: step - 10 };
    if (Object.prototype.hasOwnProperty.call(keys, event.key)) { go(keys[event.key]); event.preventDefault(); }
  });
  go(last);
})();
