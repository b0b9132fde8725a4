/**
 * The demo page: a dropped archive is opened, shown and run.
 *
 * Everything is rebuilt from the loaded module when something is chosen; there is no other state.
 *
 * How the real one differs: PyTorch has no such page; Netron is one, for the graph, and runs nothing.
 */
"use strict";

const { ScriptModule } = require("../index");
const { graphText } = require("../lib/script/graph");
const { ScriptObject } = require("../lib/script/values");
const { drawing } = require("./drawing");
const { element, bytesText } = require("./elements");
const { runForm } = require("./run_form");

const find = (id) => document.getElementById(id);

let opened = null;

/** Connects the page's controls. */
function start() {
  const drop = find("drop");
  find("file").addEventListener("change", (event) => event.target.files[0] && openFile(event.target.files[0]));
  for (const name of ["dragenter", "dragover"]) {
    drop.addEventListener(name, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    if (event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
  });
  find("where").addEventListener("change", showGraph);
  find("how").addEventListener("change", showGraph);
  find("record").addEventListener("change", showCode);
  return openLinked(new URLSearchParams(location.search));
}

/** `?open=mlp.pt` opens a file from the same server, and `&run` runs it. */
async function openLinked(query) {
  if (!query.has("open")) return;
  const response = await fetch(query.get("open"));
  if (!response.ok) throw new Error(`${query.get("open")}: ${response.status}`);
  open(new Uint8Array(await response.arrayBuffer()), query.get("open").split("/").pop());
  if (query.has("run") && opened) find("go").click();
}

async function openFile(file) {
  open(new Uint8Array(await file.arrayBuffer()), file.name);
}

/** Shows the archive in these bytes, or says why it cannot be read. */
function open(bytes, name) {
  try {
    opened = new ScriptModule(bytes);
    find("message").textContent = "";
  } catch (error) {
    opened = null;
    find("message").textContent = `${name}: ${error.message}`;
  }
  find("opened").hidden = !opened;
  if (!opened) return;
  showFacts(name, bytes.length);
  find("run").replaceChildren(runForm(opened, find("result")));
  find("result").replaceChildren();
  find("where").replaceChildren(
    ...methods().map(([path, method]) => new Option(path ? `${path}.${method}` : method, `${path} ${method}`)),
  );
  find("record").replaceChildren(...[...opened.code.keys()].map((record) => new Option(record)));
  showGraph();
  showCode();
  showRecords(bytes.length);
}

function showFacts(name, size) {
  const tensors = [...opened.tensors().values()];
  const facts = {
    file: name,
    class: opened.object.type.name.replace(/^__torch__\./, ""),
    size: bytesText(size),
    tensors: tensors.length,
    elements: tensors.reduce((n, t) => n + t.numel, 0).toLocaleString("en"),
    "format version": opened.version,
  };
  find("facts").replaceChildren(
    element(
      "dl",
      {},
      ...Object.entries(facts).map(([key, value]) =>
        element("div", {}, element("dt", {}, key), element("dd", {}, String(value))),
      ),
    ),
  );
}

/** Every method of every module in the tree, by path. */
function methods() {
  const found = [];
  const visit = (object, path) => {
    for (const method of object.type.methods.keys()) found.push([path, method]);
    for (const [name, value] of object.attributes)
      if (value instanceof ScriptObject) visit(value, path ? `${path}.${name}` : name);
  };
  visit(opened.object, "");
  return found;
}

/** The module object at a path such as `layer1.0`. */
const objectAt = (path) => (path ? path.split(".") : []).reduce((object, name) => object.attributes.get(name), opened.object);

function showGraph() {
  const [path, method] = find("where").value.split(" ");
  const object = objectAt(path);
  const openChild = (name) => {
    const child = path ? `${path}.${name}` : name;
    find("where").value = `${child} forward`;
    showGraph();
  };
  const listing = find("how").value === "listing";
  find("graph").replaceChildren(listing ? element("pre", {}, graphText(object, method)) : drawing(object, method, openChild));
}

function showCode() {
  find("code").textContent = opened.code.get(find("record").value) || "";
}

function showRecords(total) {
  const records = [...opened.reader.records.values()];
  const shade = (record) =>
    record.name.startsWith("code/")
      ? "var(--flow-line)"
      : /^(data|constants)\//.test(record.name)
        ? "var(--call-line)"
        : "var(--op-line)";
  const part = (record) =>
    element("i", {
      style: `width:${(100 * record.compressed) / total}%;background:${shade(record)}`,
      title: `${record.name}: ${bytesText(record.compressed)}`,
    });
  const byPlace = records.slice().sort((a, b) => a.header - b.header);
  find("bytes").replaceChildren(element("div", { class: "map" }, ...byPlace.map(part)));
  const row = (record) => {
    const offset = opened.reader.payloadOffset(record);
    const cells = [
      bytesText(record.size),
      record.method === 8 ? "deflated" : "stored",
      offset.toLocaleString("en"),
      offset % 64 === 0 ? "yes" : "no",
    ];
    return element(
      "tr",
      {},
      element("td", { class: "mono" }, record.name),
      ...cells.map((cell) => element("td", { class: "number" }, cell)),
    );
  };
  const head = ["record", "size", "", "offset", "at 64 bytes"].map((text, i) =>
    element("th", i ? { class: "number" } : {}, text),
  );
  find("records").replaceChildren(element("table", {}, element("tr", {}, ...head), ...byPlace.map(row)));
}

module.exports = { start, open };
