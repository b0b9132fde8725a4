/**
 * Making elements of the page: HTML and SVG.
 *
 * How the real one differs: frameworks (React, Vue) remember what they made and change only what is different the next time.
 */
"use strict";

const SVG = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const element = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);

const svg = (tag, attributes = {}, ...children) => filled(document.createElementNS(SVG, tag), attributes, children);

/** 46.8 MB */
function bytesText(n) {
  const units = ["B", "kB", "MB", "GB"];
  let [value, i] = [n, 0];
  for (; value >= 1000 && i < units.length - 1; i++) value /= 1000;
  return `${i ? value.toPrecision(3) : value} ${units[i]}`;
}

module.exports = { element, svg, bytesText };
