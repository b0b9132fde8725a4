/**
 * `require` in a browser: the runtime's files are CommonJS modules, which Node loads itself and a page does not know.
 *
 * A file is fetched, what it requires (`require("./name")`, found by a regular expression) is fetched in turn, and then the files run
 * in order, each inside a function with its own `require`, `module` and `exports`. Paths are relative and without their `.js`.
 *
 * How the real one differs: Node reads files when `require` is called; bundlers do this page's work ahead of time, as
 * `bundle.js` does for opening the page without a server.
 */
"use strict";

const loader = {
  sources: new Map(), // url -> text; a bundled page comes with them
  modules: new Map(),

  /** Fetches a file and everything it requires, then runs it. */
  async load(path) {
    const url = loader.resolve(path, document.baseURI);
    await loader.fetchAll(url);
    return loader.run(url);
  },

  resolve: (path, from) => new URL(path.endsWith(".js") ? path : `${path}.js`, from).href,

  async fetchAll(url) {
    if (loader.sources.has(url)) return;
    loader.sources.set(url, null); // asked for
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    const source = await response.text();
    loader.sources.set(url, source);
    const required = [...source.matchAll(/\brequire\("(\.[^"]+)"\)/g)].map((found) => loader.resolve(found[1], url));
    await Promise.all(required.map(loader.fetchAll));
  },

  /** The exports of a fetched file, which runs the first time. */
  run(url) {
    if (!loader.modules.has(url)) {
      const module = { exports: {} };
      loader.modules.set(url, module);
      const require = (path) => {
        if (!path.startsWith(".")) throw new Error(`a page has no ${path}`);
        return loader.run(loader.resolve(path, url));
      };
      const body = new Function("require", "module", "exports", `${loader.sources.get(url)}\n//# sourceURL=${url}`);
      body(require, module, module.exports);
    }
    return loader.modules.get(url).exports;
  },
};
