// Pointing. Everything with a key in reach of what the pointer or the keyboard is on gets the class "on", in all panes and all
// views, also those not shown now. A click pins: the same with the class "pin", until Escape or a second click.

const data = JSON.parse(document.getElementById('data').textContent);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const byKey = new Map();
for (const e of all('[data-k]'))
  for (const key of e.dataset.k.split(' ')) byKey.has(key) ? byKey.get(key).push(e) : byKey.set(key, [e]);

const linked = key => (data.links[key] || '').split(' ');

// The keys that pointing at an element marks: see Page.reach in scene.py.
function reach(e) {
  const own = e.dataset.k.split(' ');
  if (e.dataset.and !== undefined) return new Set([...own, ...e.dataset.and.split(' ')]);
  return new Set((e.dataset.via ? [e.dataset.via] : own).flatMap(key => [key, ...linked(key)]));
}

const marked = { on: new Set(), pin: new Set() };

function mark(name, keys) {
  for (const e of marked[name]) e.classList.remove(name);
  marked[name] = new Set();
  for (const key of keys)
    for (const e of byKey.get(key) || []) { e.classList.add(name); marked[name].add(e); }
  requestAnimationFrame(count);
}

// How many rows of what a pane shows are marked, in its title, and which way they are if none of them is in sight.
function count() {
  for (const pane of all('.pane')) {
    const rows = new Set();
    for (const e of [...marked.on, ...marked.pin])
      if (pane.contains(e) && !e.closest('[hidden]')) rows.add(e.closest('.row'));
    const away = [...rows].some(isSeen) ? '' : [...rows].every(isAbove) ? ' ↑' : ' ↓';
    pane.querySelector('.linked').textContent = rows.size ? `${rows.size} linked${away}` : '';
  }
}

// Let every other pane show the first of what is marked, unless it shows some of it already. The pane of kernels changes to the
// kernel that is marked, except where a link says which one to show.
function reveal(name, except) {
  for (const pane of all('.pane')) {
    if (pane === except) continue;
    const inside = [...marked[name]].filter(e => pane.contains(e));
    if (!reading && pane.dataset.pane === 'kernel' && inside.length && !inside.some(e => !e.closest('[hidden]')))
      showView(pane, inside[0].closest('.view').dataset.view);
    const rows = inside.filter(e => !e.closest('[hidden]')).map(e => e.closest('.row'));
    if (rows.length) scrollTo(rows);
  }
}

const frameOf = row => row.closest('.body').getBoundingClientRect();
const isAbove = row => row.getBoundingClientRect().top < frameOf(row).top;
const isSeen = row => !isAbove(row) && row.getBoundingClientRect().bottom <= frameOf(row).bottom;

function scrollTo(rows) {
  const body = rows[0].closest('.body'), frame = frameOf(rows[0]);
  if (!rows.some(isSeen)) body.scrollTop += rows[0].getBoundingClientRect().top - frame.top - frame.height / 3;
}

let pinned = null, active = null, reading = false;

function pin(e) {
  pinned = e && e !== pinned ? e : null;
  mark('pin', pinned ? reach(pinned) : []);
  if (pinned) reveal('pin', pinned.closest('.pane'));
  for (const option of all('[aria-selected=true]')) option.removeAttribute('aria-selected');
  if (pinned) pinned.closest('.row').setAttribute('aria-selected', 'true');
  writeLink();
}

// The keyboard: a pane has the focus, one of its rows, or a part of a row, is active in it.
function activate(e) {
  if (active) active.classList.remove('active');
  active = e;
  const box = e.closest('.rows');
  e.classList.add('active');
  e.id = e.id || `e${[...box.querySelectorAll('.row, .p')].indexOf(e)}-${box.closest('.pane').dataset.pane}-${box.parentNode.dataset.view}`;
  box.setAttribute('aria-activedescendant', e.id);
  scrollTo([e.closest('.row')]);
  if (e.dataset.k) { mark('on', reach(e)); reveal('on', box.closest('.pane')); }
}

function move(box, key) {
  const rows = all('.row[role=option]', box).filter(row => row.offsetParent);
  const here = active && box.contains(active) ? active : null, row = here && here.closest('.row');
  const at = row ? rows.indexOf(row) : -1, last = rows.length - 1;
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 12, PageUp: at - 12, Home: 0, End: last }[key];
  if (to !== undefined) { activate(rows[Math.max(0, Math.min(last, to))]); return; }
  const parts = row ? [row, ...all('.p', row)] : [];
  const next = parts.indexOf(here) + (key === 'ArrowRight' ? 1 : -1);
  if (parts[next]) activate(parts[next]);
}

document.addEventListener('pointerover', event => {
  const e = event.target.closest && event.target.closest('[data-k]');
  mark('on', e ? reach(e) : []);
});
document.documentElement.addEventListener('pointerleave', () => mark('on', []));
document.addEventListener('click', event => {
  const e = event.target.closest('[data-k]');
  if (e) { const row = e.closest('[role=option]'); if (row) activate(row === e ? row : e); pin(e); }
});
document.addEventListener('keydown', event => {
  const box = event.target.closest('.rows');
  if (event.key === 'Escape' && pinned) pin(null);
  if (!box || event.ctrlKey || event.metaKey || event.altKey) return;
  if (/^(Arrow|Page|Home|End)/.test(event.key)) { move(box, event.key); event.preventDefault(); }
  if ((event.key === 'Enter' || event.key === ' ') && active && active.dataset.k) { pin(active); event.preventDefault(); }
});
document.addEventListener('focusin', event => {
  const box = event.target.closest('.rows');
  if (box && !(active && box.contains(active)) && box.matches(':focus-visible')) move(box, 'Home');
});
