// What browsers and servers share: events, abort signals, and what needs a network, which says that there is none.

const { ampoule } = globalThis;
const { coded, absent, hidden, inspect } = ampoule;

const LEGACY_CODES = {
  IndexSizeError: 1, NotFoundError: 8, NotSupportedError: 9, InvalidStateError: 11, SyntaxError: 12,
  InvalidAccessError: 15, InvalidCharacterError: 5, TimeoutError: 23, AbortError: 20, QuotaExceededError: 22,
  DataCloneError: 25,
};

class DOMException extends Error {
  #name;

  constructor(message = "", options = "Error") {
    super(message);
    this.#name = typeof options === "string" ? options : options?.name ?? "Error";
    if (typeof options === "object" && options !== null && "cause" in options) hidden(this, { cause: options.cause });
    const stack = String(this.stack);
    hidden(this, { stack: `${this.#name}: ${message}${stack.slice(stack.indexOf("\n    at") === -1 ? stack.length : stack.indexOf("\n    at"))}` });
  }

  get name() {
    return this.#name;
  }

  get code() {
    return LEGACY_CODES[this.#name] ?? 0;
  }
}
Object.defineProperty(DOMException.prototype, Symbol.toStringTag, { value: "DOMException", configurable: true });

// --- Events ---

class Event {
  #type;
  #options;
  #isStopped = false;
  #isPrevented = false;
  #timeStamp = performance.now();

  constructor(type, options = {}) {
    if (arguments.length === 0) throw coded(TypeError, "ERR_MISSING_ARGS", 'The "type" argument must be specified');
    this.#type = `${type}`;
    this.#options = options ?? {};
    hidden(this, { target: null, currentTarget: null, eventPhase: 0, isTrusted: false });
  }

  get type() {
    return this.#type;
  }

  get bubbles() {
    return Boolean(this.#options.bubbles);
  }

  get cancelable() {
    return Boolean(this.#options.cancelable);
  }

  get composed() {
    return Boolean(this.#options.composed);
  }

  get defaultPrevented() {
    return this.#isPrevented;
  }

  get timeStamp() {
    return this.#timeStamp;
  }

  preventDefault() {
    if (this.cancelable) this.#isPrevented = true;
  }

  stopPropagation() {}

  stopImmediatePropagation() {
    this.#isStopped = true;
  }

  composedPath() {
    return this.currentTarget === null ? [] : [this.currentTarget];
  }

  static isStopped(event) {
    return event.#isStopped;
  }
}
const { isStopped } = Event;
delete Event.isStopped;

class CustomEvent extends Event {
  #detail;

  constructor(type, options = {}) {
    super(type, options);
    this.#detail = options?.detail ?? null;
  }

  get detail() {
    return this.#detail;
  }
}

class EventTarget {
  #listeners = new Map();

  addEventListener(type, listener, options) {
    if (listener === null || listener === undefined) return;
    const { once = false, signal } = typeof options === "object" && options !== null ? options : {};
    if (signal?.aborted) return;
    const known = this.#listeners.get(type) ?? [];
    if (known.some((entry) => entry.listener === listener)) return;
    this.#listeners.set(type, [...known, { listener, once }]);
    signal?.addEventListener("abort", () => this.removeEventListener(type, listener));
  }

  removeEventListener(type, listener) {
    const known = this.#listeners.get(type) ?? [];
    this.#listeners.set(type, known.filter((entry) => entry.listener !== listener));
  }

  dispatchEvent(event) {
    if (!(event instanceof Event)) throw ampoule.wrongType("event", "an instance of Event", event);
    event.target = event.currentTarget = this;
    const handler = this[`on${event.type}`];
    const listeners = [...this.#listeners.get(event.type) ?? []];
    if (typeof handler === "function") listeners.push({ listener: handler, once: false });
    for (const { listener, once } of listeners) {
      if (once) this.removeEventListener(event.type, listener);
      try {
        if (typeof listener === "function") listener.call(this, event);
        else listener.handleEvent(event);
      } catch (error) {
        ampoule.nextTick(() => ampoule.fail(error));
      }
      if (isStopped(event)) break;
    }
    event.currentTarget = null;
    return !event.defaultPrevented;
  }

  [inspect.custom]() {
    return `${this.constructor.name} {}`;
  }
}

// --- Abort signals ---

const key = Symbol("made by the runtime");

class AbortSignal extends EventTarget {
  #isAborted = false;
  #reason;

  constructor(own) {
    super();
    if (own !== key) throw coded(TypeError, "ERR_ILLEGAL_CONSTRUCTOR", "Illegal constructor");
    hidden(this, { onabort: null });
  }

  get aborted() {
    return this.#isAborted;
  }

  get reason() {
    return this.#reason;
  }

  throwIfAborted() {
    if (this.#isAborted) throw this.#reason;
  }

  [inspect.custom]() {
    return `AbortSignal { aborted: ${this.#isAborted} }`;
  }

  static abort(reason) {
    const signal = new AbortSignal(key);
    abort(signal, reason);
    return signal;
  }

  static timeout(delay) {
    const signal = new AbortSignal(key);
    const expire = () => abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    setTimeout(expire, delay).unref();
    return signal;
  }

  static any(signals) {
    const signal = new AbortSignal(key);
    for (const other of signals) {
      if (other.aborted) {
        abort(signal, other.reason);
        break;
      }
      other.addEventListener("abort", () => abort(signal, other.reason), { once: true });
    }
    return signal;
  }

  static setAborted(signal, reason) {
    if (signal.#isAborted) return false;
    signal.#isAborted = true;
    signal.#reason = reason;
    return true;
  }
}
const { setAborted } = AbortSignal;
delete AbortSignal.setAborted;

function abort(signal, reason = new DOMException("This operation was aborted", "AbortError")) {
  if (setAborted(signal, reason)) signal.dispatchEvent(new Event("abort"));
}

class AbortController {
  #signal = new AbortSignal(key);

  get signal() {
    return this.#signal;
  }

  abort(reason) {
    abort(this.#signal, reason);
  }

  [inspect.custom]() {
    return `AbortController { signal: ${inspect(this.#signal)} }`;
  }
}

// --- Clocks ---

const nativeNow = performance.now.bind(performance);
let origin = 0, originTime = 0;
const marks = [];

const clock = {
  now: () => nativeNow() - origin,
  get timeOrigin() {
    return originTime;
  },
  mark(name, options) {
    const entry = { name, entryType: "mark", startTime: options?.startTime ?? clock.now(), duration: 0, detail: options?.detail ?? null };
    marks.push(entry);
    return entry;
  },
  measure(name, start, end) {
    if (typeof start === "object" && start !== null) ({ start, end } = start);
    const at = (mark, usual) => typeof mark === "number" ? mark : marks.findLast((entry) => entry.name === mark)?.startTime ?? usual;
    const startTime = at(start, 0);
    const entry = { name, entryType: "measure", startTime, duration: at(end, clock.now()) - startTime, detail: null };
    marks.push(entry);
    return entry;
  },
  getEntries: () => [...marks],
  getEntriesByName: (name) => marks.filter((entry) => entry.name === name),
  getEntriesByType: (type) => marks.filter((entry) => entry.entryType === type),
  clearMarks: (name) => void marks.splice(0, marks.length, ...marks.filter((entry) => entry.entryType !== "mark" || (name !== undefined && entry.name !== name))),
  clearMeasures: (name) => void marks.splice(0, marks.length, ...marks.filter((entry) => entry.entryType !== "measure" || (name !== undefined && entry.name !== name))),
  timerify: (callback) => callback,
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  toJSON: () => ({ timeOrigin: originTime }),
};
Object.defineProperty(clock, Symbol.toStringTag, { value: "Performance", configurable: true });
hidden(globalThis, { performance: clock });

// The clock of a call starts with it.
ampoule.startClock = () => {
  origin = nativeNow();
  originTime = Date.now();
};

// --- Headers and the like are of no use without a network ---

function fetch() {
  return Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: absent("is no network") }));
}

function refusing(name) {
  return {
    [name]: class {
      constructor() {
        throw absent("is no network");
      }
    },
  }[name];
}

hidden(globalThis, {
  DOMException, Event, CustomEvent, EventTarget, AbortSignal, AbortController, fetch,
  WebSocket: refusing("WebSocket"), XMLHttpRequest: refusing("XMLHttpRequest"), EventSource: refusing("EventSource"),
});
for (const Class of [Event, CustomEvent, EventTarget, AbortSignal, AbortController]) {
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: Class.name, configurable: true });
}
// Threads would need more than one instance.
for (const name of ["Atomics", "SharedArrayBuffer", "gc"]) delete globalThis[name];
Object.assign(ampoule, { DOMException, now: clock.now });
