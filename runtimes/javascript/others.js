// The smaller modules of Node's, and those that a sandbox cannot have: these fail where they are used, and say why.

const { ampoule } = globalThis;
const { modules, absent } = ampoule;

const signals = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGTRAP: 5, SIGABRT: 6, SIGKILL: 9, SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 };

modules.os = {
  EOL: "\n",
  devNull: "/dev/null",
  arch: () => "wasm32",
  platform: () => "linux",
  type: () => "Linux",
  release: () => "wasi",
  version: () => "WASI preview 1",
  machine: () => "wasm32",
  hostname: () => "sandbox",
  homedir: () => ampoule.process.env.HOME ?? ampoule.cwd(),
  tmpdir: () => ampoule.process.env.TMPDIR ?? "/tmp",
  endianness: () => "LE",
  cpus: () => [{ model: "WebAssembly", speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  availableParallelism: () => 1,
  totalmem: () => 512 * 2 ** 20,
  freemem: () => 256 * 2 ** 20,
  loadavg: () => [0, 0, 0],
  uptime: () => performance.now() / 1000,
  networkInterfaces: () => ({}),
  userInfo: () => ({ uid: 0, gid: 0, username: "sandbox", homedir: modules.os.homedir(), shell: null }),
  getPriority: () => 0,
  setPriority() {},
  constants: { signals, errno: { ...ampoule.errorNumbers }, priority: {} },
};

modules.constants = { ...modules.fs.constants, ...signals, ...ampoule.errorNumbers };
modules.perf_hooks = {
  performance,
  PerformanceObserver: class PerformanceObserver {
    observe() {}
    disconnect() {}
  },
  monitorEventLoopDelay: () => ({ enable() {}, disable() {}, min: 0, max: 0, mean: 0, stddev: 0, percentile: () => 0 }),
  constants: {},
};

// --- What belongs to one line of awaits ---
//
// It holds through what is called at once; the engine does not tell where a promise goes on.

class AsyncLocalStorage {
  #store;

  run(store, callback, ...args) {
    const before = this.#store;
    this.#store = store;
    try {
      return callback(...args);
    } finally {
      this.#store = before;
    }
  }

  exit(callback, ...args) {
    return this.run(undefined, callback, ...args);
  }

  getStore() {
    return this.#store;
  }

  enterWith(store) {
    this.#store = store;
  }

  disable() {
    this.#store = undefined;
  }

  static bind = (callback) => callback;
  static snapshot = () => (callback, ...args) => callback(...args);
}

class AsyncResource {
  constructor(type) {
    this.type = type;
  }

  runInAsyncScope(callback, self, ...args) {
    return Reflect.apply(callback, self, args);
  }

  bind(callback) {
    return callback;
  }

  emitDestroy() {
    return this;
  }

  asyncId() {
    return 1;
  }

  triggerAsyncId() {
    return 0;
  }

  static bind = (callback) => callback;
}
modules.async_hooks = {
  AsyncLocalStorage, AsyncResource, executionAsyncId: () => 1, triggerAsyncId: () => 0,
  createHook: () => ({ enable() {}, disable() {} }),
};

modules.tty = { isatty: () => false, ReadStream: class ReadStream {}, WriteStream: class WriteStream {} };
modules.v8 = {
  serialize: (value) => modules.buffer.Buffer.from(ampoule.bjson.write(value)),
  deserialize: (bytes) => ampoule.bjson.read(new Uint8Array(bytes).buffer, 0, bytes.length),
  getHeapStatistics: () => ({ total_heap_size: 4 << 20, used_heap_size: 4 << 20, heap_size_limit: 512 << 20 }),
  setFlagsFromString() {},
};
modules.vm = {
  runInThisContext: (code, options) =>
    ampoule.native.evaluate(String(code), (typeof options === "string" ? options : options?.filename) ?? "evalmachine.<anonymous>"),
  Script: class Script {
    #code;
    #options;

    constructor(code, options) {
      this.#code = code;
      this.#options = options;
    }

    runInThisContext() {
      return modules.vm.runInThisContext(this.#code, this.#options);
    }
  },
  isContext: () => false,
};
for (const name of ["createContext", "runInContext", "runInNewContext"]) {
  modules.vm[name] = () => {
    throw absent("is no second context for code");
  };
}
modules.diagnostics_channel = {
  channel: (name) => ({ name, hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe() {} }),
  hasSubscribers: () => false, subscribe() {}, unsubscribe() {},
};
modules.punycode = { toASCII: modules.url.domainToASCII, toUnicode: modules.url.domainToUnicode };

// --- What is not there ---

const PROCESSES = "are no processes";
const NETWORK = "is no network";
const ABSENT = {
  child_process: [PROCESSES, ["exec", "execSync", "execFile", "execFileSync", "spawn", "spawnSync", "fork", "ChildProcess"]],
  cluster: [PROCESSES, ["fork", "setupPrimary", "setupMaster"], { isMaster: true, isPrimary: true, isWorker: false, workers: {} }],
  worker_threads: ["are no threads", ["Worker", "MessageChannel", "BroadcastChannel"], { isMainThread: true, parentPort: null, workerData: null, threadId: 0 }],
  http: [NETWORK, ["request", "get", "createServer", "Server", "ClientRequest"], { METHODS: ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"], STATUS_CODES: {} }, ["Agent"]],
  https: [NETWORK, ["request", "get", "createServer", "Server"], {}, ["Agent"]],
  http2: [NETWORK, ["connect", "createServer", "createSecureServer"]],
  net: [NETWORK, ["connect", "createConnection", "createServer", "Socket", "Server"], { isIP, isIPv4: (text) => isIP(text) === 4, isIPv6: (text) => isIP(text) === 6 }],
  tls: [NETWORK, ["connect", "createServer", "createSecureContext", "TLSSocket"]],
  dgram: [NETWORK, ["createSocket", "Socket"]],
  dns: [NETWORK, ["lookup", "resolve", "resolve4", "resolve6", "reverse"], { promises: refusing(NETWORK, ["lookup", "resolve", "resolve4", "resolve6"]) }],
  "dns/promises": [NETWORK, ["lookup", "resolve", "resolve4", "resolve6"]],
  inspector: ["is no debugger", ["open", "Session"], { url: () => undefined, close() {} }],
  repl: ["is no terminal", ["start"]],
  zlib: ["is no compression", ["gzip", "gzipSync", "gunzip", "gunzipSync", "deflate", "deflateSync", "inflate", "inflateSync", "deflateRaw", "deflateRawSync", "inflateRaw", "inflateRawSync", "brotliCompress", "brotliCompressSync", "brotliDecompress", "brotliDecompressSync", "createGzip", "createGunzip", "createDeflate", "createInflate", "unzip", "unzipSync"], { constants: {} }],
  sqlite: ["is no database", ["DatabaseSync"]],
  wasi: ["is no WebAssembly", ["WASI"]],
};

function isIP(text) {
  if (/^(\d{1,3})(\.\d{1,3}){3}$/.test(text) && text.split(".").every((part) => part <= 255 && !/^0\d/.test(part))) return 4;
  return /^[0-9a-fA-F:.]+$/.test(text) && text.includes(":") && /^(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F.]{0,15}$/.test(text) ? 6 : 0;
}

function refusing(what, names) {
  return Object.fromEntries(names.map((name) => [name, {
    // A function and a class at once.
    [name]: function () {
      throw absent(what);
    },
  }[name]]));
}

for (const [name, [what, names, more = {}, classes = []]] of Object.entries(ABSENT)) {
  modules[name] = { ...refusing(what, names), ...more };
  for (const Class of classes) modules[name][Class] = class {};
}
