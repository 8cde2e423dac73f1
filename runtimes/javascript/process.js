// `process`: the call's arguments, environment and streams, and how a script ends.

const { ampoule } = globalThis;
const { std, os, modules, coded, write, inspect, nextTick, hidden, absent, readers, wrongType } = ampoule;
const EventEmitter = modules.events;
const { Readable, Writable } = modules.stream;

const VERSION = "v20.20.2";
const process = new EventEmitter();

// --- Standard streams ---

class Output extends Writable {
  constructor(descriptor) {
    super({ decodeStrings: false });
    hidden(this, { fd: descriptor, _type: "pipe" });
  }

  // It takes all there is at once: what was written is out when the script goes on.
  write(chunk, encoding, callback) {
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    if (typeof chunk === "string") {
      if (encoding && !/^utf-?8$/i.test(encoding)) chunk = ampoule.encode(chunk, ampoule.encodingOf(encoding));
    } else if (!(chunk instanceof Uint8Array)) {
      throw wrongType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
    }
    write(this.fd, chunk);
    if (callback) nextTick(callback);
    return true;
  }

  end(chunk, encoding, callback) {
    if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    if (callback) nextTick(callback);
    return this;
  }

  _write(chunk, encoding, callback) {
    write(this.fd, chunk);
    callback();
  }

  destroy() {
    return this;
  }

  cursorTo() {
    return true;
  }

  clearLine() {
    return true;
  }

  moveCursor() {
    return true;
  }

  getWindowSize() {
    return [80, 24];
  }

  hasColors() {
    return false;
  }

  getColorDepth() {
    return 1;
  }
}

class Input extends Readable {
  constructor() {
    super({ highWaterMark: 65536 });
    hidden(this, { fd: 0 });
  }

  _read(size) {
    // When its turn comes: timers that are due go first.
    readers.push([() => {
      if (this.destroyed) return;
      const bytes = new Uint8Array(size);
      const read = os.read(0, bytes.buffer, 0, size);
      this.push(read > 0 ? ampoule.makeBuffer(bytes.subarray(0, read)) : null);
    }]);
  }

  setRawMode() {
    return this;
  }

  ref() {
    return this;
  }

  unref() {
    return this;
  }
}

function lazily(object, name, make) {
  Object.defineProperty(object, name, {
    get() {
      const value = make();
      Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: true });
      return value;
    },
    configurable: true,
    enumerable: true,
  });
}

process.stdout = new Output(1);
process.stderr = new Output(2);
lazily(process, "stdin", () => new Input());

// --- The end ---

let isLeaving = false, isReporting = false;

function exitCode(code) {
  if (code === undefined || code === null) return 0;
  const number = Number(code);
  return Number.isInteger(number) ? number & 255 : 1;
}

// A code is a whole number, also as a text.
function checkedCode(code) {
  if (code === undefined || code === null) return code;
  const number = typeof code === "string" && code !== "" && Number.isInteger(Number(code)) ? Number(code) : code;
  if (typeof number !== "number") throw wrongType("code", "of type number", code);
  if (!Number.isInteger(number)) throw ampoule.outOfRange("code", "an integer", number);
  return code;
}

// Leaves from wherever it is called.
function exit(code) {
  if (code !== undefined) process.exitCode = code;
  std.exit(leave());
}

// Tells the script that it ends, and gives the code with which.
function leave() {
  if (!isLeaving) {
    isLeaving = true;
    process.emit("exit", exitCode(process.exitCode));
  }
  return exitCode(process.exitCode);
}

// What nobody caught.
function fail(error, origin = "uncaughtException") {
  try {
    if (!isReporting) {
      process.emit("uncaughtExceptionMonitor", error, origin);
      if (process.emit("uncaughtException", error, origin)) return;
    }
  } catch (thrown) {
    error = thrown;
    process.exitCode = 7;
  }
  isReporting = true;
  ampoule.report(error);
  process.exitCode = process.exitCode === 7 ? 7 : 1;
  isReporting = false;
  try {
    std.exit(leave());
  } catch {
    std.exit(1);
  }
}

function report(error) {
  let text;
  try {
    text = ampoule.isError(error) ? errorReport(error) : valueReport(error);
  } catch {
    text = "Uncaught error that cannot be shown\n";
  }
  write(2, text);
}

function errorReport(error) {
  const head = ampoule.excerpt(error);
  return `${head}${inspect(error)}\n\nNode.js ${VERSION}\n`;
}

function valueReport(value) {
  return `Uncaught:\n${inspect(value)}\n(Use \`node --trace-uncaught ...\` to show where the exception was thrown)\n\nNode.js ${VERSION}\n`;
}

// Promises that were rejected and that nobody has handled so far.
const rejected = new Map();
const told = new WeakSet();

// Those that were handled after that was said.
const late = [];

function handledLate(promise) {
  if (!rejected.delete(promise) && told.delete(promise)) late.push(promise);
}

function rejections() {
  for (const promise of late.splice(0)) process.emit("rejectionHandled", promise);
  for (const [promise, reason] of rejected) {
    rejected.delete(promise);
    told.add(promise);
    if (process.emit("unhandledRejection", reason, promise)) continue;
    if (ampoule.isError(reason)) {
      fail(reason, "unhandledRejection");
    } else {
      const shown = typeof reason === "string" ? reason : inspect(reason);
      fail(coded(Error, "ERR_UNHANDLED_REJECTION", "This error originated either by throwing inside of an async function " +
        "without a catch block, or by rejecting a promise which was not handled with .catch(). The promise rejected " +
        `with the reason "${shown}".`), "unhandledRejection");
    }
  }
}

function warning(message, type = "Warning", code) {
  if (typeof message === "object" && message !== null && !(message instanceof Error)) ({ message, type = "Warning", code } = message);
  const error = message instanceof Error ? message : Object.assign(new Error(message), { name: type }, code ? { code } : {});
  nextTick(() => {
    process.emit("warning", error);
    write(2, `(node:${process.pid}) ${error.code ? `[${error.code}] ` : ""}${error.name}: ${error.message}\n`);
  });
}

// --- Time and memory ---


function hrtime(earlier) {
  const ms = performance.now();
  let seconds = Math.floor(ms / 1000), nanoseconds = Math.round((ms % 1000) * 1e6);
  if (earlier !== undefined) {
    seconds -= earlier[0];
    nanoseconds -= earlier[1];
    if (nanoseconds < 0) {
      seconds--;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
}
hrtime.bigint = () => BigInt(Math.round(performance.now() * 1e6));

// The engine does not say what it uses.
function memoryUsage() {
  const bytes = 4 << 20;
  return { rss: bytes, heapTotal: bytes, heapUsed: bytes, external: 0, arrayBuffers: 0 };
}
memoryUsage.rss = () => 4 << 20;

Object.assign(process, {
  title: "node",
  version: VERSION,
  versions: { node: VERSION.slice(1), quickjs: "0.17.0", ampoule: "0.1.0" },
  arch: "wasm32",
  platform: "linux",
  release: { name: "node" },
  argv: [],
  execArgv: [],
  env: {},
  pid: 1,
  ppid: 0,
  execPath: "/usr/local/bin/node",
  debugPort: 9229,
  argv0: "node",
  features: {},
  config: { target_defaults: {}, variables: {} },
  exit,
  reallyExit: (code) => std.exit(exitCode(code)),
  abort: () => std.exit(134),
  nextTick,
  hrtime,
  memoryUsage,
  emitWarning: warning,
  cwd: () => ampoule.cwd(),
  chdir(directory) {
    ampoule.requireString(directory, "directory");
    const failed = os.chdir(directory);
    if (failed < 0) throw ampoule.systemError(failed, "chdir", ampoule.cwd(), directory);
    ampoule.call.cwd = modules.path.resolve(ampoule.call.cwd, directory);
  },
  uptime: () => performance.now() / 1000,
  cpuUsage: (earlier) => {
    const user = Math.round((performance.now()) * 1000) - (earlier?.user ?? 0);
    return { user, system: 0 };
  },
  resourceUsage: () => ({ userCPUTime: Math.round((performance.now()) * 1000), systemCPUTime: 0, maxRSS: 4096 }),
  umask: () => 0o22,
  getuid: () => 0,
  geteuid: () => 0,
  getgid: () => 0,
  getegid: () => 0,
  getgroups: () => [0],
  kill() {
    throw absent("are no processes");
  },
  binding(name) {
    throw new Error(`No such module: ${name}`);
  },
  setUncaughtExceptionCaptureCallback() {},
  hasUncaughtExceptionCaptureCallback: () => false,
  getBuiltinModule: (name) => ampoule.builtIn(name),
});
let ownCode;
Object.defineProperty(process, "exitCode", {
  get: () => ownCode,
  set: (code) => void (ownCode = checkedCode(code)),
  configurable: true,
  enumerable: true,
});
process.off = EventEmitter.prototype.off;
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

// A variable is always text, as in the system's own environment.
const environment = (variables) => new Proxy(variables, {
  set(variables, name, value) {
    if (typeof name === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
    variables[name] = `${value}`;
    return true;
  },
  defineProperty(variables, name, descriptor) {
    if ("value" in descriptor) descriptor = { value: `${descriptor.value}`, writable: true, configurable: true, enumerable: true };
    return Reflect.defineProperty(variables, name, descriptor);
  },
});

// What is the same in every call; the image holds it.
const constant = std.getenviron();

function startProcess({ args, env, path }) {
  process.env = environment({ ...constant, ...env, PWD: ampoule.call.cwd });
  process.argv = [process.execPath, path, ...args];
}

Object.defineProperty(globalThis, "process", { value: process, writable: true, configurable: true, enumerable: false });
modules.process = process;
Object.assign(ampoule, { process, fail, report, leave, rejected, late, rejections, handledLate, warning, startProcess, exit, cwd: () => ampoule.call.cwd });
