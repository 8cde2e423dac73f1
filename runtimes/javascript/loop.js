// What waits for its time: `process.nextTick`, timers, immediates, and reads of standard input.
//
// `entry.wat` asks for one step after the other and runs the jobs that promises left after each.

const { ampoule } = globalThis;
const { os, modules, requireFunction } = ampoule;

// --- Ticks ---

let ticks = [];

function nextTick(callback, ...args) {
  requireFunction(callback, "callback");
  ticks.push({ callback, args });
}

// --- Timers ---

// Whole milliseconds, as Node counts them: timers of one millisecond fire in the order in which they were set.
const now = () => Math.floor(ampoule.now());
const timers = new Map();
let immediates = [];
let made = 0, scheduled = 0, firstRound = 1;

class Timeout {
  #refs = true;

  constructor(callback, args, delay, repeats) {
    this._idleTimeout = delay;
    this._onTimeout = callback;
    this._timerArgs = args.length > 0 ? args : undefined;
    this._repeat = repeats ? delay : null;
    this._destroyed = false;
    ampoule.hidden(this, { id: ++made, due: now() + delay });
    schedule(this);
  }

  ref() {
    this.#refs = true;
    return this;
  }

  unref() {
    this.#refs = false;
    return this;
  }

  hasRef() {
    return this.#refs;
  }

  refresh() {
    this.due = now() + this._idleTimeout;
    if (!this._destroyed) schedule(this);
    return this;
  }

  close() {
    clear(this);
    return this;
  }

  [Symbol.toPrimitive]() {
    return this.id;
  }

  [Symbol.dispose ?? Symbol.for("nodejs.dispose")]() {
    clear(this);
  }
}

class Immediate {
  #refs = true;

  constructor(callback, args) {
    this._onImmediate = callback;
    this._argv = args.length > 0 ? args : undefined;
    this._destroyed = false;
    immediates.push(this);
  }

  ref() {
    this.#refs = true;
    return this;
  }

  unref() {
    this.#refs = false;
    return this;
  }

  hasRef() {
    return this.#refs;
  }
}

function delayOf(delay) {
  delay = Number(delay);
  return delay >= 1 && delay <= 2 ** 31 - 1 ? Math.trunc(delay) : 1;
}

function setTimeout(callback, delay, ...args) {
  requireFunction(callback, "callback");
  return new Timeout(callback, args, delayOf(delay), false);
}

function setInterval(callback, delay, ...args) {
  requireFunction(callback, "callback");
  return new Timeout(callback, args, delayOf(delay), true);
}

function setImmediate(callback, ...args) {
  requireFunction(callback, "callback");
  return new Immediate(callback, args);
}

function clear(timer) {
  if (timer instanceof Immediate) return clearImmediate(timer);
  if (typeof timer === "number" || typeof timer === "string") timer = timers.get(Number(timer));
  if (!(timer instanceof Timeout)) return;
  timer._destroyed = true;
  timers.delete(timer.id);
}

const clearTimeout = (timer) => clear(timer);
const clearInterval = (timer) => clear(timer);

function clearImmediate(immediate) {
  if (!(immediate instanceof Immediate)) return;
  immediate._destroyed = true;
  immediates = immediates.filter((known) => known !== immediate);
}

function queueMicrotask(callback) {
  requireFunction(callback, "callback");
  void Promise.prototype.then.call(settled, () => {
    try {
      callback();
    } catch (error) {
      ampoule.fail(error);
    }
  });
}

const settled = Promise.resolve();

// --- Steps ---

// What is to be read, in the order it was asked for: functions that take a piece of standard input.
const readers = [];
let running;

// Runs one callback. What it throws goes to the script's own handlers, or ends the script.
function run(callback, self, args) {
  try {
    Reflect.apply(callback, self, args);
  } catch (error) {
    ampoule.fail(error);
  }
  runTicks();
}

function runTicks() {
  while (ticks.length > 0) {
    const due = ticks;
    ticks = [];
    for (let i = 0; i < due.length; i++) {
      try {
        Reflect.apply(due[i].callback, undefined, due[i].args);
      } catch (error) {
        ticks = [...due.slice(i + 1), ...ticks];
        ampoule.fail(error);
        break;
      }
    }
  }
}

// A heap of what is due when. A timer that was cleared or set anew leaves an entry that no longer holds.
const heap = [];
const isBefore = (a, b) => a.due < b.due || (a.due === b.due && a.order < b.order);

function schedule(timer) {
  timers.set(timer.id, timer);
  let i = heap.length;
  heap.push({ due: timer.due, order: ++scheduled, timer });
  while (i > 0 && isBefore(heap[i], heap[(i - 1) >> 1])) {
    const parent = (i - 1) >> 1;
    [heap[i], heap[parent]] = [heap[parent], heap[i]];
    i = parent;
  }
}

function dropFirst() {
  const last = heap.pop();
  if (heap.length === 0) return;
  heap[0] = last;
  let i = 0;
  while (true) {
    let least = i;
    for (const child of [2 * i + 1, 2 * i + 2]) {
      if (child < heap.length && isBefore(heap[child], heap[least])) least = child;
    }
    if (least === i) return;
    [heap[i], heap[least]] = [heap[least], heap[i]];
    i = least;
  }
}

// The timer that is due next.
function earliest() {
  while (heap.length > 0) {
    const { due, timer } = heap[0];
    if (!timer._destroyed && timer.due === due && timers.has(timer.id)) return timer;
    dropFirst();
  }
  return undefined;
}

function fire(timer) {
  if (timer._repeat === null) {
    timers.delete(timer.id);
    timer._destroyed = true;
  } else {
    timer.due = Math.max(now(), timer.due) + timer._repeat;
    schedule(timer);
  }
  run(timer._onTimeout, timer, timer._timerArgs ?? []);
}

// One thing that is due, or a wait for it. False when nothing is left that the script would wait for.
function step() {
  if (ampoule.kept.length > 0) ampoule.kept.length = 0;
  if (ticks.length > 0) {
    runTicks();
    return true;
  }
  if (running !== undefined && running.length > 0) {
    const immediate = running.shift();
    if (!immediate._destroyed) {
      immediate._destroyed = true;
      run(immediate._onImmediate, immediate, immediate._argv ?? []);
    }
    return true;
  }
  const next = earliest();
  // In the first round Node is no sooner here than a millisecond after it set its timers.
  if (next !== undefined && next.due <= now() + firstRound) {
    fire(next);
    return true;
  }
  firstRound = 0;
  if (immediates.length > 0) {
    running = immediates;
    immediates = [];
    return true;
  }
  if (readers.length > 0) {
    const [callback, ...args] = readers.shift();
    run(callback, undefined, args);
    return true;
  }
  // A timer that was let go of alone keeps nothing running.
  if (next === undefined || ![...timers.values()].some((timer) => timer.hasRef())) return false;
  os.sleep(Math.max(0, Math.ceil(next.due - now())));
  return true;
}

// --- Modules ---

function later(set, delay, value, options) {
  const signal = options?.signal;
  if (signal?.aborted) return Promise.reject(ampoule.aborted(signal));
  return new Promise((resolve, reject) => {
    const timer = set(() => resolve(value), delay);
    if (options?.ref === false) timer.unref();
    signal?.addEventListener("abort", () => {
      clear(timer);
      reject(ampoule.aborted(signal));
    });
  });
}

async function* every(delay, value, options) {
  while (true) yield await later(setTimeout, delay, value, options);
}

const promises = {
  setTimeout: (delay, value, options) => later(setTimeout, delay, value, options),
  setImmediate: (value, options) => later((callback) => setImmediate(callback), 0, value, options),
  setInterval: every,
  scheduler: {
    wait: (delay, options) => later(setTimeout, delay, undefined, options),
    yield: () => later((callback) => setImmediate(callback), 0),
  },
};
const custom = Symbol.for("nodejs.util.promisify.custom");
Object.defineProperty(setTimeout, custom, { value: promises.setTimeout, enumerable: true });
Object.defineProperty(setImmediate, custom, { value: promises.setImmediate, enumerable: true });

const all = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate, clearImmediate };
modules.timers = { ...all, promises };
modules["timers/promises"] = promises;
for (const [name, value] of Object.entries({ ...all, queueMicrotask })) {
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
}
Object.assign(ampoule, {
  nextTick,
  step,
  runTicks,
  readers,
  hasWork: () => ticks.length > 0 || immediates.length > 0 || readers.length > 0 || [...timers.values()].some((timer) => timer.hasRef()),
});
