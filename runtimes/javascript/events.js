// `node:events`.

const { ampoule } = globalThis;
const { modules, coded, requireFunction, hidden } = ampoule;

class EventEmitter {
  static defaultMaxListeners = 10;
  static captureRejections = false;

  constructor() {
    begin(this);
  }

  setMaxListeners(count) {
    this._maxListeners = count;
    return this;
  }

  getMaxListeners() {
    return this._maxListeners ?? EventEmitter.defaultMaxListeners;
  }

  emit(name, ...args) {
    const listeners = listenersOf(this, name);
    if (listeners.length === 0) {
      if (name !== "error") return false;
      const [error] = args;
      if (error instanceof Error) throw error;
      const shown = ampoule.inspect(error);
      throw coded(Error, "ERR_UNHANDLED_ERROR", `Unhandled error. (${shown})`, { context: error });
    }
    // A listener may take others away: those of this time are called all the same.
    for (const listener of [...listeners]) Reflect.apply(listener, this, args);
    return true;
  }

  on(name, listener) {
    return add(this, name, listener, false);
  }

  prependListener(name, listener) {
    return add(this, name, listener, true);
  }

  once(name, listener) {
    requireFunction(listener, "listener");
    return add(this, name, onceOf(this, name, listener), false);
  }

  prependOnceListener(name, listener) {
    requireFunction(listener, "listener");
    return add(this, name, onceOf(this, name, listener), true);
  }

  off(name, listener) {
    requireFunction(listener, "listener");
    const listeners = listenersOf(this, name);
    const index = listeners.findLastIndex((known) => known === listener || known.listener === listener);
    if (index === -1) return this;
    const rest = listeners.toSpliced(index, 1);
    if (rest.length === 0) {
      delete this._events[name];
      this._eventsCount--;
    } else {
      keep(this, name, rest);
    }
    if (this._events.removeListener !== undefined) this.emit("removeListener", name, listener);
    return this;
  }

  removeAllListeners(name) {
    if (this._events === undefined) return this;
    if (name === undefined) {
      this._events = Object.create(null);
      this._eventsCount = 0;
    } else if (this._events[name] !== undefined) {
      delete this._events[name];
      this._eventsCount--;
    }
    return this;
  }

  listeners(name) {
    return listenersOf(this, name).map((listener) => listener.listener ?? listener);
  }

  rawListeners(name) {
    return [...listenersOf(this, name)];
  }

  listenerCount(name, listener) {
    const listeners = listenersOf(this, name);
    if (listener === undefined) return listeners.length;
    return listeners.filter((known) => known === listener || known.listener === listener).length;
  }

  eventNames() {
    return Reflect.ownKeys(this._events ?? {});
  }
}
EventEmitter.prototype.addListener = EventEmitter.prototype.on;
EventEmitter.prototype.removeListener = EventEmitter.prototype.off;

const shapeMode = Symbol("shapeMode"), kCapture = Symbol("kCapture");

function begin(emitter) {
  if (!Object.hasOwn(emitter, "_events") || emitter._events === undefined) emitter._events = Object.create(null);
  emitter._eventsCount = 0;
  emitter._maxListeners = undefined;
  emitter[shapeMode] = false;
  emitter[kCapture] = false;
}

// One listener is kept as it is, several as an array.
function listenersOf(emitter, name) {
  const found = emitter._events?.[name];
  return found === undefined ? [] : typeof found === "function" ? [found] : found;
}

function keep(emitter, name, listeners) {
  emitter._events[name] = listeners.length === 1 ? listeners[0] : listeners;
}

function add(emitter, name, listener, first) {
  requireFunction(listener, "listener");
  emitter._events ??= Object.create(null);
  if (emitter._events.newListener !== undefined) emitter.emit("newListener", name, listener.listener ?? listener);
  const known = listenersOf(emitter, name);
  if (known.length === 0) emitter._eventsCount = (emitter._eventsCount ?? 0) + 1;
  const all = first ? [listener, ...known] : [...known, listener];
  keep(emitter, name, all);
  const most = emitter._maxListeners ?? EventEmitter.defaultMaxListeners;
  if (most > 0 && all.length === most + 1) warnOfMany(emitter, name, all.length, most);
  return emitter;
}

function warnOfMany(emitter, type, count, most) {
  const warning = new Error(`Possible EventEmitter memory leak detected. ${count} ${String(type)} listeners added to ` +
    `${ampoule.inspect(emitter, { depth: -1 })}. MaxListeners is ${most}. Use emitter.setMaxListeners() to increase limit`);
  ampoule.warning(Object.assign(warning, { name: "MaxListenersExceededWarning", emitter, type, count }));
}

function onceOf(emitter, name, listener) {
  const onceWrapper = function (...args) {
    emitter.off(name, wrapped);
    return Reflect.apply(listener, emitter, args);
  };
  const wrapped = onceWrapper.bind(undefined);
  wrapped.listener = listener;
  return wrapped;
}

// The first time that an emitter says `name`, as a promise.
function once(emitter, name, options) {
  return new Promise((resolve, reject) => {
    if (options?.signal?.aborted) return reject(aborted(options.signal));
    if (typeof emitter.addEventListener === "function") {
      return emitter.addEventListener(name, (event) => resolve([event]), { once: true });
    }
    const failed = (error) => {
      emitter.off(name, happened);
      reject(error);
    };
    const happened = (...args) => {
      emitter.off("error", failed);
      resolve(args);
    };
    emitter.once(name, happened);
    if (name !== "error") emitter.once("error", failed);
    options?.signal?.addEventListener("abort", () => {
      emitter.off(name, happened);
      emitter.off("error", failed);
      reject(aborted(options.signal));
    });
  });
}

function aborted(signal) {
  const error = new Error("The operation was aborted", { cause: signal?.reason });
  error.name = "AbortError";
  error.code = "ABORT_ERR";
  return error;
}

// Every time that an emitter says `name`, as an async iterator.
function on(emitter, name, options) {
  const waiting = [], happened = [];
  let failure, isDone = false;
  const listener = (...args) => waiting.length > 0 ? waiting.shift().resolve({ value: args, done: false }) : happened.push(args);
  const fail = (error) => waiting.length > 0 ? waiting.shift().reject(error) : void (failure = error);
  const finish = () => {
    isDone = true;
    emitter.off(name, listener);
    emitter.off("error", fail);
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done: true });
    return Promise.resolve({ value: undefined, done: true });
  };
  emitter.on(name, listener);
  if (name !== "error") emitter.on("error", fail);
  for (const event of options?.close ?? []) emitter.on(event, finish);
  options?.signal?.addEventListener("abort", () => fail(aborted(options.signal)));
  return {
    next() {
      if (happened.length > 0) return Promise.resolve({ value: happened.shift(), done: false });
      if (failure !== undefined) {
        const error = failure;
        failure = undefined;
        return Promise.reject(error);
      }
      if (isDone) return Promise.resolve({ value: undefined, done: true });
      return new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return: finish,
    throw: fail,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

// Scripts also call it without `new`, on an object that inherits from it.
const Callable = new Proxy(EventEmitter, {
  apply(target, self) {
    begin(self);
  },
});
hidden(EventEmitter.prototype, { constructor: Callable });
for (const name of Object.getOwnPropertyNames(EventEmitter.prototype)) {
  Object.defineProperty(EventEmitter.prototype, name, { enumerable: name !== "constructor" });
}
Object.assign(Callable, { EventEmitter: Callable, once, on, errorMonitor: Symbol("events.errorMonitor") });
Callable.listenerCount = (emitter, name) => emitter.listenerCount(name);
Callable.getEventListeners = (emitter, name) => emitter.listeners?.(name) ?? [];
Callable.setMaxListeners = (count, ...emitters) => emitters.forEach((emitter) => emitter.setMaxListeners?.(count));

modules.events = Callable;
ampoule.aborted = aborted;
