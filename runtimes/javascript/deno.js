// `Deno`: what its scripts use of files, the environment and the standard streams.

const { ampoule } = globalThis;
const { modules, absent, utf8, write, os } = ampoule;
const { fs } = modules;

const kinds = {
  NotFound: "ENOENT", PermissionDenied: "EACCES", AlreadyExists: "EEXIST", IsADirectory: "EISDIR",
  NotADirectory: "ENOTDIR", InvalidData: undefined, TimedOut: undefined, Interrupted: "EINTR", BadResource: "EBADF",
  UnexpectedEof: undefined, NotSupported: "ENOSYS", BrokenPipe: "EPIPE", WriteZero: undefined, Busy: "EBUSY",
  ConnectionRefused: undefined, ConnectionReset: undefined, ConnectionAborted: undefined, NotConnected: undefined,
  AddrInUse: undefined, AddrNotAvailable: undefined, InvalidInput: undefined, Http: undefined, NotCapable: undefined,
};
const errors = {};
for (const name of Object.keys(kinds)) {
  errors[name] = { [name]: class extends Error {} }[name];
  Object.defineProperty(errors[name].prototype, "name", { value: name, writable: true, configurable: true });
}

const WORDS = {
  ENOENT: "No such file or directory (os error 2)", EEXIST: "File exists (os error 17)",
  EISDIR: "Is a directory (os error 21)", ENOTDIR: "Not a directory (os error 20)",
  ENOTEMPTY: "Directory not empty (os error 39)", EBADF: "Bad file descriptor (os error 9)",
};

// Node's refusals in Deno's words.
function deno(syscall, path, work) {
  try {
    return work();
  } catch (error) {
    if (error.errno === undefined) throw error;
    const name = Object.keys(kinds).find((kind) => kinds[kind] === error.code);
    const Class = name === undefined ? Error : errors[name];
    const place = path === undefined ? "" : `: ${syscall} '${path}'`;
    throw Object.assign(new Class((WORDS[error.code] ?? error.message) + place), { code: error.code });
  }
}

const shown = (path) => path instanceof URL ? modules.url.fileURLToPath(path) : path;
const plain = (bytes) => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);

function flagOf(options) {
  if (options?.createNew) return "wx";
  if (options?.append) return "a";
  return options?.create === false ? "r+" : "w";
}

function info(stats) {
  return {
    isFile: stats.isFile(), isDirectory: stats.isDirectory(), isSymlink: false, size: stats.size, mtime: stats.mtime,
    atime: stats.atime, birthtime: stats.birthtime, ctime: stats.ctime, dev: stats.dev, ino: stats.ino, mode: stats.mode,
    nlink: stats.nlink, uid: 0, gid: 0, rdev: 0, blksize: stats.blksize, blocks: stats.blocks, isBlockDevice: false,
    isCharDevice: false, isFifo: false, isSocket: false,
  };
}

function* entries(path) {
  const all = deno("readdir", shown(path), () => fs.readdirSync(path, { withFileTypes: true }));
  for (const entry of all) {
    yield { name: entry.name, isFile: entry.isFile(), isDirectory: entry.isDirectory(), isSymlink: false };
  }
}

class FsFile {
  #descriptor;

  constructor(descriptor) {
    this.#descriptor = descriptor;
  }

  readSync(bytes) {
    const read = deno("read", undefined, () => fs.readSync(this.#descriptor, bytes));
    return read === 0 && bytes.length > 0 ? null : read;
  }

  writeSync(bytes) {
    return deno("write", undefined, () => fs.writeSync(this.#descriptor, bytes));
  }

  seekSync(offset, whence) {
    const at = os.seek(this.#descriptor, Number(offset), whence);
    return Number(at);
  }

  async read(bytes) {
    return this.readSync(bytes);
  }

  async write(bytes) {
    return this.writeSync(bytes);
  }

  async seek(offset, whence) {
    return this.seekSync(offset, whence);
  }

  close() {
    fs.closeSync(this.#descriptor);
  }

  [Symbol.dispose ?? Symbol.for("nodejs.dispose")]() {
    this.close();
  }
}

// Each has a form that works at once and one that is a promise.
const work = {
  readTextFile: (path) => deno("open", shown(path), () => fs.readFileSync(path, "utf8")),
  readFile: (path) => deno("open", shown(path), () => plain(fs.readFileSync(path))),
  writeTextFile: (path, text, options) => deno("open", shown(path), () => fs.writeFileSync(path, text, { flag: flagOf(options) })),
  writeFile: (path, bytes, options) => deno("open", shown(path), () => fs.writeFileSync(path, bytes, { flag: flagOf(options) })),
  mkdir: (path, options) => deno("mkdir", shown(path), () => void fs.mkdirSync(path, options)),
  remove: (path, options) => deno("remove", shown(path), () => fs.statSync(path).isDirectory() && !options?.recursive ? fs.rmdirSync(path) : fs.rmSync(path, options)),
  rename: (from, to) => deno("rename", `${shown(from)}' -> '${shown(to)}`, () => fs.renameSync(from, to)),
  copyFile: (from, to) => deno("copy", `${shown(from)}' -> '${shown(to)}`, () => fs.copyFileSync(from, to)),
  stat: (path) => deno("stat", shown(path), () => info(fs.statSync(path))),
  lstat: (path) => deno("lstat", shown(path), () => info(fs.lstatSync(path))),
  realPath: (path) => deno("realpath", shown(path), () => fs.realpathSync(path)),
  truncate: (path, length) => deno("truncate", shown(path), () => fs.truncateSync(path, length)),
  makeTempDir: (options) => fs.mkdtempSync(`${options?.dir ?? "/tmp"}/${options?.prefix ?? ""}`) + (options?.suffix ?? ""),
  makeTempFile(options) {
    const path = `${options?.dir ?? "/tmp"}/${options?.prefix ?? ""}${ampoule.randomUUID().slice(0, 8)}${options?.suffix ?? ""}`;
    fs.writeFileSync(path, "", { flag: "wx" });
    return path;
  },
  open(path, options) {
    const { read = options === undefined, write: writes = false, append, truncate, create, createNew } = options ?? {};
    const { constants: c } = fs;
    let flags = read && (writes || append) ? c.O_RDWR : writes || append ? c.O_WRONLY : c.O_RDONLY;
    if (append) flags |= c.O_APPEND;
    if (truncate) flags |= c.O_TRUNC;
    if (create) flags |= c.O_CREAT;
    if (createNew) flags |= c.O_CREAT | c.O_EXCL;
    return new FsFile(deno("open", shown(path), () => fs.openSync(path, flags)));
  },
  create: (path) => work.open(path, { read: true, write: true, truncate: true, create: true }),
};

const Deno = { errors, FsFile };
for (const [name, does] of Object.entries(work)) {
  Deno[`${name}Sync`] = does;
  Deno[name] = { [name]: async (...args) => does(...args) }[name];
}

// --- Streams ---

const stdin = {
  readSync(bytes) {
    const read = os.read(0, bytes.buffer, bytes.byteOffset, bytes.length);
    return read > 0 ? read : null;
  },
  async read(bytes) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    return stdin.readSync(bytes);
  },
  isTerminal: () => false,
  setRaw() {},
  close() {},
  get readable() {
    return {
      async *[Symbol.asyncIterator]() {
        while (true) {
          const bytes = new Uint8Array(65536);
          const read = await stdin.read(bytes);
          if (read === null) return;
          yield bytes.subarray(0, read);
        }
      },
      pipeThrough(transform) {
        return transform.over ? transform.over(this) : this;
      },
    };
  },
};

function output(descriptor) {
  const writeSync = (bytes) => {
    write(descriptor, bytes);
    return bytes.length;
  };
  return {
    writeSync,
    write: async (bytes) => writeSync(bytes),
    isTerminal: () => false,
    close() {},
    writable: {
      getWriter: () => ({
        write: async (chunk) => void writeSync(typeof chunk === "string" ? utf8(chunk) : chunk),
        close: async () => {},
        releaseLock() {},
        ready: Promise.resolve(),
      }),
    },
  };
}

const env = {
  get: (name) => process.env[name],
  set: (name, value) => void (process.env[name] = value),
  has: (name) => name in process.env,
  delete: (name) => void delete process.env[name],
  toObject: () => ({ ...process.env }),
};

const refuse = (what) => () => {
  throw absent(what);
};

Object.assign(Deno, {
  stdin,
  stdout: output(1),
  stderr: output(2),
  env,
  args: [],
  mainModule: "",
  pid: 1,
  ppid: 0,
  noColor: true,
  build: { target: "wasm32-wasip1", arch: "wasm32", os: "linux", vendor: "unknown", env: undefined },
  version: { deno: "1.46.3", v8: "", typescript: "5.5.2" },
  SeekMode: { Start: 0, Current: 1, End: 2 },
  exit: (code = process.exitCode ?? 0) => process.exit(code),
  cwd: () => ampoule.cwd(),
  chdir: (path) => deno("chdir", shown(path), () => process.chdir(shown(path))),
  execPath: () => "/usr/local/bin/deno",
  hostname: () => "sandbox",
  osRelease: () => "wasi",
  uid: () => 0,
  gid: () => 0,
  memoryUsage: () => process.memoryUsage(),
  readDir: (path) => ({
    async *[Symbol.asyncIterator]() {
      yield* entries(path);
    },
  }),
  readDirSync: (path) => [...entries(path)],
  inspect: modules.util.inspect,
  addSignalListener() {},
  removeSignalListener() {},
  test: refuse("is no test runner"),
  serve: refuse("is no network"),
  listen: refuse("is no network"),
  connect: refuse("is no network"),
  resolveDns: refuse("is no network"),
  run: refuse("are no processes"),
  Command: class Command {
    constructor() {
      throw absent("are no processes");
    }
  },
  permissions: {
    query: async () => ({ state: "granted" }),
    request: async () => ({ state: "granted" }),
    querySync: () => ({ state: "granted" }),
  },
});
Object.defineProperty(Deno, "exitCode", {
  get: () => process.exitCode ?? 0,
  set: (code) => void (process.exitCode = code),
  enumerable: true,
});

// The stream that turns bytes into text, as far as it is used to read standard input.
class TextDecoderStream {
  over(source) {
    return {
      async *[Symbol.asyncIterator]() {
        const decoder = new TextDecoder();
        for await (const chunk of source) {
          const text = decoder.decode(chunk, { stream: true });
          if (text !== "") yield text;
        }
        const last = decoder.decode();
        if (last !== "") yield last;
      },
      pipeThrough(transform) {
        return transform.over ? transform.over(this) : this;
      },
    };
  }
}
ampoule.hidden(globalThis, { Deno, TextDecoderStream });
ampoule.startDeno = ({ args, path }) => {
  Deno.args = args;
  Deno.mainModule = `file://${path}`;
};
