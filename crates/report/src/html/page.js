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
  function go(step) {
    step = Math.max(0, Math.min(data.changes.length, step));
    slider.value = step;
    count.textContent = step + " / " + data.changes.length;
    var told = step === 0 ? "the initial state" : data.told[step - 1];
    now.textContent = told;
    var changed = step === 0 ? {} : data.changes[step - 1];
    values.textContent = "";
    Object.keys(states[step]).forEach(function (name) {
      var row = values.insertRow();
      row.insertCell().textContent = name;
      row.insertCell().textContent = states[step][name];
      if (Object.prototype.hasOwnProperty.call(changed, name)) { row.className = "changed"; }
    });
    values.querySelectorAll("td").forEach(function (cell) { cell.className = "code"; });
    var line = step === 0 ? "" : data.lines[step - 1];
    show(mark(line, "here", true), document.querySelector(".source"));
    var row = mark("tr[data-step='" + step + "'], #chart-" + step, "current", true);
    show(row, document.querySelector(".steps"));
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
    var keys = { ArrowRight: step + 1, ArrowLeft: step - 1, j: step + 1, k: step - 1, Home: 0, End: data.changes.length,
      PageDown: step + 10, PageUp: step - 10 };
    if (Object.prototype.hasOwnProperty.call(keys, event.key)) { go(keys[event.key]); event.preventDefault(); }
  });
  go(data.changes.length);
})();
