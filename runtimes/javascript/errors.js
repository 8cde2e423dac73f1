// Errors as Node has them: stacks in V8's form, its codes, and its words for what goes wrong most.

const { ampoule } = globalThis;
const { hidden, modules } = ampoule;
const capture = Error.captureStackTrace;

// Frames of these files are the runtime's own and not shown.
const OWN = /^(<|node:)/;


// What a frame is.
function noted(site) {
  return {
    file: site.getFileName(), name: site.getFunctionName(), isNative: site.isNative(),
    line: site.getLineNumber(), column: site.getColumnNumber(),
  };
}

const ARRAY_METHODS = new Set(Object.getOwnPropertyNames(Array.prototype));

function frame({ file, name, isNative, line, column }) {
  if (isNative) {
    if (!name) return undefined;
    const shown = ARRAY_METHODS.has(name) ? `Array.${name}` : name === "parse" || name === "stringify" ? `JSON.${name}` : name;
    return `    at ${shown} (<anonymous>)`;
  }
  if (!file || OWN.test(file)) return undefined;
  const place = ampoule.place(file, line, column);
  const shown = `${place.file}:${place.line}:${place.column}`;
  return name && name !== "<eval>" && name !== "<anonymous>" ? `    at ${name} (${shown})` : `    at ${shown}`;
}

// Where something is in the text that the script's author wrote. `sources.js` knows more: the wrapper of a CommonJS
// module, and source maps.
ampoule.place = (file, line, column) => ({ file, line, column });

function headline(error) {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "Error";
  }
}

let custom, isCapturing = false;

// Called where an error is made. How it looks is settled when somebody looks: by then it may have another name.
function prepare(error, sites) {
  try {
    // The engine asks for whatever is thrown, and again at each frame that it passes.
    if (!isCapturing && !(error instanceof Error) || pending.has(error)) return PENDING;
    translate(error, sites);
    if (typeof custom === "function") return custom(error, sites);
    pending.set(error, { sites, limit: typeof Error.stackTraceLimit === "number" ? Error.stackTraceLimit : 10 });
    return PENDING;
  } catch {
    return headline(error);
  }
}

const pending = new WeakMap();
const PENDING = "a stack that nobody has looked at";

function stackText(error, { sites, limit }) {
  const frames = sites.map(noted);
  const lines = [];
  for (const [i, found] of frames.entries()) {
    // What a CommonJS module is called by, Node names so.
    if (!found.name && frames[i + 1]?.name === "apply" && frames[i + 2]?.name === "callCommon") found.name = "Object.<anonymous>";
    const line = frame(found);
    if (line !== undefined) lines.push(line);
  }
  // A native frame at the end is the one that the runtime itself was called from.
  while (lines.length > 0 && lines.at(-1).endsWith("(<anonymous>)")) lines.pop();
  return [headline(error), ...lines.slice(0, limit)].join("\n");
}

const stackProperty = Object.getOwnPropertyDescriptor(Error.prototype, "stack");
Object.defineProperty(Error.prototype, "stack", {
  get() {
    const found = typeof this === "object" && this !== null ? pending.get(this) : undefined;
    if (found === undefined) return stackProperty.get.call(this);
    pending.delete(this);
    const stack = stackText(this, found);
    hidden(this, { stack });
    return stack;
  },
  set(stack) {
    pending.delete(this);
    hidden(this, { stack });
  },
  configurable: true,
  enumerable: false,
});

Error.captureStackTrace = function captureStackTrace(object, below) {
  const holder = {};
  isCapturing = true;
  capture.call(Error, holder, below ?? captureStackTrace);
  isCapturing = false;
  const found = pending.get(holder);
  if (found === undefined) return hidden(object, { stack: holder.stack }), undefined;
  let text;
  Object.defineProperty(object, "stack", {
    get: () => text ??= stackText(object, found),
    set: (stack) => void hidden(object, { stack }),
    configurable: true,
    enumerable: false,
  });
};

const prepareProperty = Object.getOwnPropertyDescriptor(Error, "prepareStackTrace");
prepareProperty.set.call(Error, prepare);
Object.defineProperty(Error, "prepareStackTrace", {
  get: () => custom,
  set: (value) => void (custom = value),
  configurable: true,
  enumerable: false,
});
// Frames of the runtime are counted before they are left out.
Object.getOwnPropertyDescriptor(Error, "stackTraceLimit").set.call(Error, 64);
Object.defineProperty(Error, "stackTraceLimit", { value: 10, writable: true, configurable: true, enumerable: true });

// --- V8's words ---

const WORDS = [
  [/^cannot read property 'Symbol.iterator' of (undefined|null)$/, (_, of) =>
    `${of} is not iterable (cannot read property Symbol(Symbol.iterator))`],
  [/^cannot read property '(.*)' of (undefined|null)$/s, (_, key, of) =>
    `Cannot read properties of ${of} (reading '${key.startsWith("Symbol.") ? `Symbol(${key})` : key}')`],
  [/^cannot set property '(.*)' of (undefined|null)$/s, (_, key, of) => `Cannot set properties of ${of} (setting '${key}')`],
  [/^'(.*)' is not defined$/, (_, name) => `${name} is not defined`],
  [/^this is not initialized$/, () =>
    "Must call super constructor in derived class before accessing 'this' or returning from derived constructor"],
  [/^(.*) is not initialized$/, (_, name) => `Cannot access '${name.replace(/^'|'$/g, "")}' before initialization`],
  [/^'(.*)' is read-only$/, (_, name, frames) => isConstant(frames)
    ? "Assignment to constant variable."
    : `Cannot assign to read only property '${name}' of object '${/^\d+$/.test(name) ? "[object Array]" : "#<Object>"}'`],
  [/^not a (function|constructor)$/, (_, kind, frames) => notCallable(frames)],
  [/^class constructors must be invoked with 'new'$/, (_, frames) =>
    `Class constructor ${frames[0]?.name ?? ""} cannot be invoked without 'new'`],
  [/^value is not iterable$/, (_, frames) => `${iterated(frames)} is not iterable`],
  [/^object is not extensible$/, () => "Cannot add property, object is not extensible"],
  [/^private class field '(.*)' does not exist$/, (_, name) =>
    `Cannot read private member ${name} from an object whose class did not declare it`],
  [/^invalid array length$/i, () => "Invalid array length"],
  [/^invalid repeat count$/, () => "Invalid count value"],
  [/^invalid number of digits$/, (_, frames) => `${frames[0]?.name ?? "toFixed"}() digits argument must be between 0 and 100`],
  [/^radix must be between 2 and 36$/, () => "toString() radix must be between 2 and 36"],
  [/^empty array$/, () => "Reduce of empty array with no initial value"],
  [/^circular reference$/, () => "Converting circular structure to JSON"],
  [/^BigInt are forbidden in JSON/, () => "Do not know how to serialize a BigInt"],
  [/^cannot convert symbol to (string|number)$/, (_, kind) => `Cannot convert a Symbol value to a ${kind}`],
  [/^cannot convert bigint to number$/i, () => "Cannot mix BigInt and other types, use explicit conversions"],
  [/^cannot convert to BigInt: not an integer$/, () => "The number cannot be converted to a BigInt because it is not an integer"],
  [/^invalid BigInt literal$/, () => "Cannot convert value to a BigInt"],
  [/^division by zero$|^BigInt division by zero$/, () => "Division by zero"],
  [/^invalid 'instanceof' right operand$/, () => "Right-hand side of 'instanceof' is not callable"],
  [/^invalid 'in' operand$/, () => "Cannot use 'in' operator to search for a key in a value that is no object"],
  [/^Date value is NaN$/, () => "Invalid time value"],
  [/^bad normalization form$/, () => "The normalization form should be one of NFC, NFD, NFKC, NFKD."],
  [/^expecting hex digit$/, () => "URI malformed"],
  [/^malformed UTF-8$/, () => "URI malformed"],
  [/^unexpected token in expression: ''$/, () => "Unexpected end of input"],
  [/^unexpected token in expression: '(.*)'$/s, (_, token) => `Unexpected token '${token}'`],
  [/^unexpected end of string$/, () => "Invalid or unexpected token"],
  [/^return not in a function$/, () => "Illegal return statement"],
  [/^invalid redefinition of lexical identifier$/, () => "Identifier has already been declared"],
  [/^'let' is not a valid lexical identifier$/, () => "let is disallowed as a lexically bound name"],
  [/^import.meta only valid in module code$/, () => "Cannot use 'import.meta' outside a module"],
];

// By the engine's words as they are; `words.js` fills it.
const EXACT = Object.create(null);
// The others by the five letters that they begin with.
const BY_START = new Map();

const NATIVE = new Set([Error, TypeError, RangeError, ReferenceError, SyntaxError, EvalError, URIError, InternalError]
  .map((Class) => Class.prototype));

function translate(error, sites) {
  if (!Object.hasOwn(error, "message") || typeof error.message !== "string") return;
  if (!NATIVE.has(Object.getPrototypeOf(error))) return;
  const { message } = error;
  if (!(message[0] >= "a" && message[0] <= "z") && message[0] !== "'" && !/^(BigInt|Cannot convert u|Date)/.test(message)) return;
  const first = sites.length === 0 ? undefined : noted(sites[0]);
  if (isMade(first)) return;
  const frames = sites.map(noted);
  const exact = EXACT[message]?.(frames);
  if (exact !== undefined) return void hidden(error, { message: exact });
  for (const [pattern, words] of [...BY_START.get(message.slice(0, 5)) ?? [], ...BY_START.get("")]) {
    const found = pattern.exec(message);
    if (found === null) continue;
    const said = words(...found, frames);
    if (said === undefined) continue;
    if (said !== message) hidden(error, { message: said });
    return;
  }
}

// Whether a script made the error itself, in its own words.
function isMade(first) {
  const text = first === undefined || first.isNative ? undefined : textAt(first);
  if (text === undefined) return false;
  // The engine points at the call, or at the last of its arguments.
  const own = /^[\w$.]+(?=\s*\()/.exec(text.after)?.[0];
  const around = () => nameAtEnd(text.before.slice(0, Math.max(0, ampoule.openBefore(text.before, text.before.length))).trimEnd());
  return [own, around()].some((callee) => /(^|\.)(super|[\w$]*(Error|Exception))$/.test(callee ?? ""));
}

// The name, with its dots, that a text ends with. A pattern would try it from each place.
function nameAtEnd(text) {
  let at = text.length;
  while (at > 0 && /[\w$.]/.test(text[at - 1])) at--;
  return text.slice(at);
}

const textAt = ({ file, line, column }) => file === undefined ? undefined : ampoule.textAround?.(file, line, column);

const firstOwn = (frames) => frames.find((found) => !found.isNative && found.file && !OWN.test(found.file));

// What has brackets behind it and is no call.
const KEYWORDS = new Set(["if", "for", "while", "switch", "catch", "function", "return", "typeof", "await", "of", "in"]);

// What a script tried to call: the engine says where, and V8 what.
function notCallable(frames) {
  const found = firstOwn(frames), text = found && textAt(found);
  if (text === undefined) return undefined;
  if (frames[0].isNative) {
    const argument = /^[\w$]+\(\s*(-?\d[\w.]*|'[^']*'|"[^"]*"|null|undefined|true|false|\{\})\s*[,)]/.exec(text.after)?.[1];
    return `${argument ?? "undefined"} is not a function`;
  }
  // Where it points at the dot of a member, that belongs to what is before it.
  const dot = /^(?:\?\.|\.)/.exec(text.after);
  if (dot) {
    text.before += ".";
    text.after = text.after.slice(dot[0].length);
  }
  const isNew = /\bnew\s+$/.test(text.before);
  const chain = /^(?:this\b|super\b|[\w$]+)?(?:(?:\?\.|\.)#?[\w$]+|\[(?:\d+|'[^']*'|"[^"]*"|[\w$.]+)\])*/.exec(text.after)[0];
  const isMember = /[.]\s*#?$/.test(text.before);
  const own = isMember ? /^#?[\w$]+/.exec(text.after)?.[0] ?? "" : chain;
  if (!isNew && !/^\s*(?:\?\.)?[(`]/.test(text.after.slice(own.length))) {
    // It points at the last argument.
    const open = ampoule.openBefore(text.before, text.before.length);
    const callee = open === -1 ? "" : holder(`${text.before.slice(0, open)}.`).slice(0, -1);
    if (callee !== "" && callee !== "(intermediate value)" && !KEYWORDS.has(callee)) return `${plainKeys(callee)} is not a function`;
    // Or at the end of the statement before.
    const next = /^[\w$'"]*;\s*([\w$.]+)\s*\(/.exec(text.after)?.[1];
    if (next !== undefined && !KEYWORDS.has(next)) return `${next} is not a function`;
  }
  const shown = plainKeys((isMember ? holder(text.before) : "") + own);
  if (shown === "") return "(intermediate value) is not a function";
  return `${shown} is not a ${isNew ? "constructor" : "function"}`;
}

// A member named by a text in brackets, as V8 shows it.
const plainKeys = (text) => text.replaceAll("?.", ".").replace(/\[(['"])([\w$]+)\1\]/g, ".$2");

// The expression that a text ends with, up to its last dot; calls in it are shown as `(...)`.
function holder(before) {
  let rest = before.replace(/\?\.$/, "."), shown = "";
  while (true) {
    const link = /(?:\?\.|\.)$/.exec(rest);
    if (link) {
      shown = `.${shown}`;
      rest = rest.slice(0, -link[0].length);
    }
    const name = /(?:this|[\w$]+)$/.exec(rest)?.[0];
    if (name !== undefined) {
      shown = name + shown;
      rest = rest.slice(0, -name.length);
      if (/[.]$/.test(rest)) continue;
      return shown;
    }
    const close = rest.at(-1);
    if (close !== ")" && close !== "]") return `(intermediate value)${shown}`;
    let depth = 0, i = rest.length - 1;
    for (; i >= 0; i--) {
      if (rest[i] === close) depth++;
      if (rest[i] === (close === ")" ? "(" : "[") && --depth === 0) break;
    }
    if (i < 0) return `(intermediate value)${shown}`;
    const inside = rest.slice(i + 1, -1), head = rest.slice(0, i);
    if (!/[\w$)\]]$/.test(head)) return `(intermediate value)${shown}`;
    shown = (close === ")" ? "(...)" : `[${inside}]`) + shown;
    rest = head;
  }
}

// What a loop or a pattern went through.
function iterated(frames) {
  const found = firstOwn(frames), text = found && textAt(found);
  const line = text === undefined ? "" : text.before.split("\n").at(-1) + text.after;
  if (frames[0]?.isNative) return "value";
  // The place nearest to where the engine points.
  const at = text === undefined ? 0 : text.before.split("\n").at(-1).length;
  const all = [...line.matchAll(/\bof\s+([\w$.]+|\{\})\s*\)|\.\.\.([\w$.]+)|\]\s*=\s*([\w$.]+|\{\})/g)];
  const near = all.sort((a, b) => Math.abs(a.index - at) - Math.abs(b.index - at))[0];
  return near?.[1] ?? near?.[2] ?? near?.[3] ?? "value";
}

function isConstant(frames) {
  const found = firstOwn(frames), text = found && textAt(found);
  return text === undefined || !(/[.\]]\s*$/.test(text.before) || /^[\w$]*\s*[.[]/.test(text.after));
}

// --- JSON ---

const parseJson = JSON.parse;

JSON.parse = function parse(text, reviver) {
  // The engine's error says little of where a text goes wrong, and V8's words are known to scripts.
  let value;
  try {
    value = parseJson(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    const said = jsonMistake(`${text}`);
    if (said !== undefined) hidden(error, { message: said });
    throw error;
  }
  return reviver === undefined ? value : parseJson(text, reviver);
};
Object.defineProperty(JSON, "parse", { enumerable: false });

function jsonMistake(text) {
  let at = 0;
  const stop = (message) => {
    throw message;
  };
  const end = () => stop("Unexpected end of JSON input");
  const place = (message, where = at) => stop(`${message} in JSON at position ${where}`);
  const space = () => {
    while (" \t\n\r".includes(text[at]) && at < text.length) at++;
  };
  const unexpected = () => {
    if (at >= text.length) end();
    if (text[at] === '"') place("Unexpected string");
    if (/[-\d]/.test(text[at])) place("Unexpected number");
    const token = String.fromCodePoint(text.codePointAt(at));
    if (["undefined", "NaN", "Infinity", "[object Object]"].includes(text)) stop(`"${text}" is not valid JSON`);
    let shown = `"${text}"`;
    if (text.length > 20) {
      const start = at < 10 ? 0 : at - 10, stopAt = at >= text.length - 10 ? text.length : at + 10;
      shown = `${start > 0 ? "..." : ""}"${text.slice(start, stopAt)}"${stopAt < text.length ? "... " : " "}`.trimEnd();
    }
    stop(`Unexpected token '${token}', ${shown} is not valid JSON`);
  };
  const string = () => {
    at++;
    while (true) {
      if (at >= text.length) place("Unterminated string");
      const unit = text[at];
      if (unit === '"') break;
      if (unit < " ") place("Bad control character in string literal");
      if (unit === "\\") {
        at++;
        if (text[at] === "u") {
          if (!/^[0-9a-fA-F]{4}/.test(text.slice(at + 1, at + 5))) {
            if (at + 5 > text.length) place("Unterminated string", text.length);
            place("Bad Unicode escape", at + 1 + /^[0-9a-fA-F]*/.exec(text.slice(at + 1, at + 5))[0].length);
          }
          at += 4;
        } else if (at >= text.length) {
          place("Unterminated string");
        } else if (!'"\\/bfnrt'.includes(text[at])) {
          place("Bad escaped character");
        }
      }
      at++;
    }
    at++;
  };
  const number = () => {
    if (text[at] === "-") {
      at++;
      if (!/\d/.test(text[at] ?? "")) place("No number after minus sign");
    }
    if (text[at] === "0") {
      at++;
      if (/\d/.test(text[at] ?? "")) place("Unexpected number");
    } else {
      while (/\d/.test(text[at] ?? "")) at++;
    }
    if (text[at] === ".") {
      at++;
      if (!/\d/.test(text[at] ?? "")) place("Unterminated fractional number");
      while (/\d/.test(text[at] ?? "")) at++;
    }
    if (/[eE]/.test(text[at] ?? "")) {
      at++;
      if (/[-+]/.test(text[at] ?? "")) at++;
      if (!/\d/.test(text[at] ?? "")) place("Exponent part is missing a number");
      while (/\d/.test(text[at] ?? "")) at++;
    }
  };
  const word = (wanted) => {
    for (const letter of wanted) {
      if (text[at] !== letter) unexpected();
      at++;
    }
  };
  const value = () => {
    space();
    const unit = text[at];
    if (unit === "{") object();
    else if (unit === "[") array();
    else if (unit === '"') string();
    else if (/[-\d]/.test(unit ?? "")) number();
    else if (unit === "t") word("true");
    else if (unit === "f") word("false");
    else if (unit === "n") word("null");
    else unexpected();
  };
  const object = () => {
    at++;
    space();
    if (text[at] === "}") return void at++;
    for (let isFirst = true; ; isFirst = false) {
      space();
      if (text[at] !== '"') {
        if (at >= text.length && !isFirst) place("Expected double-quoted property name");
        place(isFirst ? "Expected property name or '}'" : "Expected double-quoted property name");
      }
      string();
      space();
      if (text[at] !== ":") place("Expected ':' after property name");
      at++;
      value();
      space();
      if (text[at] === "}") return void at++;
      if (text[at] !== ",") place("Expected ',' or '}' after property value");
      at++;
    }
  };
  const array = () => {
    at++;
    space();
    if (text[at] === "]") return void at++;
    while (true) {
      value();
      space();
      if (text[at] === "]") return void at++;
      if (text[at] !== ",") place("Expected ',' or ']' after array element");
      at++;
    }
  };
  try {
    value();
    space();
    if (at < text.length) stop(`Unexpected non-whitespace character after JSON at position ${at}`);
  } catch (message) {
    if (typeof message === "string") return message;
    throw message;
  }
  return undefined;
}

// A promise of Promise.any fails with an error that the engine gives no words.
hidden(AggregateError.prototype, { message: "All promises were rejected" });

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

Object.assign(ampoule, {
  words: WORDS, exactWords: EXACT, wordsByStart: BY_START, textAt, firstOwn, iterated, coded, wrongType, requireFunction, requireString, systemError, absent, errorNumbers: LINUX,
});
