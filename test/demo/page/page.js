// The page of server.py.  Texts from the server go into textContent only.
'use strict';

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const still = matchMedia('(prefers-reduced-motion: reduce)');
const chosen = Number(new URLSearchParams(location.search).get('player'));
const player = Number.isInteger(chosen) && chosen >= 1 && chosen <= 1000 ? chosen : 42;
// A screen reader hears of a new rank at most so often, in milliseconds.
const announceEvery = 4000;

let paused = false;
let latest = null;
let announced = null;
let announcing = null;

function cell(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}

function makeRow(entry) {
  const row = document.createElement('tr');
  const name = document.createElement('th');
  const link = document.createElement('a');
  name.scope = 'row';
  link.href = `?player=${entry.id}`;
  name.append(link);
  row.dataset.id = entry.id;
  row.classList.toggle('me', entry.id === player);
  row.append(cell('td', ''), name, cell('td', ''));
  return row;
}

// Set the text only if it is another one: what a reader has selected stays.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Show the entries.  A row stays the element of its player and moves to its place, so
// that the keyboard's focus moves with it.
function showRows(body, entries) {
  const rows = new Map([...body.rows].map((row) => [Number(row.dataset.id), row]));
  const before = new Map([...rows].map(([id, row]) => [id, row.offsetTop]));

  entries.forEach((entry, place) => {
    const row = rows.get(entry.id) || makeRow(entry);
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    rows.delete(entry.id);
    setText(row.cells[0], number.format(entry.rank));
    setText(row.querySelector('a'), entry.name);
    setText(row.cells[2], number.format(entry.score));
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
    if (focused && document.activeElement !== focused) focused.focus();
  });
  rows.forEach((row) => row.remove());
  if (still.matches) return;
  for (const row of body.rows) {
    const moved = before.get(Number(row.dataset.id)) - row.offsetTop;
    if (moved) {
      row.animate([{ transform: `translateY(${moved}px)` }, { transform: 'none' }], { duration: 400, easing: 'ease-out' });
    }
  }
}

function showHistogram(buckets, score) {
  const most = Math.max(...buckets.map((b) => b.members));
  const bars = $('bars');
  const body = $('histogram-rows');

  while (bars.children.length > buckets.length) bars.lastChild.remove();
  while (bars.children.length < buckets.length) bars.append(document.createElement('span'));
  while (body.rows.length > buckets.length) body.lastChild.remove();
  while (body.rows.length < buckets.length) {
    const row = document.createElement('tr');
    row.append(cell('th', ''), cell('td', ''));
    row.cells[0].scope = 'row';
    body.append(row);
  }
  buckets.forEach(({ lo, hi, members }, i) => {
    const mine = lo <= score && score <= hi;
    bars.children[i].style.height = `${100 * members / most}%`;
    bars.children[i].classList.toggle('me', mine);
    setText(body.rows[i].cells[0], `${number.format(lo)} to ${number.format(hi)}${mine ? ', yours' : ''}`);
    setText(body.rows[i].cells[1], number.format(members));
  });
  setText($('lowest'), number.format(buckets[0].lo));
  setText($('highest'), number.format(buckets[buckets.length - 1].hi));
  bars.setAttribute('aria-label', `Histogram of ratings from ${$('lowest').textContent} to ${$('highest').textContent}; ` +
    `yours is ${number.format(score)}`);
}

function announce(rank) {
  if (announced === null) announced = rank;
  if (announcing || rank === announced) return;
  announcing = setTimeout(() => {
    const { me } = latest;
    announcing = null;
    if (me.rank !== announced) {
      announced = me.rank;
      setText($('announcement'), `Your rank is ${number.format(me.rank)} of ${number.format(me.total)}.`);
    }
  }, announceEvery);
}

function show(state) {
  const { me } = state;
  latest = state;
  if (paused) return;
  setText($('name'), me.name);
  setText($('rank'), number.format(me.rank));
  setText($('total'), number.format(me.total));
  setText($('score'), number.format(me.score));
  setText($('percentile'), `${((me.total - me.rank) / me.total * 100).toFixed(1)} %`);
  showRows($('top-rows'), state.top);
  showRows($('around-rows'), state.around);
  showHistogram(state.histogram, me.score);
  announce(me.rank);
  document.title = `#${number.format(me.rank)} in the Arena`;
}

function showConnection(state) {
  $('connection').dataset.state = state;
  setText($('connection'), { live: paused ? 'Paused' : 'Live', lost: 'Reconnecting' }[state]);
}

async function playMatch() {
  const result = $('result');
  try {
    const response = await fetch(`/play?player=${player}`, { method: 'POST' });
    if (!response.ok) throw new Error(response.statusText);
    const { opponent, change } = await response.json();
    result.className = change > 0 ? 'won' : 'lost';
    result.textContent = change > 0 ? `Won against ${opponent}: +${change}` : `Lost to ${opponent}: −${-change}`;
  } catch {
    result.className = 'lost';
    result.textContent = 'The match was not played. Try again.';
  }
}

$('play').addEventListener('click', playMatch);
$('pause').addEventListener('click', () => {
  paused = !paused;
  $('pause').setAttribute('aria-pressed', String(paused));
  showConnection($('connection').dataset.state);
  if (!paused && latest) show(latest);
});

const events = new EventSource(`/events?player=${player}`);
events.onmessage = ({ data }) => {
  showConnection('live');
  show(JSON.parse(data));
};
events.onerror = () => showConnection('lost');
