/**
 * The graph of a method as a drawing: nodes in layers, each below the nodes whose values it takes.
 *
 * A node's layer is one more than the deepest of those. Within a layer nodes stand in the order in which they run. Attributes of the
 * module are not drawn but written into the nodes that use them; a call of a submodule opens that submodule's graph on a click.
 *
 * How the real one differs: tools such as Netron order the nodes within a layer so that few edges cross.
 */
"use strict";

const { graphOf } = require("../lib/script/graph");
const { svg } = require("./elements");

const [CHARACTER, HEIGHT, GAP_X, GAP_Y, MARGIN] = [7.3, 44, 26, 34, 12];
const MOST_TEXT = 46;

/** @returns {SVGElement} */
function drawing(object, method, openChild) {
  const boxes = layout(boxesOf(graphOf(object, method), object));
  const width = Math.max(...boxes.map((box) => box.x + box.width)) + MARGIN;
  const height = Math.max(...boxes.map((box) => box.y + HEIGHT)) + MARGIN;
  const arrow = svg(
    "marker",
    { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" },
    svg("path", { d: "M0,0 L8,4 L0,8 z" }),
  );
  const edges = boxes.flatMap((box) => box.from.map((source) => edge(source, box)));
  return svg(
    "svg",
    { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `graph of ${method}` },
    svg("defs", {}, arrow),
    ...edges,
    ...boxes.map((box) => drawn(box, openChild)),
  );
}

/** Inputs, nodes and the result as boxes that know from which boxes their values come. */
function boxesOf({ inputs, nodes, output }, object) {
  const makers = new Map(); // value -> the box that makes it
  const attributes = new Map(); // value -> what is known of it instead of a box: "conv1.weight"
  const boxes = [];
  const add = (box, outputs) => {
    boxes.push(box);
    for (const name of outputs) makers.set(`%${name}`, box);
  };
  inputs.slice(1).forEach(({ name, type }) => add({ style: "value", title: name, note: type, from: [] }, [name]));
  const self = `%${inputs[0].name}`;
  for (const node of nodes) {
    if (node.kind === "prim::GetAttr" && (node.inputs[0] === self || attributes.has(node.inputs[0]))) {
      const parent = attributes.get(node.inputs[0]);
      const name = /name="(.*)"/.exec(node.note)[1];
      attributes.set(`%${node.outputs[0]}`, parent ? `${parent}.${name}` : name);
    } else add(boxOf(node, makers, attributes, object), [...node.outputs, ...assignedIn(node)]);
  }
  add({ style: "value", title: "return", note: "", from: sources([output], makers) }, []);
  return boxes;
}

/** What the blocks of an `if` or a loop give values to. */
const assignedIn = (node) =>
  node.blocks.flatMap((block) => block.nodes.flatMap((inner) => [...inner.outputs, ...assignedIn(inner)]));

const usedIn = (node) => [...node.inputs, ...node.blocks.flatMap((block) => block.nodes.flatMap(usedIn))];

/** The boxes that make the values named in these texts. */
function sources(texts, makers) {
  const names = texts.flatMap((text) => text.match(/%\w+/g) || []);
  return [...new Set(names.map((name) => makers.get(name)).filter(Boolean))];
}

function boxOf(node, makers, attributes, object) {
  const known = node.inputs.map((text) => text.replace(/%\w+/g, (name) => attributes.get(name) || name));
  const from = sources(usedIn(node), makers);
  const rest = known.filter((text) => !/%/.test(text)).join(", ");
  if (node.kind === "prim::CallMethod" && attributes.has(node.inputs[0])) {
    const path = attributes.get(node.inputs[0]);
    const child = path.split(".").reduce((o, name) => (o && o.attributes ? o.attributes.get(name) : null), object);
    return {
      style: "call",
      title: path,
      note: child && child.type ? child.type.shortName : node.note,
      from,
      child: child ? path : null,
    };
  }
  if (node.blocks.length) {
    const count = (nodes) => nodes.reduce((n, inner) => n + 1 + inner.blocks.reduce((m, block) => m + count(block.nodes), 0), 0);
    const inside = node.blocks.map((block) => `${block.title}: ${count(block.nodes)} nodes`).join(", ");
    return { style: "flow", title: `${node.kind.replace("prim::", "")} ${node.note}`.trim(), note: inside, from };
  }
  return {
    style: node.kind.startsWith("prim::") ? "value" : "op",
    title: node.kind.replace(/^(aten|prim)::/, ""),
    note: [node.note, rest].filter(Boolean).join(" "),
    from,
  };
}

/** Gives every box its place. */
function layout(boxes) {
  const layers = [];
  for (const box of boxes) {
    box.title = shortened(box.title);
    box.note = shortened(box.note);
    box.layer = 1 + Math.max(-1, ...box.from.map((source) => source.layer));
    box.width = Math.max(90, CHARACTER * Math.max(box.title.length, box.note.length) + 22);
    (layers[box.layer] = layers[box.layer] || []).push(box);
  }
  const widths = layers.map((layer) => layer.reduce((sum, box) => sum + box.width + GAP_X, -GAP_X));
  const widest = Math.max(...widths);
  layers.forEach((layer, i) => {
    let x = MARGIN + (widest - widths[i]) / 2;
    for (const box of layer) {
      Object.assign(box, { x, y: MARGIN + i * (HEIGHT + GAP_Y) });
      x += box.width + GAP_X;
    }
  });
  return boxes;
}

const shortened = (text) => (text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT - 1)}…` : text);

function edge(source, target) {
  const [x1, y1] = [source.x + source.width / 2, source.y + HEIGHT];
  const [x2, y2] = [target.x + target.width / 2, target.y];
  const middle = (y1 + y2) / 2;
  if (target.layer - source.layer === 1)
    return svg("path", { d: `M${x1},${y1} C${x1},${middle} ${x2},${middle} ${x2},${y2}`, "marker-end": "url(#arrow)" });
  const side = Math.max(source.x + source.width, target.x + target.width) + 18; // around what lies between
  return svg("path", { d: `M${x1},${y1} C${side},${y1 + 30} ${side},${y2 - 30} ${x2},${y2}`, "marker-end": "url(#arrow)" });
}

function drawn(box, openChild) {
  const middle = box.x + box.width / 2;
  const title = svg("text", { x: middle, y: box.y + (box.note ? 19 : 27), "text-anchor": "middle" }, box.title);
  const note = svg("text", { x: middle, y: box.y + 35, "text-anchor": "middle", class: "note" }, box.note);
  const rect = svg("rect", { x: box.x, y: box.y, width: box.width, height: HEIGHT });
  const group = svg("g", { class: box.child ? `${box.style} open` : box.style }, rect, title, note);
  if (box.child) group.addEventListener("click", () => openChild(box.child));
  return group;
}

module.exports = { drawing };
