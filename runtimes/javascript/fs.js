// `node:fs` and `node:fs/promises`, on the directories that a script has.

const { ampoule } = globalThis;
const { os, modules, coded, wrongType, systemError, encodingOf, makeBuffer, decode, encode, hidden, inspect } = ampoule;
const { Buffer } = modules.buffer;

const O = {
  O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536,
};
const constants = {
  ...O, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1, COPYFILE_FICLONE: 2, COPYFILE_FICLONE_FORCE: 4,
  S_IFMT: 61440, S_IFREG: 32768, S_IFDIR: 16384, S_IFCHR: 8192, S_IFBLK: 24576, S_IFIFO: 4096, S_IFLNK: 40960,
  S_IFSOCK: 49152, UV_FS_COPYFILE_EXCL: 1,
};

const FLAGS = {
  r: O.O_RDONLY, rs: O.O_RDONLY, "r+": O.O_RDWR, "rs+": O.O_RDWR,
  w: O.O_WRONLY | O.O_CREAT | O.O_TRUNC, "w+": O.O_RDWR | O.O_CREAT | O.O_TRUNC,
  wx: O.O_WRONLY | O.O_CREAT | O.O_TRUNC | O.O_EXCL, "wx+": O.O_RDWR | O.O_CREAT | O.O_TRUNC | O.O_EXCL,
  a: O.O_WRONLY | O.O_CREAT | O.O_APPEND, "a+": O.O_RDWR | O.O_CREAT | O.O_APPEND,
  ax: O.O_WRONLY | O.O_CREAT | O.O_APPEND | O.O_EXCL, "ax+": O.O_RDWR | O.O_CREAT | O.O_APPEND | O.O_EXCL,
};

// Node's flags in the numbers of WASI's library.
function systemFlags(flags = "r") {
  const wanted = typeof flags === "number" ? flags : FLAGS[flags.replace("xw", "wx").replace("s", "")];
  if (wanted === undefined) {
    throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'flags' is invalid. Received '${flags}'`);
  }
  let own = [os.O_RDONLY, os.O_WRONLY, os.O_RDWR][wanted & 3];
  for (const name of ["O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND"]) if (wanted & O[name]) own |= os[name];
  return own;
}

function pathOf(path, name = "path") {
  if (path instanceof URL) return modules.url.fileURLToPath(path);
  if (path instanceof Uint8Array) path = decode(path, "utf8");
  if (typeof path !== "string") throw wrongType(name, "of type string or an instance of Buffer or URL", path);
  if (path.includes("\0")) {
    throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${ampoule.quoted(path)}`);
  }
  return path;
}

const encodingIn = (options) => typeof options === "string" ? options : options?.encoding;
const flagIn = (options, usual) => (typeof options === "object" && options?.flag) || usual;

// --- Files ---

function openSync(path, flags, mode = 0o666) {
  path = pathOf(path);
  const descriptor = os.open(path, systemFlags(flags), mode);
  if (descriptor < 0) throw systemError(descriptor, "open", path);
  openPaths.set(descriptor, modules.path.resolve(ampoule.cwd(), path));
  return descriptor;
}

// Where open files lie: the engine can only cut off a file that is named.
const openPaths = new Map();

function ftruncateSync(descriptor, length = 0) {
  const path = openPaths.get(checked(descriptor));
  if (path === undefined) throw systemError(28, "ftruncate");
  const bytes = readFileSync(path);
  writeFileSync(path, Buffer.concat([bytes.subarray(0, length), Buffer.alloc(Math.max(0, length - bytes.length))]), { flag: "r+" });
  if (length < bytes.length) truncateSync(path, length);
}

function closeSync(descriptor) {
  const failed = os.close(checked(descriptor));
  if (failed < 0) throw systemError(failed, "close");
}

function checked(descriptor) {
  if (typeof descriptor !== "number") throw wrongType("fd", "of type number", descriptor);
  return descriptor;
}

function bytesOf(buffer) {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}

function readSync(descriptor, buffer, offset, length, position) {
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  const bytes = bytesOf(buffer);
  offset ??= 0;
  length ??= bytes.length - offset;
  if (length === 0) return 0;
  // A place of its own leaves alone where the next read goes on.
  const isElsewhere = (typeof position === "number" && position >= 0) || typeof position === "bigint";
  const before = isElsewhere ? os.seek(descriptor, 0, 1) : 0;
  if (isElsewhere) seek(descriptor, Number(position));
  const read = os.read(checked(descriptor), bytes.buffer, bytes.byteOffset + offset, length);
  if (isElsewhere) seek(descriptor, Number(before));
  if (read < 0) throw systemError(read, "read");
  return read;
}

function seek(descriptor, position) {
  const failed = os.seek(descriptor, position, 0);
  if (failed < 0) throw systemError(Number(failed), "seek");
}

function writeAll(descriptor, bytes) {
  for (let written = 0; written < bytes.length;) {
    const more = os.write(descriptor, bytes.buffer, bytes.byteOffset + written, bytes.length - written);
    if (more < 0) throw systemError(more, "write");
    written += more;
  }
  return bytes.length;
}

function writeSync(descriptor, value, offset, length, position) {
  checked(descriptor);
  if (typeof value === "string") {
    if (typeof offset === "number") seek(descriptor, offset);
    return writeAll(descriptor, encode(value, encodingOf(length)));
  }
  if (typeof offset === "object" && offset !== null) ({ offset, length, position } = offset);
  if (!ArrayBuffer.isView(value)) {
    throw wrongType("buffer", "of type string or an instance of Buffer, TypedArray, or DataView", value);
  }
  const bytes = bytesOf(value);
  offset ??= 0;
  if (typeof position === "number") seek(descriptor, position);
  return writeAll(descriptor, bytes.subarray(offset, offset + (length ?? bytes.length - offset)));
}

function readAll(descriptor, size) {
  const parts = [];
  let total = 0, next = Math.max(size + 1, 8192);
  while (true) {
    const part = new Uint8Array(next);
    const read = os.read(descriptor, part.buffer, 0, part.length);
    if (read < 0) throw systemError(read, "read");
    if (read === 0) break;
    parts.push(part.subarray(0, read));
    total += read;
    next = 65536;
  }
  if (parts.length === 1) return makeBuffer(parts[0]);
  return Buffer.concat(parts, total);
}

function readFileSync(path, options) {
  const encoding = encodingIn(options);
  if (encoding !== undefined && encoding !== null && !Buffer.isEncoding(encoding)) {
    throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'encoding' is invalid encoding. Received ${inspect(encoding)}`);
  }
  let bytes;
  if (Number.isInteger(path)) {
    bytes = readAll(path, 0);
  } else {
    path = pathOf(path);
    // The standard streams have names on other systems, and scripts use them.
    const standard = STANDARD[path];
    if (standard !== undefined) {
      bytes = readAll(standard, 0);
    } else {
      const descriptor = openSync(path, flagIn(options, "r"));
      try {
        const [stat] = os.stat(path);
        if (stat !== null && (stat.mode & os.S_IFMT) === os.S_IFDIR) throw systemError(31, "read");
        bytes = readAll(descriptor, stat?.size ?? 0);
      } finally {
        os.close(descriptor);
      }
    }
  }
  return encoding === undefined || encoding === null || encoding === "buffer" ? bytes : decode(bytes, encodingOf(encoding));
}

const STANDARD = { "/dev/stdin": 0, "/dev/fd/0": 0, "/proc/self/fd/0": 0 };
const STANDARD_OUT = { "/dev/stdout": 1, "/dev/fd/1": 1, "/dev/stderr": 2, "/dev/fd/2": 2 };

function contentOf(value, options) {
  if (typeof value === "string") return encode(value, encodingOf(encodingIn(options)));
  if (ArrayBuffer.isView(value)) return bytesOf(value);
  throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", value);
}

function writeFileSync(path, value, options) {
  put(path, value, options, "w");
}

function appendFileSync(path, value, options) {
  put(path, value, options, "a");
}

function put(path, value, options, flag) {
  const bytes = contentOf(value, options);
  if (typeof path === "number") return void writeAll(path, bytes);
  path = pathOf(path);
  if (path === "/dev/null") return;
  if (STANDARD_OUT[path] !== undefined) return void writeAll(STANDARD_OUT[path], bytes);
  const descriptor = openSync(path, flagIn(options, flag), options?.mode);
  try {
    writeAll(descriptor, bytes);
  } finally {
    os.close(descriptor);
  }
}

// WASI's library has no way to cut a file, so what stays is written anew.
function truncateSync(path, length = 0) {
  const bytes = readFileSync(path);
  const kept = Buffer.alloc(length);
  bytes.copy(kept);
  writeFileSync(path, kept);
}

function copyFileSync(from, to, mode = 0) {
  from = pathOf(from, "src");
  to = pathOf(to, "dest");
  let bytes;
  try {
    bytes = readFileSync(from);
    writeFileSync(to, bytes, { flag: mode & constants.COPYFILE_EXCL ? "wx" : "w" });
  } catch (error) {
    throw renamed(error, "copyfile", from, to);
  }
}

// The same refusal, as the call that the script made would say it.
function renamed(error, syscall, path, dest) {
  if (error.errno === undefined) return error;
  const place = dest === undefined ? `'${path}'` : `'${path}' -> '${dest}'`;
  const renamedError = new Error(`${error.message.split(",")[0]}, ${syscall} ${place}`);
  const { errno, code } = error;
  return Object.assign(renamedError, { errno, code, syscall, path }, dest === undefined ? {} : { dest });
}

// --- What is known of a file ---

class Stats {
  constructor(stat, isBig) {
    const number = isBig ? BigInt : Number;
    for (const name of ["dev", "mode", "nlink", "uid", "gid", "rdev"]) this[name] = number(stat[name] ?? 0);
    this.blksize = number(4096);
    this.ino = number(stat.ino);
    this.size = number(stat.size);
    this.blocks = number(Math.ceil(stat.size / 512));
    const times = { atimeMs: stat.atime, mtimeMs: stat.mtime, ctimeMs: stat.ctime, birthtimeMs: stat.ctime };
    for (const [name, time] of Object.entries(times)) this[name] = isBig ? BigInt(Math.trunc(time)) : time;
    if (isBig) for (const [name, time] of Object.entries(times)) this[name.replace("Ms", "Ns")] = BigInt(Math.trunc(time)) * 1000000n;
    for (const [name, time] of Object.entries(times)) this[name.slice(0, -2)] = new Date(time);
  }
}

const KINDS = {
  isDirectory: os.S_IFDIR, isFile: os.S_IFREG, isSymbolicLink: os.S_IFLNK, isCharacterDevice: os.S_IFCHR,
  isBlockDevice: os.S_IFBLK, isFIFO: os.S_IFIFO, isSocket: os.S_IFSOCK,
};
for (const [name, kind] of Object.entries(KINDS)) {
  hidden(Stats.prototype, {
    [name]() {
      return (Number(this.mode) & os.S_IFMT) === kind;
    },
  });
}

// WASI's files have no permissions; those that a new one would have are shown.
function statOf(path) {
  const [stat, failed] = os.stat(path);
  if (failed) return { failed };
  if ((stat.mode & 0o777) === 0) stat.mode |= (stat.mode & os.S_IFMT) === os.S_IFDIR ? 0o755 : 0o644;
  return { stat };
}

function statWith(path, options, syscall) {
  path = pathOf(path);
  const { stat, failed } = statOf(path);
  if (stat !== undefined) return new Stats(stat, options?.bigint);
  const error = systemError(failed, syscall, path);
  if (options?.throwIfNoEntry === false && (error.code === "ENOENT" || error.code === "ENOTDIR")) return undefined;
  throw error;
}

const statSync = (path, options) => statWith(path, options, "stat");
const lstatSync = (path, options) => statWith(path, options, "lstat");

function existsSync(path) {
  try {
    return statOf(pathOf(path)).stat !== undefined;
  } catch {
    return false;
  }
}

function accessSync(path) {
  path = pathOf(path);
  const { failed } = statOf(path);
  if (failed) throw systemError(failed, "access", path);
}

function fstatSync(descriptor) {
  const size = os.seek(checked(descriptor), 0, 1);
  if (size < 0) throw systemError(Number(size), "fstat");
  const at = Number(size), end = Number(os.seek(descriptor, 0, 2));
  os.seek(descriptor, at, 0);
  const now = Date.now();
  return new Stats({ mode: os.S_IFREG | 0o644, size: end, ino: 0, nlink: 1, atime: now, mtime: now, ctime: now });
}

// --- Directories ---

class Dirent {
  #kind;

  constructor(name, parent, kind) {
    this.name = name;
    this.parentPath = parent;
    this.path = parent;
    this.#kind = kind;
  }

  static {
    for (const [name, kind] of Object.entries(KINDS)) {
      hidden(Dirent.prototype, {
        [name]() {
          return this.#kind === kind;
        },
      });
    }
  }
}

function namesIn(path) {
  const [names, failed] = os.readdir(path);
  if (failed) {
    const { stat } = statOf(path);
    throw systemError(stat !== undefined && (stat.mode & os.S_IFMT) !== os.S_IFDIR ? 54 : failed, "scandir", path);
  }
  return names.filter((name) => name !== "." && name !== "..").sort();
}

function readdirSync(path, options) {
  path = pathOf(path);
  if (typeof options === "string") options = { encoding: options };
  const found = [];
  const list = (folder, prefix) => {
    for (const name of namesIn(folder)) {
      const place = `${folder.replace(/\/$/, "")}/${name}`;
      const kind = options?.withFileTypes || options?.recursive ? (statOf(place).stat?.mode ?? 0) & os.S_IFMT : 0;
      found.push(options?.withFileTypes ? new Dirent(name, folder, kind) : prefix + name);
      if (options?.recursive && kind === os.S_IFDIR) list(place, `${prefix}${name}/`);
    }
  };
  list(path, "");
  return options?.encoding === "buffer" ? found.map((name) => Buffer.from(name)) : found;
}

function isFolder(path) {
  const { stat } = statOf(path);
  return stat !== undefined && (stat.mode & os.S_IFMT) === os.S_IFDIR;
}

function mkdirSync(path, options) {
  path = pathOf(path);
  const isRecursive = typeof options === "object" && options?.recursive;
  if (!isRecursive) {
    const failed = os.mkdir(path, 0o777);
    if (failed < 0) throw systemError(failed, "mkdir", path);
    return undefined;
  }
  if (isFolder(path)) return undefined;
  const parent = modules.path.dirname(path);
  let first;
  if (parent !== path && parent !== "." && !isFolder(parent)) {
    try {
      first = mkdirSync(parent, options);
    } catch (error) {
      throw renamed(error, "mkdir", path);
    }
  }
  const failed = os.mkdir(path, 0o777);
  if (failed < 0) throw systemError(failed, "mkdir", path);
  return first ?? modules.path.resolve(path);
}

function unlinkSync(path) {
  path = pathOf(path);
  if (isFolder(path)) throw systemError(63, "unlink", path);
  const failed = os.remove(path);
  if (failed < 0) throw systemError(failed, "unlink", path);
}

function rmdirSync(path, options) {
  path = pathOf(path);
  if (options?.recursive) return rmSync(path, { recursive: true });
  const { stat, failed: missing } = statOf(path);
  if (stat === undefined) throw systemError(missing, "rmdir", path);
  if ((stat.mode & os.S_IFMT) !== os.S_IFDIR) throw systemError(54, "rmdir", path);
  const failed = os.remove(path);
  if (failed < 0) throw systemError(failed, "rmdir", path);
}

function rmSync(path, options = {}) {
  path = pathOf(path);
  const { stat, failed } = statOf(path);
  if (stat === undefined) {
    if (options.force) return;
    throw systemError(failed, "lstat", path);
  }
  if ((stat.mode & os.S_IFMT) !== os.S_IFDIR) return unlinkSync(path);
  if (!options.recursive) {
    throw Object.assign(coded(Error, "ERR_FS_EISDIR", `Path is a directory: rm returned EISDIR (is a directory) ${path}`), {
      name: "SystemError", errno: 21, syscall: "rm", path,
    });
  }
  for (const name of namesIn(path)) rmSync(`${path}/${name}`, options);
  rmdirSync(path);
}

function renameSync(from, to) {
  from = pathOf(from, "oldPath");
  to = pathOf(to, "newPath");
  const failed = os.rename(from, to);
  if (failed < 0) throw systemError(failed, "rename", from, to);
}

function mkdtempSync(prefix) {
  const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  const random = Array.from(ampoule.fillRandom(new Uint8Array(6)), (byte) => letters[byte % letters.length]).join("");
  mkdirSync(prefix + random);
  return prefix + random;
}

function cpSync(from, to, options = {}) {
  from = pathOf(from, "src");
  to = pathOf(to, "dest");
  if (options.filter && !options.filter(from, to)) return;
  if (!isFolder(from)) {
    if (options.errorOnExist && options.force === false && existsSync(to)) throw systemError(20, "cp", from, to);
    if (options.force === false && existsSync(to)) return;
    mkdirSync(modules.path.dirname(to), { recursive: true });
    return copyFileSync(from, to);
  }
  if (!options.recursive) {
    throw coded(Error, "ERR_FS_EISDIR", `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${from} is a directory (not copied)) ${from}`);
  }
  mkdirSync(to, { recursive: true });
  for (const name of namesIn(from)) cpSync(`${from}/${name}`, `${to}/${name}`, options);
}

function utimesSync(path, accessed, modified) {
  path = pathOf(path);
  const ms = (time) => time instanceof Date ? time.getTime() : Number(time) * 1000;
  const failed = os.utimes(path, ms(accessed), ms(modified));
  if (failed < 0) throw systemError(failed, "utime", path);
}

// There are no links: a path that exists is its own real one.
function realpathSync(path) {
  path = modules.path.resolve(pathOf(path));
  const { failed } = statOf(path);
  if (failed) throw systemError(failed, "lstat", path);
  return path;
}
realpathSync.native = realpathSync;

function unsupported(name) {
  return (path) => {
    throw systemError(52, name, path === undefined ? undefined : String(path));
  };
}

// What changes who may do what with a file: nobody else is there.
const permissionless = (path) => {
  if (typeof path !== "number") accessSync(path);
};

const synchronous = {
  access: accessSync, appendFile: appendFileSync, chmod: permissionless, chown: permissionless,
  close: closeSync, copyFile: copyFileSync, cp: cpSync, fstat: fstatSync, fsync: () => {}, fdatasync: () => {},
  lstat: lstatSync, mkdir: mkdirSync, mkdtemp: mkdtempSync, open: openSync, read: readSync, readdir: readdirSync,
  readFile: readFileSync, readlink: unsupported("readlink"), realpath: realpathSync, rename: renameSync, rm: rmSync,
  rmdir: rmdirSync, stat: statSync, symlink: unsupported("symlink"), link: unsupported("link"), truncate: truncateSync,
  unlink: unlinkSync, utimes: utimesSync, write: writeSync, writeFile: writeFileSync, fchmod: permissionless,
  ftruncate: ftruncateSync,
};

const fs = { constants, Stats, Dirent, existsSync, F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1 };
const promises = { constants };

for (const [name, work] of Object.entries(synchronous)) {
  fs[`${name}Sync`] = work;
  const withCallback = {
    [name](...args) {
      const callback = args.pop();
      if (typeof callback !== "function") throw wrongType("cb", "of type function", callback);
      let error = null, value;
      try {
        value = work(...args);
      } catch (thrown) {
        // What was asked for wrongly is thrown at once; what the system refuses comes to the callback.
        if (thrown.errno === undefined && thrown.code !== "ERR_FS_EISDIR") throw thrown;
        error = thrown;
      }
      setImmediate(() => error === null ? callback(null, value, args[1]) : callback(error));
    },
  }[name];
  fs[name] = withCallback;
  promises[name] = {
    async [name](...args) {
      // Not before the script has gone on, as where another thread does it.
      await new Promise((resolve) => setImmediate(resolve));
      return work(...args);
    },
  }[name];
}
fs.exists = (path, callback) => setImmediate(callback, existsSync(path));
fs.promises = promises;
for (const name of ["close", "fstat", "read", "write", "fsync", "fdatasync", "fchmod", "ftruncate"]) delete promises[name];

// --- Open files as objects ---

class FileHandle extends modules.events {
  constructor(descriptor, path) {
    super();
    hidden(this, { fd: descriptor, path });
  }

  async readFile(options) {
    const bytes = readAll(this.fd, 0);
    const encoding = encodingIn(options);
    return encoding ? decode(bytes, encodingOf(encoding)) : bytes;
  }

  async writeFile(value, options) {
    writeAll(this.fd, contentOf(value, options));
  }

  async appendFile(value, options) {
    writeAll(this.fd, contentOf(value, options));
  }

  async read(buffer, offset, length, position) {
    if (buffer?.buffer instanceof ArrayBuffer === false) ({ buffer = Buffer.alloc(16384), offset, length, position } = buffer ?? {});
    return { bytesRead: readSync(this.fd, buffer, offset, length, position), buffer };
  }

  async write(value, offset, length, position) {
    return { bytesWritten: writeSync(this.fd, value, offset, length, position), buffer: value };
  }

  async stat() {
    return statSync(this.path);
  }

  async truncate(length) {
    truncateSync(this.path, length);
  }

  async *readLines(options) {
    yield* modules.readline.createInterface({ input: this.createReadStream(options) });
  }

  createReadStream(options) {
    return createReadStream(this.path, { ...options, fd: this.fd });
  }

  createWriteStream(options) {
    return createWriteStream(this.path, { ...options, fd: this.fd });
  }

  async sync() {}

  async close() {
    if (this.fd >= 0) os.close(this.fd);
    this.fd = -1;
  }

  async [Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]() {
    await this.close();
  }
}

// Text and bytes as they come, too.
for (const name of ["writeFile", "appendFile"]) {
  const atOnce = promises[name];
  promises[name] = async (path, value, options) => {
    const isPlain = typeof value !== "object" || value === null || ArrayBuffer.isView(value);
    const comes = isPlain ? undefined : value[Symbol.asyncIterator] ?? value[Symbol.iterator];
    if (comes === undefined) return atOnce(path, value, options);
    const parts = [];
    for await (const part of value) parts.push(Buffer.from(part, encodingIn(options)));
    return atOnce(path, Buffer.concat(parts), options);
  };
}

promises.open = async (path, flags, mode) => new FileHandle(openSync(path, flags, mode), pathOf(path));
promises.opendir = async (path) => new Dir(path);

class Dir {
  #left;

  constructor(path) {
    this.path = path;
    this.#left = readdirSync(path, { withFileTypes: true });
  }

  readSync() {
    return this.#left.shift() ?? null;
  }

  async read() {
    return this.readSync();
  }

  closeSync() {}

  async close() {}

  async *[Symbol.asyncIterator]() {
    yield* this.#left;
  }
}
fs.Dir = Dir;
fs.opendirSync = (path) => new Dir(path);

// --- Streams ---

function createReadStream(path, options) {
  if (typeof options === "string") options = { encoding: options };
  let descriptor = options?.fd, left = Infinity;
  if (options?.end !== undefined) left = options.end - (options.start ?? 0) + 1;
  let isOpen = descriptor !== undefined;
  const open = (stream) => {
    if (isOpen) return;
    isOpen = true;
    descriptor = openSync(path, options?.flags ?? "r");
    stream.emit("open", descriptor);
    stream.emit("ready");
    if (options?.start) seek(descriptor, options.start);
  };
  const stream = new modules.stream.Readable({
    highWaterMark: options?.highWaterMark ?? 65536,
    encoding: options?.encoding,
    read(size) {
      try {
        open(this);
        const part = Buffer.alloc(Math.min(size, left));
        const read = part.length === 0 ? 0 : readSync(descriptor, part);
        left -= read;
        this.bytesRead += read;
        // In a later turn, as from a disk.
        setImmediate(() => this.push(read === 0 ? null : part.subarray(0, read)));
      } catch (error) {
        this.destroy(error);
      }
    },
    destroy(error, callback) {
      if (descriptor !== undefined && descriptor > 2) os.close(descriptor);
      callback(error);
    },
  });
  // Also where nobody reads: that it is not there is said all the same.
  ampoule.nextTick(() => {
    try {
      if (!stream.destroyed) open(stream);
    } catch (error) {
      stream.destroy(error);
    }
  });
  return Object.assign(stream, { path, bytesRead: 0 });
}

function createWriteStream(path, options) {
  if (typeof options === "string") options = { encoding: options };
  let descriptor = options?.fd;
  const open = () => descriptor ??= openSync(path, options?.flags ?? "w");
  const stream = new modules.stream.Writable({
    write(chunk, encoding, callback) {
      open();
      this.bytesWritten += writeAll(descriptor, chunk);
      callback();
    },
    final(callback) {
      open();
      callback();
    },
    destroy(error, callback) {
      if (descriptor !== undefined && descriptor > 2) os.close(descriptor);
      callback(error);
    },
  });
  ampoule.nextTick(() => {
    try {
      open();
      stream.emit("open", descriptor);
      stream.emit("ready");
    } catch (error) {
      stream.destroy(error);
    }
  });
  return Object.assign(stream, { path, bytesWritten: 0 });
}

Object.assign(fs, { createReadStream, createWriteStream });
fs.watch = fs.watchFile = () => {
  throw ampoule.absent("is nobody else who could change a file");
};
fs.unwatchFile = () => {};
modules.fs = fs;
modules["fs/promises"] = promises;
Object.assign(ampoule, { isFolder, statOf, namesIn });
