/**
 * `node demo/bundle.js OUT.html`: the demo as one file, which opens without a server.
 *
 * Browsers do not let a page from the disk read the files beside it, so this puts style, loader and all sources into the page.
 *
 * How the real one differs: bundlers parse the sources, leave out what is not used and shorten the rest; here a regular expression
 * finds what is required, and every file is put in as it is.
 */
"use strict";

const fs = require("fs");
const path = require("path");

/** The text of every file that `file` requires, by path relative to this folder. */
function sources(file, found = new Map()) {
  const name = path.relative(__dirname, file).split(path.sep).join("/");
  if (found.has(name)) return found;
  const text = fs.readFileSync(file, "utf8");
  found.set(name, text);
  for (const [, required] of text.matchAll(/\brequire\("(\.[^"]+)"\)/g))
    sources(path.resolve(path.dirname(file), `${required}.js`), found);
  return found;
}

function bundle() {
  const read = (name) => fs.readFileSync(path.join(__dirname, name), "utf8");
  const texts = JSON.stringify([...sources(path.join(__dirname, "app.js"))]).replace(/</g, "\\u003c");
  const given = `for (const [path, text] of ${texts}) loader.sources.set(loader.resolve(path, document.baseURI), text);`;
  return read("index.html")
    .replace('<link rel="stylesheet" href="style.css">', () => `<style>\n${read("style.css")}</style>`)
    .replace('<script src="loader.js"></script>', () => `<script>\n${read("loader.js")}${given}\n</script>`);
}

if (require.main === module) {
  const [, , out] = process.argv;
  if (!out) {
    console.error("usage: node demo/bundle.js OUT.html");
    process.exitCode = 2;
  } else {
    fs.writeFileSync(`${out}.part`, bundle());
    fs.renameSync(`${out}.part`, out);
  }
}

module.exports = { bundle };
