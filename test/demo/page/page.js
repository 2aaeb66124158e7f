// The page of server.py.  Texts from the server go into textContent only.
'use strict';

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact' });
const regions = new Intl.DisplayNames('en', { type: 'region' });
const still = matchMedia('(prefers-reduced-motion: reduce)');
// A screen reader hears of a new rank at most so often, in milliseconds.
const announceEvery = 4000;

// What is asked for: the player, the board, and the rank to show, or none for one's own.
const view = { player: new URLSearchParams(location.search).get('player'), board: 'global', place: null };
// By board and player, the rank that was seen first: what the arrows compare with.
const seen = new Map();

let paused = false;
let latest = null;
let asking = false;
let stale = false;
let arriving = null;
let announced = null;
let announcing = null;
let typing = null;
let searching = 0;
let events = null;

function make(tag, text, className) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
}

// Set the text only if it is another one: what a reader has selected stays.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const nameOf = ({ name, member, id }) => name ?? `Player ${member ?? id}`;
const milliseconds = (ms) => `${ms < 10 ? ms.toFixed(2) : ms.toFixed(0)} ms`;

// Show how long the card's statement took, and the statement.
function showStatement(id, { ms, sql }) {
  const drawer = $(id).querySelector('.sql');
  setText(drawer.querySelector('.ms'), `${milliseconds(ms)}, round trip included`);
  setText(drawer.querySelector('pre'), sql);
}

function clearChange(element, text) {
  element.className = 'change';
  element.removeAttribute('role');
  element.removeAttribute('aria-label');
  setText(element, text);
}

// An arrow for how many ranks the player has moved since the page saw the player first.
function showChange(element, member, rank) {
  const key = `${latest.view.board} ${member}`;
  if (seen.size > 20000) seen.clear();
  if (!seen.has(key)) seen.set(key, rank);
  const up = seen.get(key) - rank;
  clearChange(element, up ? `${up > 0 ? '▲' : '▼'} ${short.format(Math.abs(up))}` : '');
  if (!up) return;
  // A screen reader says what the arrow means.
  element.classList.add(up > 0 ? 'up' : 'down');
  element.setAttribute('role', 'img');
  element.setAttribute('aria-label', `${up > 0 ? 'up' : 'down'} ${number.format(Math.abs(up))}`);
}

function makeRow(entry) {
  const row = make('tr');
  const name = make('th');
  const link = make('a');
  const change = make('td');
  name.scope = 'row';
  link.href = `?player=${entry.member}`;
  name.append(link, make('span', '', 'nation'));
  change.append(make('span', '', 'change'));
  row.dataset.id = entry.member;
  row.append(make('td'), change, name, make('td'));
  return row;
}

// Show the list.  A row stays the element of its player and moves to its place, so
// that the keyboard's focus moves with it.
function showList(entries) {
  const body = $('list-rows');
  const rows = new Map([...body.rows].map((row) => [Number(row.dataset.id), row]));
  const before = new Map([...rows].map(([id, row]) => [id, row.offsetTop]));

  entries.forEach((entry, place) => {
    const row = rows.get(entry.member) || makeRow(entry);
    const focused = row.contains(document.activeElement) ? document.activeElement : null;
    rows.delete(entry.member);
    setText(row.cells[0], number.format(entry.rank));
    showChange(row.querySelector('.change'), entry.member, entry.rank);
    setText(row.querySelector('a'), nameOf(entry));
    setText(row.querySelector('.nation'), entry.country ?? '');
    setText(row.cells[3], number.format(entry.score));
    row.classList.toggle('me', entry.member === latest.player.id);
    row.classList.toggle('aim', entry.rank === latest.view.place);
    if (body.rows[place] !== row) body.insertBefore(row, body.rows[place] || null);
    if (focused && document.activeElement !== focused) focused.focus();
  });
  rows.forEach((row) => row.remove());
  $('empty').hidden = entries.length > 0;
  if (still.matches) return;
  for (const row of body.rows) {
    const moved = before.get(Number(row.dataset.id)) - row.offsetTop;
    if (moved) {
      row.animate([{ transform: `translateY(${moved}px)` }, { transform: 'none' }],
        { duration: 400, easing: 'ease-out' });
    }
  }
}

function showPodium(entries) {
  const steps = $('steps');
  while (steps.children.length > entries.length) steps.lastChild.remove();
  while (steps.children.length < entries.length) {
    const step = make('li');
    step.append(make('i', String(steps.children.length + 1)), make('a'), make('b'));
    steps.append(step);
  }
  entries.forEach((entry, i) => {
    const [, link, score] = steps.children[i].children;
    link.setAttribute('href', `?player=${entry.member}`);
    setText(link, nameOf(entry));
    setText(score, number.format(entry.score));
  });
}

// Ticks: what they say, and how far along the axis they are, from 0 to 1.
function showAxis(axis, side, ticks) {
  while (axis.children.length > ticks.length) axis.lastChild.remove();
  while (axis.children.length < ticks.length) axis.append(make('span'));
  ticks.forEach(([value, at], i) => {
    setText(axis.children[i], short.format(value));
    axis.children[i].style[side] = `${100 * at}%`;
  });
}

function showHistogram(buckets, score) {
  const bars = $('bars');
  const body = $('histogram-rows');
  const decades = Math.log10(Math.max(1, ...buckets.map((b) => b.members))) + 1;

  while (bars.children.length > buckets.length) bars.lastChild.remove();
  while (bars.children.length < buckets.length) bars.append(make('span'));
  while (body.rows.length > buckets.length) body.lastChild.remove();
  while (body.rows.length < buckets.length) {
    const row = make('tr');
    row.append(make('th'), make('td'));
    row.cells[0].scope = 'row';
    body.append(row);
  }
  buckets.forEach(({ lo, hi, members }, i) => {
    const mine = score !== null && lo <= score && score <= hi;
    const scores = `${number.format(lo)} to ${number.format(hi)}`;
    bars.children[i].style.height = `${members && 100 * (Math.log10(members) + 1) / decades}%`;
    bars.children[i].title = `${scores}: ${number.format(members)} players`;
    bars.children[i].classList.toggle('me', mine);
    setText(body.rows[i].cells[0], `${scores}${mine ? ', yours' : ''}`);
    setText(body.rows[i].cells[1], number.format(members));
  });
  if (!buckets.length) return;
  const lowest = buckets[0].lo;
  const highest = buckets[buckets.length - 1].hi;
  showAxis($('x-axis'), 'left', [0, 1, 2, 3, 4].map((i) => [Math.round(lowest + i / 4 * (highest - lowest)), i / 4]));
  showAxis($('y-axis'), 'bottom',
    Array.from({ length: Math.floor(decades) }, (_, i) => [10 ** i, (i + 1) / decades]));
  $('plot').setAttribute('aria-label', `Histogram of scores from ${number.format(lowest)} to ${number.format(highest)}` +
    (score === null ? '' : `; yours is ${number.format(score)}`));
}

function announce(rank) {
  announced ??= rank;
  if (announcing || rank === announced) return;
  announcing = setTimeout(() => {
    const { rank: now } = latest.you.rows[0];
    announcing = null;
    if (latest.view.board !== 'global' || now === announced) return;
    announced = now;
    setText($('announcement'), `Your rank is ${number.format(now)} of ${number.format(latest.total)}.`);
  }, announceEvery);
}

// The first answer says who is looking and which countries there are.
function begin({ player, countries }) {
  view.player = player.id;
  history.replaceState(null, '', `?player=${player.id}`);
  for (const code of countries) {
    const option = make('option', regions.of(code));
    option.value = `country:${code}`;
    $('country').append(option);
  }
  $('country').append(...[...$('country').options].slice(1).sort((a, b) => a.text.localeCompare(b.text)));
  $('countries').hidden = countries.length === 0;
  events = new EventSource(`/events?player=${player.id}`);
  events.onmessage = () => {
    showConnection('live');
    if (!paused) refresh();
  };
  events.onerror = () => showConnection('lost');
}

function show(state, asked) {
  const { player, total, matches, you, list } = state;
  const { rank, score, percentile } = you.rows[0];
  const shown = list.rows.map((row) => row.rank);
  const around = asked.place === null && rank !== null;
  const place = asked.place ?? rank ?? 1;
  const format = (value, prefix = '') => value === null ? '–' : prefix + number.format(value);

  if (!latest) begin(state);
  latest = { ...state, view: asked };
  setText($('subtitle'), `${number.format(total)} players, ` +
    `${matches ? `${number.format(matches)} matches a second, ` : ''}ranked inside PostgreSQL`);
  setText($('name'), nameOf(player));
  setText($('nation'), player.country ?? '');
  setText($('rank'), format(rank));
  setText($('total'), number.format(total));
  if (rank === null) clearChange($('moved'), 'not on this board');
  else showChange($('moved'), player.id, rank);
  setText($('score'), format(score));
  // Rounded down: only the best is at 100.
  setText($('percentile'), percentile === null ? '–' : (Math.floor(percentile * 100) / 100).toFixed(2));
  setText($('took'), milliseconds(you.ms));
  setText($('own-rank'), format(rank, '#'));
  setText($('own-name'), nameOf(player));
  setText($('own-score'), format(score));

  setText($('list-title'), around || !shown.length ? 'Around you' :
    `Ranks ${number.format(shown[0])} to ${number.format(shown[shown.length - 1])}`);
  $('mine').setAttribute('aria-pressed', String(around));
  $('place').max = $('slider').max = Math.max(1, total);
  // What is being typed or dragged stays.
  if (document.activeElement !== $('place')) $('place').value = place;
  if (document.activeElement !== $('slider')) $('slider').value = place;
  $('slider').setAttribute('aria-valuetext', `rank ${number.format(place)} of ${number.format(total)}`);
  showList(list.rows);
  showPodium(state.podium.rows);
  showHistogram(state.histogram.rows, score);
  for (const id of ['you', 'podium', 'list', 'histogram']) showStatement(id, state[id]);
  if (asked.board === 'global' && rank !== null) announce(rank);
  document.title = rank === null ? 'Arena' : `#${number.format(rank)} in the Arena`;
}

function showConnection(state) {
  $('connection').dataset.state = state;
  setText($('connection'), { live: paused ? 'Paused' : 'Live', lost: 'Reconnecting' }[state]);
}

function showMissing() {
  document.querySelector('main').hidden = true;
  $('missing').hidden = false;
  const link = make('a', 'Look at the board as another one.');
  link.href = '/';
  $('missing').replaceChildren(`There is no player ${view.player}. `, link);
  $('connection').dataset.state = 'none';
  setText($('connection'), 'No player');
}

// Ask for what is to be seen now.  One question at a time: what changes meanwhile is
// asked afterwards, at once, so a drag along the list is as quick as the answers.
async function refresh() {
  stale = true;
  if (asking) return;
  asking = true;
  try {
    while (stale) {
      stale = false;
      const asked = { ...view };
      const query = new URLSearchParams(Object.entries(asked).filter(([, value]) => value !== null));
      const response = await fetch(`/state?${query}`);
      if (response.status === 400 || response.status === 404) showMissing();
      else if (response.ok) show(await response.json(), asked);
      else throw new Error(response.statusText);
    }
  } catch {
    showConnection('lost');
  }
  asking = false;
}

const rankOfFirst = () => latest.list.rows[0]?.rank ?? 1;

// To a rank, or back to one's own.  A screen reader hears where the list has got to.
function jump(place) {
  view.place = place;
  refresh();
  clearTimeout(arriving);
  arriving = setTimeout(() => {
    setText($('jumped'), `${$('list-title').textContent}, of ${number.format(latest.total)}`);
  }, 700);
}

function choose(board) {
  const country = board.startsWith('country:');
  view.board = board;
  for (const tab of $('periods').children) {
    const selected = tab.dataset.board === (country ? 'global' : board);
    tab.setAttribute('aria-selected', String(selected));
    tab.tabIndex = selected ? 0 : -1;
    if (selected) $('list').setAttribute('aria-labelledby', tab.id);
  }
  $('country').value = country ? board : '';
  jump(null);
}

async function playMatch() {
  const result = $('result');
  try {
    const response = await fetch(`/play?player=${view.player}`, { method: 'POST' });
    if (!response.ok) throw new Error(response.statusText);
    const { change, previous_rank: before, rank } = await response.json();
    const ranks = Math.abs(before - rank);
    result.className = change > 0 ? 'won' : 'lost';
    result.textContent = `${change > 0 ? 'Won +' : 'Lost −'}${number.format(Math.abs(change))}` +
      (ranks ? `: ${number.format(ranks)} ${ranks > 1 ? 'ranks' : 'rank'} ${rank < before ? 'up' : 'down'}` : '');
    if (!paused) refresh();
  } catch {
    result.className = 'lost';
    result.textContent = 'The match was not played. Try again.';
  }
}

// The search.  Only the answer to the latest question is shown.
async function search() {
  const text = $('text').value.trim();
  const mine = ++searching;
  $('found').hidden = !text;
  if (!text) return;
  const response = await fetch(`/search?${new URLSearchParams({ text })}`);
  const hits = response.ok ? await response.json() : { rows: [], ms: 0, sql: '' };
  if (mine !== searching) return;
  $('hits').replaceChildren(...hits.rows.map((hit) => {
    const item = make('li');
    const link = make('a', nameOf(hit));
    link.href = `?player=${hit.member}`;
    link.append(' ', make('span', hit.country ?? '', 'nation'), ' ', make('b', `#${number.format(hit.rank)}`));
    item.append(link);
    return item;
  }));
  setText($('hit-count'), hits.rows.length ? `${hits.rows.length} players, with their ranks among all` : 'No player found');
  showStatement('found', hits);
}

$('play').addEventListener('click', playMatch);
$('pause').addEventListener('click', () => {
  paused = !paused;
  $('pause').setAttribute('aria-pressed', String(paused));
  showConnection($('connection').dataset.state);
  if (!paused) refresh();
});

$('periods').addEventListener('click', ({ target }) => target.dataset.board && choose(target.dataset.board));
$('periods').addEventListener('keydown', (event) => {
  const tabs = [...$('periods').children];
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (!step) return;
  const tab = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  event.preventDefault();
  tab.focus();
  choose(tab.dataset.board);
});
$('country').addEventListener('change', () => choose($('country').value || 'global'));

$('jump').addEventListener('submit', (event) => {
  event.preventDefault();
  jump(Number($('place').value));
});
$('slider').addEventListener('input', () => {
  $('place').value = $('slider').value;
  jump(Number($('slider').value));
});
$('first').addEventListener('click', () => jump(1));
$('previous').addEventListener('click', () => jump(Math.max(1, rankOfFirst() - latest.list.rows.length)));
$('next').addEventListener('click', () => jump(Math.min(latest.total, rankOfFirst() + latest.list.rows.length)));
$('mine').addEventListener('click', () => jump(null));

$('text').addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(search, 150);
});
$('search').addEventListener('submit', (event) => {
  event.preventDefault();
  search();
});
$('search').addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') $('found').hidden = true;
});
$('search').addEventListener('focusout', ({ relatedTarget }) => {
  if (!$('search').contains(relatedTarget)) $('found').hidden = true;
});
$('text').addEventListener('focus', search);

new IntersectionObserver(([you]) => { $('own').hidden = you.isIntersecting || !latest; }).observe($('you'));
refresh();
