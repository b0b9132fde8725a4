// What is shown, and the link to it. The slider chooses the view of the graph; panes fold; the address holds all of it:
// #pass=12&pane=ir&line=4 is phase 12, with line 4 of the graph pinned. `line` is the number that stands before a line, where no two
// lines of the pane have the same; else it counts the lines that are there after the phase.

const slider = document.getElementById('pass');
const paneOf = name => all('.pane').find(pane => pane.dataset.pane === name);

function showView(pane, number) {
  const views = all('.view', pane), chosen = views.find(view => view.dataset.view === String(number)) || views[0];
  for (const view of views) view.hidden = view !== chosen;
  const choice = pane.querySelector('.choice');
  if (choice) choice.value = chosen.dataset.view;
  requestAnimationFrame(count);
}

function fold(pane, closed) {
  pane.classList.toggle('closed', closed);
  pane.querySelector('.fold').setAttribute('aria-expanded', String(!closed));
}

// A phase that changed nothing shows the graph as the phase before left it, without the marks of what that one did.
function showPhase(number) {
  if (!slider) return;
  slider.value = number;
  const [name, title, view, changed, summary] = data.phases[slider.valueAsNumber];
  const pane = paneOf('ir');
  showView(pane, view);
  pane.dataset.show = changed ? document.querySelector('[name=show]:checked').value : 'result';
  const output = document.getElementById('phase');
  output.replaceChildren(document.createElement('b'), ' ', document.createElement('span'));
  output.firstChild.textContent = `${slider.value}/${slider.max} ${name}`;
  output.lastChild.textContent = `${title}: ${summary}`;
  slider.setAttribute('aria-valuetext', `${name}: ${summary}`);
  all('.ticks i').forEach((tick, i) => tick.classList.toggle('here', i === slider.valueAsNumber));
  search(true);
  if (pinned) reveal('pin', pinned.closest('.pane') === pane ? null : pinned.closest('.pane'));
}

function nextChange(step) {
  let n = slider.valueAsNumber + step;
  while (data.phases[n] && !data.phases[n][3]) n += step;
  if (data.phases[n]) { showPhase(n); writeLink(); }
}

// Rows that have a number in links: those of the text itself, not headings, notes and what a phase removed.
const numbered = pane => all('.view:not([hidden]) .row[role=option]:not(.removed)', pane);

function numbers(pane) {
  const rows = numbered(pane), labels = rows.map(row => row.querySelector('.no').textContent.trim());
  const told = pane.dataset.pane === 'source' && new Set(labels).size === labels.length && labels.every(label => /^\d+$/.test(label));
  return new Map(rows.map((row, i) => [told ? Number(labels[i]) : i + 1, row]));
}

function writeLink() {
  if (reading) return;
  const link = new URLSearchParams();
  if (slider) link.set('pass', slider.value);
  if (pinned && !pinned.closest('[hidden]')) {
    const pane = pinned.closest('.pane'), row = pinned.closest('.row'), line = [...numbers(pane)].find(pair => pair[1] === row)?.[0];
    if (line) {
      link.set('line', line);
      link.set('pane', pane.dataset.pane);
      if (row !== pinned) link.set('part', all('.p', row).indexOf(pinned) + 1);
    }
  }
  const views = all('.choice').filter(c => c.value !== c.dataset.first).map(c => `${c.closest('.pane').dataset.pane}:${c.value}`);
  if (views.length) link.set('view', views.join(','));
  const closed = all('.pane.closed').map(pane => pane.dataset.pane);
  if (closed.length) link.set('closed', closed.join(','));
  const show = document.querySelector('[name=show]:checked');
  if (show && show.value !== 'all') link.set('show', show.value);
  if (query.value) link.set('q', query.value);
  if (document.documentElement.dataset.theme) link.set('theme', document.documentElement.dataset.theme);
  history.replaceState(null, '', '#' + link.toString().replaceAll('%2C', ',').replaceAll('%3A', ':'));
}

function readLink() {
  reading = true;
  const link = new URLSearchParams(location.hash.slice(1)), list = name => (link.get(name) || '').split(',').filter(Boolean);
  const theme = link.get('theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
  for (const radio of all('[name=show]')) radio.checked = radio.value === (link.get('show') || 'all') || radio.checked;
  for (const pane of all('.pane')) fold(pane, list('closed').includes(pane.dataset.pane));
  for (const [name, number] of list('view').map(each => each.split(':'))) if (paneOf(name)) showView(paneOf(name), number);
  query.value = link.get('q') || '';
  const pass = Number.parseInt(link.get('pass') ?? '', 10);
  if (slider) showPhase(Number.isNaN(pass) ? slider.valueAsNumber : pass);
  search(false);
  const pane = paneOf(link.get('pane') || 'source'), line = Number.parseInt(link.get('line') ?? '', 10);
  const row = pane && numbers(pane).get(line);
  pinned = null;
  if (row && row.dataset.k) {
    const part = all('.p', row)[Number.parseInt(link.get('part') ?? '', 10) - 1];
    fold(pane, false);
    pin(part || row);
    scrollTo([row]);
    pane.scrollIntoView({ block: 'nearest' });
  } else mark('pin', []);
  reading = false;
}

for (const choice of all('.choice')) {
  choice.dataset.first = choice.value;
  choice.addEventListener('change', () => { showView(choice.closest('.pane'), choice.value); search(true); writeLink(); });
}
for (const button of all('.fold'))
  button.addEventListener('click', () => {
    const pane = button.closest('.pane');
    fold(pane, !pane.classList.contains('closed'));
    writeLink();
  });
if (slider) {
  slider.addEventListener('input', () => { showPhase(slider.value); writeLink(); });
  document.getElementById('back').addEventListener('click', () => nextChange(-1));
  document.getElementById('ahead').addEventListener('click', () => nextChange(1));
  for (const radio of all('[name=show]')) radio.addEventListener('change', () => { showPhase(slider.value); writeLink(); });
  document.addEventListener('keydown', event => {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target !== slider) return;
    if (event.key === '[') nextChange(-1);
    if (event.key === ']') nextChange(1);
  });
}
document.getElementById('theme').addEventListener('click', () => {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches, now = document.documentElement.dataset.theme || (dark ? 'dark' : 'light');
  document.documentElement.dataset.theme = now === 'dark' ? 'light' : 'dark';
  writeLink();
});
window.addEventListener('hashchange', readLink);
readLink();
