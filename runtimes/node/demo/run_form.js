/**
 * The form that makes arguments for a method and shows what it returned.
 *
 * A tensor is described by its sizes and what fills it; any other argument is written as JSON. An empty field leaves an argument
 * with a default out.
 *
 * How the real one differs: in Python one would write the call; `python -m internals run` takes the same from a command line.
 */
"use strict";

const torchjs = require("../index");
const { typeText } = require("../lib/script/types");
const { str } = require("../lib/script/values");
const { element } = require("./elements");

const FILLS = {
  "normal, seed": (sizes, seed) => torchjs.randn(sizes, seed),
  "uniform, seed": (sizes, seed) => torchjs.rand(sizes, seed),
  ones: (sizes) => torchjs.ones(sizes),
  zeros: (sizes) => torchjs.zeros(sizes),
  "ints from 0": (sizes) =>
    torchjs.tensor(
      BigInt64Array.from({ length: sizes.reduce((a, b) => a * b, 1) }, (_, i) => BigInt(i)),
      "int64",
      sizes,
    ),
};
const SHOWN = 10;

/** @returns {HTMLElement} */
function runForm(module, result) {
  const method = element("select", { id: "method" }, ...module.methodNames().map((name) => new Option(name)));
  if (module.methodNames().includes("forward")) method.value = "forward";
  const inputs = element("div", { id: "inputs" });
  const button = element("button", { id: "go", type: "button" }, "Run");
  let readers = [];
  const choose = () => {
    const params = module.object.type.methods.get(method.value).params.slice(1);
    readers = params.map((param) => inputRow(param, guessSizes(module)));
    inputs.replaceChildren(...readers.map((reader) => reader.row));
  };
  method.addEventListener("change", choose);
  button.addEventListener("click", () => run(module, method.value, readers, button, result));
  choose();
  return element("div", {}, element("div", { class: "bar" }, element("label", {}, "method ", method)), inputs, button);
}

/** One argument: the row of controls, and how to read it. */
function inputRow(param, sizes) {
  const type = param.type ? typeText(param.type) : "Tensor";
  const head = [element("b", {}, param.name), element("small", {}, type)];
  if (type === "Tensor") {
    const shape = element("input", { value: sizes.join(", "), size: 18, "aria-label": `sizes of ${param.name}` });
    const fill = element(
      "select",
      { "aria-label": `values of ${param.name}` },
      ...Object.keys(FILLS).map((name) => new Option(name)),
    );
    const seed = element("input", { type: "number", value: 0, "aria-label": "seed" });
    fill.addEventListener("change", () => (seed.hidden = !fill.value.includes("seed")));
    const read = () => FILLS[fill.value](parseSizes(shape.value), Number(seed.value));
    return { read, row: element("div", { class: "input" }, ...head, shape, fill, seed) };
  }
  const field = element("input", { size: 24, placeholder: param.default ? "default" : type, "aria-label": param.name });
  const read = () => {
    if (field.value.trim() === "" && param.default) return undefined;
    return field.value.trim() === "" ? null : JSON.parse(field.value);
  };
  return { read, row: element("div", { class: "input" }, ...head, field) };
}

function parseSizes(text) {
  const sizes =
    text.trim() === ""
      ? []
      : text
          .split(/[\s,x]+/)
          .filter(Boolean)
          .map(Number);
  if (!sizes.every((n) => Number.isInteger(n) && n >= 0))
    throw new TypeError(`sizes are whole numbers with commas between, not ${text}`);
  return sizes;
}

/** Sizes that the first layer may want: an image for a convolution, a row for a matrix. */
function guessSizes(module) {
  const first = [...module.tensors()].map(([, t]) => t).find((t) => t.dim >= 2);
  if (!first) return [3];
  if (first.dim === 4) return [1, first.sizes[1], ...(first.sizes[2] > 3 ? [224, 224] : [32, 32])];
  return first.dim === 3 ? [1, first.sizes[1], 32] : [1, first.sizes[1]];
}

function run(module, method, readers, button, result) {
  button.disabled = true;
  result.replaceChildren(element("p", { class: "quiet" }, "running ..."));
  setTimeout(() => {
    result.replaceChildren(...outcome(module, method, readers));
    button.disabled = false;
  }, 30); // so that the page shows that it is running
}

function outcome(module, method, readers) {
  const printed = [];
  module.interpreter.print = (text) => printed.push(text);
  try {
    const args = readers.map((reader) => reader.read());
    while (args.length && args[args.length - 1] === undefined) args.pop();
    const begin = performance.now();
    const value = module.callMethod(method, ...args);
    const time = element("p", { class: "quiet" }, `${(performance.now() - begin).toFixed(0)} ms`);
    const said = printed.length ? [element("pre", {}, printed.join("\n"))] : [];
    return [time, ...said, ...shown(value, "")];
  } catch (error) {
    const place = error.line ? ` (aten::${error.operator}, line ${error.line} of its code)` : "";
    return [element("p", { class: "error", role: "alert" }, `${error.name}: ${error.message}${place}`)];
  }
}

/** A returned value, part by part. */
function shown(value, name) {
  if (value instanceof torchjs.Tensor) return tensorShown(value, name);
  if (Array.isArray(value)) return value.flatMap((item, i) => shown(item, `${name}[${i}]`));
  if (value instanceof Map) return [...value].flatMap(([key, item]) => shown(item, `${name}[${str(key)}]`));
  return [element("p", {}, element("code", {}, `${name ? `${name} = ` : ""}${str(value)}`))];
}

/** The tensor's type and the largest of its elements. */
function tensorShown(t, name) {
  const values = Array.from(t.data, Number);
  const order = values
    .map((_, i) => i)
    .sort((i, j) => values[j] - values[i])
    .slice(0, SHOWN);
  const most = Math.max(...order.map((i) => Math.abs(values[i])), 1e-30);
  const row = (i) =>
    element(
      "tr",
      {},
      element("td", { class: "mono" }, position(i, t.sizes)),
      element(
        "td",
        {},
        element("span", {
          class: values[i] < 0 ? "meter below" : "meter",
          style: `width:${(100 * Math.abs(values[i])) / most}%`,
        }),
      ),
      element("td", { class: "number mono" }, values[i].toPrecision(6)),
    );
  const caption = values.length > SHOWN ? `the ${SHOWN} largest of ${values.length}` : "all elements";
  return [
    element("p", {}, element("code", { class: "tensor" }, `${name ? `${name} = ` : ""}${t}`)),
    element("p", { class: "quiet" }, caption),
    element("table", { class: "values" }, ...order.map(row)),
  ];
}

/** `[0, 281]` */
function position(i, sizes) {
  let rest = i;
  const index = sizes
    .slice()
    .reverse()
    .map((n) => {
      const k = rest % n;
      rest = Math.floor(rest / n);
      return k;
    });
  return `[${index.reverse().join(", ")}]`;
}

module.exports = { runForm };
