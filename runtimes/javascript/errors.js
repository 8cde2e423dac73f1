// Errors as Node has them: stacks in V8's form, its codes, and its words for what goes wrong most.

const { ampoule } = globalThis;
const { hidden, modules } = ampoule;

// Frames of these files are the runtime's own and not shown.
const OWN = /^(<|node:)/;


function frame(site) {
  const file = site.getFileName();
  const name = site.getFunctionName();
  if (site.isNative()) return name ? `    at ${name} (<anonymous>)` : undefined;
  if (!file || OWN.test(file)) return undefined;
  const place = ampoule.place(file, site.getLineNumber(), site.getColumnNumber());
  const shown = `${place.file}:${place.line}:${place.column}`;
  if (name === "<eval>" || name === "<anonymous>" || !name) return `    at ${shown}`;
  return `    at ${name} (${shown})`;
}

// Where something is in the text that the script's author wrote. `modules.js` knows more: the wrapper of a CommonJS
// module, and source maps.
ampoule.place = (file, line, column) => ({ file, line, column });

function headline(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "Error";
  }
}

let custom;

function prepare(error, sites) {
  try {
    translate(error);
    if (typeof custom === "function") return custom(error, sites);
    const lines = [headline(error)];
    const limit = typeof Error.stackTraceLimit === "number" ? Error.stackTraceLimit : 10;
    for (const site of sites) {
      if (lines.length > limit) break;
      const line = frame(site);
      // A native frame at the end is the one that the runtime itself was called from.
      if (line !== undefined) lines.push(line);
    }
    while (lines.length > 1 && lines.at(-1).endsWith("(<anonymous>)")) lines.pop();
    return lines.join("\n");
  } catch {
    return headline(error);
  }
}

const prepareProperty = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
prepareProperty.set.call(Error, prepare);
Object.defineProperty(Error, "prepareStackTrace", {
  get: () => custom,
  set: (value) => void (custom = value),
  configurable: true,
  enumerable: false,
});
// Frames of the runtime are counted before they are left out.
const limitProperty = Object.getOwnPropertyDescriptor(Error, "stackTraceLimit");
if (limitProperty?.set) limitProperty.set.call(Error, 64);
Object.defineProperty(Error, "stackTraceLimit", { value: 10, writable: true, configurable: true, enumerable: true });

// --- V8's words ---

const WORDS = [
  [/^cannot read property '(.*)' of (undefined|null)$/s, (_, key, of) => `Cannot read properties of ${of} (reading '${key}')`],
  [/^cannot set property '(.*)' of (undefined|null)$/s, (_, key, of) => `Cannot set properties of ${of} (setting '${key}')`],
  [/^'(.*)' is not defined$/, (_, name) => `${name} is not defined`],
  [/^(.*) is not initialized$/, (_, name) => `Cannot access '${name.replace(/^'|'$/g, "")}' before initialization`],
  [/^'(.*)' is read-only$/, (_, name) => "Assignment to constant variable."],
  [/^invalid array length$/i, () => "Invalid array length"],
  [/^circular reference$/, () => "Converting circular structure to JSON"],
  [/^cannot convert to object$/i, () => "Cannot convert undefined or null to object"],
  [/^cannot convert symbol to string$/, () => "Cannot convert a Symbol value to a string"],
  [/^cannot convert symbol to number$/, () => "Cannot convert a Symbol value to a number"],
  [/^cannot convert bigint to number$/i, () => "Cannot convert a BigInt value to a number"],
  [/^cannot convert bigint.* to json$|^bigint.*JSON/i, () => "Do not know how to serialize a BigInt"],
  [/^Do not know how to serialize/, (all) => all],
  [/^division by zero$|^BigInt division by zero$/, () => "Division by zero"],
  [/^class constructors must be invoked with 'new'$/, () => "Class constructor cannot be invoked without 'new'"],
  [/^both operands must be BigInt|^cannot mix BigInt/i, () => "Cannot mix BigInt and other types, use explicit conversions"],
];

function translate(error) {
  if (!Object.hasOwn(error, "message") || typeof error.message !== "string") return;
  const { message } = error;
  for (const [pattern, words] of WORDS) {
    const found = pattern.exec(message);
    if (found) {
      const said = words(...found);
      if (said !== message) hidden(error, { message: said });
      return;
    }
  }
}

// --- Errors with codes ---

// An error as Node's own modules throw it: its code is part of its headline in the stack.
function coded(Base, code, message, properties) {
  const error = new Base(message);
  const headlined = `${error.name} [${code}]: ${message}`;
  const stack = String(error.stack);
  hidden(error, { stack: headlined + stack.slice(stack.indexOf(message) + message.length) });
  error.code = code;
  return Object.assign(error, properties);
}

function received(value) {
  if (value == null) return ` Received ${value}`;
  if (typeof value === "function") return ` Received function ${value.name}`;
  if (typeof value === "object") {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${modules.util.inspect(value, { depth: -1 })}`;
  }
  let shown = modules.util.inspect(value, { colors: false });
  if (shown.length > 28) shown = `${shown.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${shown})`;
}

function wrongType(name, expected, value) {
  const what = name.endsWith(" argument") ? `The ${name}` : `The "${name}" ${name.includes(".") ? "property" : "argument"}`;
  return coded(TypeError, "ERR_INVALID_ARG_TYPE", `${what} must be ${expected}.${received(value)}`);
}

function requireFunction(value, name) {
  if (typeof value !== "function") throw wrongType(name, "of type function", value);
}

function requireString(value, name) {
  if (typeof value !== "string") throw wrongType(name, "of type string", value);
}

// --- What the system refuses ---

const NAMES = {
  1: "E2BIG", 2: "EACCES", 6: "EAGAIN", 8: "EBADF", 10: "EBUSY", 20: "EEXIST", 22: "EFBIG", 27: "EINTR", 28: "EINVAL",
  29: "EIO", 31: "EISDIR", 32: "ELOOP", 33: "EMFILE", 34: "EMLINK", 37: "ENAMETOOLONG", 41: "ENFILE", 44: "ENOENT",
  48: "ENOMEM", 51: "ENOSPC", 52: "ENOSYS", 54: "ENOTDIR", 55: "ENOTEMPTY", 58: "ENOTSUP", 63: "EPERM", 64: "EPIPE",
  69: "EROFS", 70: "ESPIPE", 75: "EXDEV", 76: "ENOTCAPABLE",
};

const SAID = {
  EACCES: "permission denied", EBADF: "bad file descriptor", EBUSY: "resource busy or locked",
  EEXIST: "file already exists", EFBIG: "file too large", EINVAL: "invalid argument", EIO: "i/o error",
  EISDIR: "illegal operation on a directory", ELOOP: "too many symbolic links encountered",
  EMFILE: "too many open files", EMLINK: "too many links", ENAMETOOLONG: "name too long",
  ENOENT: "no such file or directory", ENOMEM: "not enough memory", ENOSPC: "no space left on device",
  ENOSYS: "function not implemented", ENOTDIR: "not a directory", ENOTEMPTY: "directory not empty",
  ENOTSUP: "operation not supported on socket", EPERM: "operation not permitted", EPIPE: "broken pipe",
  EROFS: "read-only file system", EXDEV: "cross-device link not permitted",
};

// Linux's numbers, which scripts may know.
const LINUX = {
  EPERM: 1, ENOENT: 2, EINTR: 4, EIO: 5, E2BIG: 7, EBADF: 9, EAGAIN: 11, ENOMEM: 12, EACCES: 13, EBUSY: 16, EEXIST: 17,
  EXDEV: 18, ENOTDIR: 20, EISDIR: 21, EINVAL: 22, ENFILE: 23, EMFILE: 24, EFBIG: 27, ENOSPC: 28, ESPIPE: 29, EROFS: 30,
  EMLINK: 31, EPIPE: 32, ENAMETOOLONG: 36, ENOSYS: 38, ENOTEMPTY: 39, ELOOP: 40, ENOTSUP: 95,
};

// What is outside the directories that a script has is not there for it.
const OUTSIDE = "ENOTCAPABLE";

function systemError(number, syscall, path, dest) {
  let code = NAMES[Math.abs(number)] ?? "EIO";
  if (code === OUTSIDE) code = "ENOENT";
  const place = path === undefined ? "" : dest === undefined ? ` '${path}'` : ` '${path}' -> '${dest}'`;
  const error = new Error(`${code}: ${SAID[code] ?? "unknown error"}, ${syscall}${place}`);
  error.errno = -(LINUX[code] ?? 5);
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}

// What a sandbox does not have.
function absent(what) {
  return coded(Error, "ERR_NOT_IN_SANDBOX", `there ${what} in this sandbox`);
}

Object.assign(ampoule, { coded, wrongType, requireFunction, requireString, systemError, absent, errorNumbers: LINUX });
