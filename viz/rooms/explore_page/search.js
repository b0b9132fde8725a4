// Searching: the rows of all panes, as far as they are shown, that contain the words. Enter goes to the next, Shift-Enter back.
// The words themselves are underlined where the browser knows how (CSS.highlights).

const query = document.getElementById('q');
let hits = [], hit = -1;

function search(keep) {
  for (const row of hits) row.classList.remove('hit', 'at');
  const words = query.value.trim().toLowerCase(), before = keep ? hits[hit] : null;
  hits = words ? all('.pane .row').filter(row => !row.closest('[hidden]') && row.textContent.toLowerCase().includes(words)) : [];
  for (const row of hits) row.classList.add('hit');
  hit = hits.indexOf(before);
  underline(words);
  tellHits();
}

function underline(words) {
  if (!window.CSS || !CSS.highlights) return;
  const ranges = [];
  for (const row of words ? hits : []) {
    const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
    const nodes = [];
    let whole = '';
    while (texts.nextNode()) { nodes.push([texts.currentNode, whole.length]); whole += texts.currentNode.data; }
    const place = at => { const [node, start] = nodes.findLast(([, start]) => start <= at); return [node, at - start]; };
    for (let at = whole.toLowerCase().indexOf(words); at >= 0; at = whole.toLowerCase().indexOf(words, at + 1)) {
      const range = new Range();
      range.setStart(...place(at));
      const [node, offset] = place(at + words.length - 1);
      range.setEnd(node, Math.min(offset + 1, node.length));
      ranges.push(range);
    }
  }
  CSS.highlights.set('found', new Highlight(...ranges));
}

function tellHits() {
  const text = !query.value.trim() ? '' : !hits.length ? 'none' : `${hit < 0 ? '' : `${hit + 1} of `}${hits.length}`;
  document.getElementById('count').textContent = text;
}

function go(step) {
  if (!hits.length) return;
  if (hit >= 0) hits[hit].classList.remove('at');
  hit = hit < 0 && step < 0 ? hits.length - 1 : (hit + step + hits.length) % hits.length;
  const row = hits[hit];
  row.classList.add('at');
  fold(row.closest('.pane'), false);
  scrollTo([row]);
  row.closest('.pane').scrollIntoView({ block: 'nearest' });
  if (row.dataset.k) { mark('on', reach(row)); reveal('on', row.closest('.pane')); }
  tellHits();
}

query.addEventListener('input', () => { search(false); writeLink(); });
query.addEventListener('keydown', event => {
  if (event.key === 'Enter') { go(event.shiftKey ? -1 : 1); event.preventDefault(); }
  if (event.key === 'Escape') { query.value = ''; search(false); writeLink(); event.stopPropagation(); }
});
document.getElementById('next').addEventListener('click', () => go(1));
document.getElementById('previous').addEventListener('click', () => go(-1));
document.addEventListener('keydown', event => {
  if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) { query.focus(); query.select(); event.preventDefault(); }
});
