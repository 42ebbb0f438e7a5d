// The page of drl_view: exchanges messages with the program (view_session.cpp), and draws what it sends.

const $ = id => document.getElementById(id);
const create = (parent, tag, text = '') => Object.assign(parent.appendChild(document.createElement(tag)), {textContent: text});
const scene = $('scene'), drawing = new Drawing(scene);
let socket = null, facts = null, status = {}, frame = null, colors = null;
const recent = [];  // {time, actions} of the last 4 s
let terms = [], isNumbersDue = true, numbersOf = null;
let lasting = drawing.gl ? '' : 'This browser cannot draw with WebGL 2. Numbers and controls work all the same.';

// --- Messages ---

function send(message) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}
function connect() {
  socket = new WebSocket(location.href.replace(/^http/, 'ws').replace(/[^/]*$/, '') + 'socket');
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    for (const [id, mesh] of drawing.meshes) if (!mesh) drawing.meshes.delete(id);
    notice(lasting), send({visible: !document.hidden});
  };
  socket.onclose = () => {
    notice('The connection to drl_view is lost. The page tries again; if drl_view has ended, start it and open its new address.');
    setTimeout(connect, 2000);
  };
  socket.onmessage = ({data}) => {
    if (typeof data === 'string') {
      const message = JSON.parse(data);
      message.facts ? takeFacts(message) : takeStatus(message);
    } else if (new Uint32Array(data, 0, 1)[0] === 0xffffffff) {
      drawing.takeMesh(data), redraw();
    } else {
      takeFrame(data);
    }
  };
}
function notice(text) { $('notice').textContent = text, $('notice').hidden = !text; }
drawing.askForMesh = mesh => send({mesh});

function takeFacts(message) {
  facts = message;
  document.title = facts.task + ' - drl_view';
  $('task').textContent = facts.task;
  $('push').hidden = !facts.can_push, $('follow').hidden = !facts.follows_robot;
  $('commands').hidden = !facts.command, $('rewards').hidden = facts.terms.length === 0;
  if (facts.command) makeSliders();
  $('terms').replaceChildren();
  terms = facts.terms.map(name => {
    const row = create($('terms'), 'tr'), label = create(row, 'td', name);
    label.title = name;
    const bar = create(create(row, 'td'), 'div');
    bar.className = 'bar';
    return {row, fill: create(bar, 'i'), number: create(row, 'td'), most: 0};
  });
}
function takeStatus(message) {
  status = message;
  press('contacts', status.contacts);
  $('play').textContent = status.plays ? 'Pause' : 'Play';
  if (document.activeElement !== $('speed')) $('speed').value = Math.log10(status.speed);
  $('speed-of').textContent = `${+status.speed.toPrecision(2)}×`;
  $('policies').hidden = status.checkpoints.length === 0, $('newest').checked = status.follows;
  const options = [...$('checkpoint').options].map(o => o.value);
  if (options.join() !== status.checkpoints.join())
    $('checkpoint').replaceChildren(...status.checkpoints.map(name => new Option(name.replace(/^iter_0*(?=\d)/, 'iteration '), name)));
  $('checkpoint').value = status.checkpoint;
  const envs = facts && facts.envs > 1 ? `, ${facts.envs} environments` : '', pages = status.pages > 1 ? `, ${status.pages} pages open` : '';
  $('where').textContent = `episode ${status.episode}, step ${status.age}, return ${(status.return ?? NaN).toFixed(2)}${envs}${pages}`;
  $('texts').replaceChildren();
  const values = status.values.split('\n');
  status.names.split('\n').forEach((name, k) => name && (create($('texts'), 'dt', name), create($('texts'), 'dd', values[k])));
  if (status.trouble) notice(status.trouble);
  else if (socket && socket.readyState === WebSocket.OPEN) notice(lasting);
  $('release').hidden = status.command.length === 0;
  if (!held.size) sent = JSON.stringify(status.command);
  document.querySelectorAll('#sliders input').forEach((slider, k) => {
    if (document.activeElement === slider) return;
    slider.value = status.command.length ? status.command[k] : status.observed[k] || 0;
    slider.nextElementSibling || (slider.previousElementSibling.textContent = (+slider.value).toFixed(2));
  });
}
function takeFrame(data) {
  const head = new Uint32Array(data, 0, 4), numbers = new Float32Array(data);
  const isNew = !frame || frame.step !== head[3], first = headWords + head[0] * objectWords;
  frame = {data, step: head[3], camera: {at: Array.from(numbers.subarray(4, 7)), distance: numbers[7], azimuth: numbers[8],
    elevation: numbers[9]}, reward: numbers[11], terms: numbers.slice(first, first + head[1]),
    actions: numbers.slice(first + head[1], first + head[1] + head[2])};
  const now = performance.now() / 1000;
  if (isNew && frame.actions.length) recent.push({time: now, actions: frame.actions});
  while (recent.length && (recent[0].time < now - 4 || recent.length > 1000)) recent.shift();
  redraw();
}

// --- The view ---

const still = () => ({azimuth: 0, elevation: 0, zoom: 1, pan: [0, 0, 0], follows: true, at: null});
let turn = still(), isPushing = false;
function camera() {
  const {at, distance, azimuth, elevation} = frame.camera, middle = turn.follows ? at : turn.at;
  return {at: middle.map((x, k) => x + turn.pan[k]), distance: distance * turn.zoom, azimuth: azimuth + turn.azimuth,
    elevation: Math.max(-89, Math.min(60, elevation + turn.elevation))};
}
let isDue = false;
function redraw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    if (!frame) return;
    if (drawing.gl) draw();
    if (!isNumbersDue) return;
    isNumbersDue = false, numbersOf = frame, drawNumbers();
    setTimeout(() => { isNumbersDue = true; if (frame !== numbersOf) redraw(); }, 66);
  });
}
function draw() {
  const width = Math.round(scene.clientWidth * devicePixelRatio), height = Math.round(scene.clientHeight * devicePixelRatio);
  if (scene.width !== width || scene.height !== height) scene.width = width, scene.height = height;
  drawing.draw(frame.data, camera(), colors);
}
function takeColors() {
  const style = getComputedStyle(document.documentElement), value = name => style.getPropertyValue(name).trim();
  colors = {sky: [1, 3, 5].map(k => parseInt(value('--sky').substr(k, 2), 16) / 255), floor: +value('--floor'), rim: +value('--rim'),
    text: value('--faint'), line: value('--accent'), rule: value('--rule')};
  isNumbersDue = true, redraw();
}
function press(id, isOn) { $(id).setAttribute('aria-pressed', isOn); }

const pointers = new Map();
let pushFrom = null;
function pushOf(event) {  // m/s
  const {right, up} = directions(camera()), metres = drawing.metresPerPixel * devicePixelRatio * 3;
  const dx = (event.clientX - pushFrom.x) * metres, dy = (pushFrom.y - event.clientY) * metres;
  const limit = Math.min(1, 5 / Math.max(1e-9, Math.hypot(dx, dy)));
  return right.map((r, k) => limit * (dx * r + dy * up[k]));
}
scene.addEventListener('pointerdown', event => {
  scene.setPointerCapture(event.pointerId), scene.focus({preventScroll: true});
  pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  if (frame && facts.can_push && pointers.size === 1 && event.button === 0 && (isPushing || event.shiftKey))
    pushFrom = {x: event.clientX, y: event.clientY};
  else pushFrom = null;
});
scene.addEventListener('pointermove', event => {
  const last = pointers.get(event.pointerId);
  if (!last || !frame) return;
  const dx = event.clientX - last.x, dy = event.clientY - last.y, others = [...pointers].filter(([id]) => id !== event.pointerId);
  pointers.set(event.pointerId, {x: event.clientX, y: event.clientY});
  if (pushFrom) {
    const box = scene.getBoundingClientRect(), ends = {x1: pushFrom.x - box.left, y1: pushFrom.y - box.top,
      x2: event.clientX - box.left, y2: event.clientY - box.top};
    for (const name in ends) $('arrow').setAttribute(name, ends[name]);
    $('arrow').removeAttribute('hidden');
    return;
  }
  const move = (x, y) => {
    const {right, up} = directions(camera()), metres = drawing.metresPerPixel * devicePixelRatio;
    turn.pan = turn.pan.map((p, k) => p - metres * (x * right[k] - y * up[k]));
  };
  if (others.length === 1) {
    const other = others[0][1], length = p => Math.hypot(p.x - other.x, p.y - other.y);
    zoom(length(last) / Math.max(1, length({x: event.clientX, y: event.clientY}))), move(dx / 2, dy / 2);
  } else if (event.buttons & 6 || event.ctrlKey) {
    move(dx, dy);
  } else {
    turn.azimuth -= dx * 0.4, turn.elevation -= dy * 0.4;
  }
  redraw();
});
for (const type of ['pointerup', 'pointercancel'])
  scene.addEventListener(type, event => {
    pointers.delete(event.pointerId);
    if (pushFrom && type === 'pointerup') send({push: pushOf(event)});
    pushFrom = null, $('arrow').setAttribute('hidden', '');
  });
function zoom(factor) { turn.zoom = Math.max(0.05, Math.min(20, turn.zoom * factor)), redraw(); }
scene.addEventListener('wheel', event => { event.preventDefault(), zoom(Math.exp(event.deltaY * 0.001)); }, {passive: false});
scene.addEventListener('contextmenu', event => event.preventDefault());
scene.addEventListener('webglcontextlost', event => {
  event.preventDefault(), notice(lasting = 'The graphics were reset, and the picture comes back when the browser allows it.');
});
scene.addEventListener('webglcontextrestored', () => location.reload());

// --- Controls ---

const actions = {
  play: () => send({plays: !status.plays}),
  step: () => send({step: true}),
  restart: () => send({restart: true}),
  follow: () => {
    turn.follows = !turn.follows, turn.at = frame && frame.camera.at;
    press('follow', turn.follows), redraw();
  },
  'reset-view': () => { turn = still(), press('follow', true), redraw(); },
  push: () => { isPushing = !isPushing, press('push', isPushing); },
  contacts: () => send({contacts: !status.contacts}),
  release: () => { sent = '[]', send({command: []}); },
};
for (const id in actions) $(id).onclick = actions[id];
// After the mouse has used a button or a slider, keys command the robot again.
function toScene() { scene.focus({preventScroll: true}); }
addEventListener('click', event => { if (event.detail > 0 && event.target.tagName === 'BUTTON') toScene(); });
addEventListener('pointerup', event => { if (event.target.type === 'range') toScene(); });
$('speed').oninput = () => send({speed: 10 ** +$('speed').value});
$('checkpoint').onchange = () => { send({checkpoint: $('checkpoint').value}), toScene(); };
$('newest').onchange = () => send({follows: $('newest').checked});

let sent = '[]';
function command(numbers) {
  const [low, high] = facts.range, limited = numbers.map(x => Math.round(100 * Math.max(low, Math.min(high, x))) / 100);
  if (JSON.stringify(limited) === sent) return;
  sent = JSON.stringify(limited), send({command: limited});
}
function makeSliders() {
  const [low, high] = facts.range, box = $('sliders');
  if (box.children.length === facts.command.length) return;
  box.replaceChildren();
  facts.command.forEach(({name, unit}) => {
    const label = create(box, 'label', name + (unit ? ` (${unit})` : ''));
    create(label, 'output', '0.00');
    const slider = Object.assign(create(label, 'input'), {type: 'range', min: low, max: high, step: 0.01, value: 0});
    slider.oninput = () => {
      slider.previousElementSibling.textContent = (+slider.value).toFixed(2);
      command([...box.querySelectorAll('input')].map(input => +input.value));
    };
  });
}
// The number of a command that a key changes, and its direction.
const ways = {KeyW: [0, 1], ArrowUp: [0, 1], KeyS: [0, -1], ArrowDown: [0, -1], KeyA: [1, 1], KeyD: [1, -1],
  KeyQ: [2, 1], ArrowLeft: [2, 1], KeyE: [2, -1], ArrowRight: [2, -1]};
const shortcuts = {Space: 'play', Period: 'step', KeyR: 'restart', KeyF: 'follow', KeyV: 'reset-view'};
const held = new Set();
function commandOfKeys(isFast) {
  const numbers = facts.command.map(() => 0);
  for (const key of held) if (ways[key][0] < numbers.length) numbers[ways[key][0]] += ways[key][1] * (isFast ? 2 : 1);
  command(numbers);
}
addEventListener('keydown', event => {
  const tag = event.target.tagName, code = event.code;
  if (tag === 'SELECT' || (tag === 'INPUT' && !/^Key/.test(code)) || (tag === 'BUTTON' && /Space|Enter/.test(code))) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === 'Shift' && held.size) commandOfKeys(true);
  if (shortcuts[event.code] && !event.repeat) event.preventDefault(), $(shortcuts[event.code]).click();
  if (!facts || !facts.command || !ways[event.code]) return;
  event.preventDefault(), held.add(event.code), commandOfKeys(event.shiftKey);
});
addEventListener('keyup', event => {
  if (held.delete(event.code) || (event.key === 'Shift' && held.size)) commandOfKeys(event.shiftKey);
});
addEventListener('blur', () => { if (held.size) held.clear(), commandOfKeys(false); });

let pads = 0, padWasUsed = false;
addEventListener('gamepadconnected', () => { if (pads++ === 0) readPads(); });
addEventListener('gamepaddisconnected', () => { pads -= 1; });
function readPads() {
  const pad = [...navigator.getGamepads()].find(Boolean);
  if (pad && facts && facts.command) {
    const steady = x => Math.abs(x || 0) < 0.12 ? 0 : -x, [left, ahead, turning] = pad.axes.map(steady);
    const isUsed = Boolean(left || ahead || turning);
    if (isUsed || padWasUsed) command([ahead, left, turning].slice(0, facts.command.length));
    padWasUsed = isUsed;
  }
  if (pads > 0) setTimeout(readPads, 50);
}

// --- Numbers ---

function drawNumbers() {
  $('reward').textContent = frame.reward.toFixed(3) + ' in the last step';
  terms.forEach((term, k) => {
    const value = frame.terms[k] || 0;
    term.most = Math.max(0.995 * term.most, Math.abs(value));
    term.row.classList.toggle('unused', term.most === 0);
  });
  const most = Math.max(1e-9, ...terms.map(term => term.most));
  terms.forEach((term, k) => {
    const value = frame.terms[k] || 0, share = 50 * Math.min(1, Math.abs(value) / most);
    term.fill.className = value < 0 ? 'minus' : '';
    term.fill.style.left = (value < 0 ? 50 - share : 50) + '%', term.fill.style.width = share + '%';
    term.number.textContent = value.toFixed(3).replace(/^-(?=[0.]+$)/, '');
  });
  drawActions();
}
function drawActions() {
  const canvas = $('actions'), count = frame.actions.length, row = 36;
  if (!count || !canvas.clientWidth) return;
  const width = canvas.clientWidth, scale = devicePixelRatio;
  canvas.style.height = count * row + 'px';
  if (canvas.width !== Math.round(width * scale)) canvas.width = Math.round(width * scale);
  if (canvas.height !== Math.round(count * row * scale)) canvas.height = Math.round(count * row * scale);
  const pen = canvas.getContext('2d'), now = performance.now() / 1000;
  pen.setTransform(scale, 0, 0, scale, 0, 0), pen.clearRect(0, 0, width, count * row);
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif', pen.lineWidth = 1.3;
  for (let k = 0; k < count; ++k) {
    const of = recent.map(r => r.actions[k]), low = Math.min(...of), high = Math.max(...of);
    const middle = (low + high) / 2, half = Math.max(0.05, (high - low) / 2), y = a => row * k + 23 - (a - middle) / half * 8;
    pen.strokeStyle = colors.rule, pen.beginPath(), pen.moveTo(0, row * (k + 1)), pen.lineTo(width, row * (k + 1)), pen.stroke();
    pen.strokeStyle = colors.line, pen.beginPath();
    recent.forEach((r, n) => {
      const x = width * (1 - (now - r.time) / 4);
      n ? pen.lineTo(x, y(r.actions[k])) : pen.moveTo(x, y(r.actions[k]));
    });
    pen.stroke();
    pen.fillStyle = colors.text, pen.fillText(facts.actions[k], 0, row * k + 12);
    const text = frame.actions[k].toFixed(2);
    pen.fillText(text, width - pen.measureText(text).width, row * k + 12);
  }
}

document.addEventListener('visibilitychange', () => send({visible: !document.hidden}));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', takeColors);
new ResizeObserver(redraw).observe(scene);
takeColors();
notice(lasting);
connect();
