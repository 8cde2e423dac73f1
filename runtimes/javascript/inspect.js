// Values as text, exactly as Node 20 shows them: `util.inspect` and `util.format`.

const { ampoule } = globalThis;
const { native } = ampoule;

const CUSTOM = Symbol.for("nodejs.util.inspect.custom");
const DEFAULTS = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

const PLAIN_KEY = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
const { hasOwn, getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertySymbols, getOwnPropertyNames } = Object;
const isEnumerable = Function.prototype.call.bind(Object.prototype.propertyIsEnumerable);
const functionText = Function.prototype.call.bind(Function.prototype.toString);
const tagOfTypedArray =
  Function.prototype.call.bind(getOwnPropertyDescriptor(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag).get);
const sizeOf = (prototype) => Function.prototype.call.bind(getOwnPropertyDescriptor(prototype, "size").get);
const mapSize = sizeOf(Map.prototype), setSize = sizeOf(Set.prototype);
const ASYNC = getPrototypeOf(async () => {}), GENERATOR = getPrototypeOf(function* () {});
const ASYNC_GENERATOR = getPrototypeOf(async function* () {});
const MAP_ITERATOR = getPrototypeOf(new Map().keys()), SET_ITERATOR = getPrototypeOf(new Set().keys());

// What an object is shown as: entries of an object, elements and more of an array.
const OBJECT = 0, ELEMENT = 1, ARRAY = 2;

function holds(test) {
  try {
    test();
    return true;
  } catch {
    return false;
  }
}

// Whether an object that claims to be of a class was made by its constructor.
const isMap = (value) => value instanceof Map && holds(() => mapSize(value));
const isSet = (value) => value instanceof Set && holds(() => setSize(value));
const isDate = (value) => value instanceof Date && holds(() => Date.prototype.getTime.call(value));
const isPromise = (value) => value instanceof Promise && holds(() => native.promiseState(value));
const isRegExp = (value) => value instanceof RegExp && value !== RegExp.prototype;
const isError = (value) => value instanceof Error || Object.prototype.toString.call(value) === "[object Error]";
const isTypedArray = (value) => ArrayBuffer.isView(value) && tagOfTypedArray(value) !== undefined;
const isDataView = (value) => ArrayBuffer.isView(value) && tagOfTypedArray(value) === undefined;
const isBuffer = (value) => value instanceof ArrayBuffer && holds(() => value.byteLength);
const isNamespace = (value) => getPrototypeOf(value) === null && hasOwn(value, Symbol.toStringTag) &&
  value[Symbol.toStringTag] === "Module";
const isArguments = (value) => Object.prototype.toString.call(value) === "[object Arguments]";

// --- Colours ---

const STYLES = {
  special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
  string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
};
const COLORS = {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27],
  hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, 39], red: [31, 39], green: [32, 39],
  yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], bgBlack: [40, 49],
  bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49],
  bgWhite: [47, 49], gray: [90, 39], grey: [90, 39], redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39],
  blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
};

function colored(text, style) {
  const color = COLORS[inspect.styles[style]];
  return color === undefined ? text : `\x1B[${color[0]}m${text}\x1B[${color[1]}m`;
}

const plain = (text) => text;
const ESCAPES = /\x1B\[[0-9;]*m|\x1B\]8;;.*?(?:\x07|\x1B\\)/g;
const withoutColors = (text) => text.replace(ESCAPES, "");

// The columns that a text takes on a terminal.
function width(text) {
  if (/^[\x20-\x7E]*$/.test(text)) return text.length;
  let columns = 0;
  for (const character of withoutColors(text).normalize("NFC")) {
    const point = character.codePointAt(0);
    if (isWide(point)) columns += 2;
    else if (!isInvisible(point)) columns += 1;
  }
  return columns;
}

function isWide(point) {
  return point >= 0x1100 && (point <= 0x115F || point === 0x2329 || point === 0x232A ||
    (point >= 0x2E80 && point <= 0x3247 && point !== 0x303F) || (point >= 0x3250 && point <= 0x4DBF) ||
    (point >= 0x4E00 && point <= 0xA4C6) || (point >= 0xA960 && point <= 0xA97C) ||
    (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
    (point >= 0xFE10 && point <= 0xFE19) || (point >= 0xFE30 && point <= 0xFE6B) ||
    (point >= 0xFF01 && point <= 0xFF60) || (point >= 0xFFE0 && point <= 0xFFE6) ||
    (point >= 0x1B000 && point <= 0x1B001) || (point >= 0x1F200 && point <= 0x1F251) ||
    (point >= 0x1F300 && point <= 0x1F64F) || (point >= 0x1F900 && point <= 0x1F9FF) ||
    (point >= 0x20000 && point <= 0x3FFFD));
}

function isInvisible(point) {
  return point <= 0x1F || (point >= 0x7F && point <= 0x9F) || (point >= 0x300 && point <= 0x36F) ||
    (point >= 0x200B && point <= 0x200F) || (point >= 0x20D0 && point <= 0x20FF) ||
    (point >= 0xFE00 && point <= 0xFE0F) || (point >= 0xFE20 && point <= 0xFE2F) ||
    (point >= 0xE0100 && point <= 0xE01EF);
}

// --- Primitives ---

const ESCAPED = { "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "\\": "\\\\" };
const hex = (unit) => unit.charCodeAt(0).toString(16).toUpperCase();

function quoted(text) {
  if (/^[\x20-\x26\x28-\x5B\x5D-\x7E]*$/.test(text)) return `'${text}'`;
  let quote = "'";
  if (text.includes("'")) {
    if (!text.includes('"')) quote = '"';
    else if (!text.includes("`") && !text.includes("${")) quote = "`";
  }
  const escaped = text.replace(
    /[\x00-\x1F\\\x7F-\x9F]|[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g,
    (unit) => ESCAPED[unit] ?? (unit > "\xFF" ? `\\u${hex(unit).toLowerCase()}` : `\\x${hex(unit).padStart(2, "0")}`),
  );
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

function separated(digits) {
  return digits.replace(/\B(?=(\d{3})+$)/g, "_");
}

function number(ctx, value) {
  if (!ctx.numericSeparator) return ctx.stylize(Object.is(value, -0) ? "-0" : `${value}`, "number");
  const text = String(value);
  if (!Number.isFinite(value) || text.includes("e")) return ctx.stylize(text, "number");
  const [whole, fraction] = text.split(".");
  const shown = separated(whole) + (fraction === undefined ? "" : `.${fraction.replace(/(\d{3})(?=\d)/g, "$1_")}`);
  return ctx.stylize(Object.is(value, -0) ? "-0" : shown, "number");
}

function primitive(ctx, value) {
  switch (typeof value) {
    case "string": return string(ctx, value);
    case "number": return number(ctx, value);
    case "bigint": return ctx.stylize(`${ctx.numericSeparator ? separated(`${value}`) : value}n`, "bigint");
    case "boolean": return ctx.stylize(`${value}`, "boolean");
    case "undefined": return ctx.stylize("undefined", "undefined");
    default: return ctx.stylize(symbolText(value), "symbol");
  }
}

function string(ctx, text) {
  let more = "";
  if (text.length > ctx.maxStringLength) {
    const left = text.length - ctx.maxStringLength;
    text = text.slice(0, ctx.maxStringLength);
    more = `... ${left} more character${left > 1 ? "s" : ""}`;
  }
  if (ctx.compact !== true && text.length > 16 && text.length > ctx.breakLength - ctx.indentation - 4) {
    const lines = text.split(/(?<=\n)/).map((line) => ctx.stylize(quoted(line), "string"));
    return lines.join(` +\n${" ".repeat(ctx.indentation + 2)}`) + more;
  }
  return ctx.stylize(quoted(text), "string") + more;
}

const symbolText = (symbol) => Symbol.prototype.toString.call(symbol);

// --- Objects ---

function value(ctx, shown, times, typed) {
  if (typeof shown !== "object" && typeof shown !== "function") return primitive(ctx, shown);
  if (shown === null) return ctx.stylize("null", "null");
  if (ctx.customInspect) {
    const custom = shown[CUSTOM];
    if (typeof custom === "function" && custom !== inspect && shown.constructor?.prototype !== shown) {
      const depth = ctx.depth === null ? null : ctx.depth - times;
      const answer = custom.call(shown, depth, optionsOf(ctx), inspect);
      if (answer !== shown) {
        if (typeof answer !== "object") return `${answer}`;
        return value(ctx, answer, times).replaceAll("\n", `\n${" ".repeat(ctx.indentation)}`);
      }
    }
  }
  if (ctx.seen.includes(shown)) {
    ctx.circular ??= new Map();
    let index = ctx.circular.get(shown);
    if (index === undefined) ctx.circular.set(shown, index = ctx.circular.size + 1);
    return ctx.stylize(`[Circular *${index}]`, "special");
  }
  return raw(ctx, shown, times, typed);
}

function optionsOf(ctx) {
  const options = { stylize: ctx.stylize };
  for (const name of Object.keys(DEFAULTS)) options[name] = ctx[name];
  return { ...options, ...ctx.userOptions };
}

function constructorName(object, ctx, times) {
  const shown = object;
  let first;
  while (object) {
    const constructor = getOwnPropertyDescriptor(object, "constructor")?.value;
    if (typeof constructor === "function" && constructor.name !== "" && isInstance(shown, constructor)) {
      return String(constructor.name);
    }
    object = getPrototypeOf(object);
    first ??= object;
    if (first === null) return null;
  }
  const name = typeof shown === "function" ? "Function" : Object.prototype.toString.call(shown).slice(8, -1);
  if (ctx.depth !== null && times > ctx.depth) return `${name} <Complex prototype>`;
  const parent = constructorName(first, ctx, times + 1);
  if (parent === null) {
    return `${name} <${inspect(first, { ...ctx, seen: undefined, customInspect: false, depth: -1 })}>`;
  }
  return `${name} <${parent}>`;
}

function isInstance(object, constructor) {
  try {
    return object instanceof constructor;
  } catch {
    return false;
  }
}

function prefix(constructor, tag, fallback, size = "") {
  if (constructor === null) {
    return tag !== "" && fallback !== tag
      ? `[${fallback}${size}: null prototype] [${tag}] `
      : `[${fallback}${size}: null prototype] `;
  }
  return tag !== "" && constructor !== tag ? `${constructor}${size} [${tag}] ` : `${constructor}${size} `;
}

function keysOf(object, showHidden) {
  const symbols = getOwnPropertySymbols(object);
  if (showHidden) return [...getOwnPropertyNames(object), ...symbols];
  const keys = Object.keys(object);
  if (symbols.length !== 0) keys.push(...symbols.filter((symbol) => isEnumerable(object, symbol)));
  return keys;
}

const INDEX = /^(?:0|[1-9]\d*)$/;

// The keys of an array that are no indices of elements.
function keysBeside(array, showHidden) {
  return keysOf(array, showHidden).filter((key) => typeof key !== "string" || !INDEX.test(key) || key > 2 ** 32 - 2);
}

function raw(ctx, object, times, typed) {
  const constructor = constructorName(object, ctx, times);
  let tag = object[Symbol.toStringTag];
  const own = ctx.showHidden ? hasOwn : isEnumerable;
  if (typeof tag !== "string" || (tag !== "" && own(object, Symbol.toStringTag))) tag = "";
  let base = "", entries = () => [], braces, keys, kind = OBJECT;

  let isListed = true;
  if (object[Symbol.iterator] || constructor === null) {
    if (Array.isArray(object)) {
      const name = constructor !== "Array" || tag !== "" ? prefix(constructor, tag, "Array", `(${object.length})`) : "";
      keys = keysBeside(object, ctx.showHidden);
      braces = [`${name}[`, "]"];
      if (object.length === 0 && keys.length === 0) return `${braces[0]}]`;
      kind = ARRAY;
      entries = elements;
    } else if (isSet(object)) {
      const name = prefix(constructor, tag, "Set", `(${setSize(object)})`);
      keys = keysOf(object, ctx.showHidden);
      if (setSize(object) === 0 && keys.length === 0) return `${name}{}`;
      braces = [`${name}{`, "}"];
      entries = members;
    } else if (isMap(object)) {
      const name = prefix(constructor, tag, "Map", `(${mapSize(object)})`);
      keys = keysOf(object, ctx.showHidden);
      if (mapSize(object) === 0 && keys.length === 0) return `${name}{}`;
      braces = [`${name}{`, "}"];
      entries = pairs;
    } else if (isTypedArray(object)) {
      keys = keysBeside(object, ctx.showHidden);
      const fallback = constructor === null ? tagOfTypedArray(object) : "";
      braces = [`${prefix(constructor, tag, fallback, `(${object.length})`)}[`, "]"];
      if (object.length === 0 && keys.length === 0 && !ctx.showHidden) return `${braces[0]}]`;
      kind = ARRAY;
      entries = numbers;
    } else if (getPrototypeOf(object) === MAP_ITERATOR || getPrototypeOf(object) === SET_ITERATOR) {
      keys = keysOf(object, ctx.showHidden);
      const pairs = ampoule.pairIterators.has(object);
      braces = [`[${pairs ? tag.replace("Iterator", "Entries") : tag}] {`, "}"];
      if (pairs) kind = OBJECT;
      entries = (ctx, iterator, times) => rest(ctx, iterator, times, pairs);
    } else {
      isListed = false;
    }
  } else {
    isListed = false;
  }

  if (!isListed) {
    keys = keysOf(object, ctx.showHidden);
    braces = ["{", "}"];
    const name = (fallback) => prefix(constructor, tag, fallback);
    if (typeof object === "function") {
      base = functionBase(object, constructor, tag);
      if (keys.length === 0) return ctx.stylize(base, "special");
    } else if (constructor === "Object" && isArguments(object)) {
      braces[0] = "[Arguments] {";
      if (keys.length === 0) return "[Arguments] {}";
    } else if (constructor === "Object" && !isSpecial(object)) {
      if (tag !== "") braces[0] = `${name("Object")}{`;
      if (keys.length === 0) return `${braces[0]}}`;
    } else if (isRegExp(object)) {
      base = RegExp.prototype.toString.call(object);
      if (name("RegExp") !== "RegExp ") base = name("RegExp") + base;
      if (keys.length === 0 || (ctx.depth !== null && times > ctx.depth)) return ctx.stylize(base, "regexp");
    } else if (isDate(object)) {
      const time = Date.prototype.getTime.call(object);
      base = Number.isNaN(time) ? "Invalid Date" : Date.prototype.toISOString.call(object);
      if (name("Date") !== "Date ") base = name("Date") + base;
      if (keys.length === 0) return ctx.stylize(base, "date");
    } else if (isError(object)) {
      base = errorBase(object, constructor, tag, ctx, keys);
      if (keys.length === 0) return base;
    } else if (isBuffer(object)) {
      if (typed === undefined) entries = bytes;
      else if (keys.length === 0) {
        return `${name("ArrayBuffer")}{ byteLength: ${number(ctx, object.byteLength)} }`;
      }
      braces[0] = `${name("ArrayBuffer")}{`;
      keys.unshift("byteLength");
    } else if (isDataView(object)) {
      braces[0] = `${name("DataView")}{`;
      keys.unshift("byteLength", "byteOffset", "buffer");
    } else if (isPromise(object)) {
      braces[0] = `${name("Promise")}{`;
      entries = settled;
    } else if (object instanceof WeakSet || object instanceof WeakMap) {
      braces[0] = `${name(object instanceof WeakSet ? "WeakSet" : "WeakMap")}{`;
      entries = () => [ctx.stylize("<items unknown>", "special")];
    } else if (isNamespace(object)) {
      braces[0] = `${name("Module")}{`;
      entries = exported.bind(null, keys);
      keys = [];
    } else if (isBoxed(object)) {
      base = boxedBase(object, ctx, keys, constructor, tag);
      if (keys.length === 0) return base;
    } else {
      if (keys.length === 0) return `${name("Object")}{}`;
      braces[0] = `${name("Object")}{`;
    }
  }

  if (ctx.depth !== null && times > ctx.depth) {
    const name = prefix(constructor, tag, Array.isArray(object) ? "Array" : "Object").slice(0, -1);
    return ctx.stylize(`[${name}]`, "special");
  }
  times += 1;
  ctx.seen.push(object);
  ctx.currentDepth = times;
  let output;
  try {
    output = entries(ctx, object, times);
    for (const key of keys) output.push(property(ctx, object, times, key, kind === ARRAY ? OBJECT : kind));
  } catch (error) {
    if (!(error instanceof RangeError) || !/call stack/.test(error.message)) throw error;
    return ctx.stylize(`[${prefix(constructor, tag, "Object").slice(0, -1)}: Inspection interrupted prematurely. ` +
      "Maximum call stack size exceeded.]", "special");
  }
  const index = ctx.circular?.get(object);
  if (index !== undefined) {
    const reference = ctx.stylize(`<ref *${index}>`, "special");
    if (ctx.compact === true) braces[0] = `${reference} ${braces[0]}`;
    else base = base === "" ? reference : `${reference} ${base}`;
  }
  ctx.seen.pop();
  if (ctx.sorted) {
    const order = ctx.sorted === true ? undefined : ctx.sorted;
    if (kind === OBJECT) output.sort(order);
    else if (keys.length > 1) output.push(...output.splice(output.length - keys.length).sort(order));
  }
  return joined(ctx, output, base, braces, kind, times, object);
}

// Whether something whose constructor is Object has a form of its own all the same.
function isSpecial(object) {
  return isError(object) || isBoxed(object);
}

const BOXES = [[Number, "Number"], [String, "String"], [Boolean, "Boolean"], [BigInt, "BigInt"], [Symbol, "Symbol"]];

function isBoxed(object) {
  return BOXES.some(([Box]) => object instanceof Box && holds(() => Box.prototype.valueOf.call(object)));
}

function boxedBase(object, ctx, keys, constructor, tag) {
  const [Box, type] = BOXES.find(([Box]) => object instanceof Box);
  if (type === "String") keys.splice(0, object.length);
  let base = `[${type}`;
  if (type !== constructor) base += constructor === null ? " (null prototype)" : ` (${constructor})`;
  base += `: ${primitive({ ...ctx, stylize: plain }, Box.prototype.valueOf.call(object))}]`;
  if (tag !== "" && tag !== constructor) base += ` [${tag}]`;
  return keys.length !== 0 || ctx.stylize === plain ? base : ctx.stylize(base, type.toLowerCase());
}

function functionBase(object, constructor, tag) {
  const text = functionText(object);
  // As in Node, a bracket before the body makes it a function.
  if (/^class\b[^(]*\{/.test(text) && text.endsWith("}")) return classBase(object, constructor, tag);
  let type = "Function";
  const parent = getPrototypeOf(object);
  if (parent === GENERATOR) type = "GeneratorFunction";
  else if (parent === ASYNC) type = "AsyncFunction";
  else if (parent === ASYNC_GENERATOR) type = "AsyncGeneratorFunction";
  let base = `[${type}`;
  if (constructor === null) base += " (null prototype)";
  base += object.name === "" ? " (anonymous)" : `: ${typeof object.name === "string" ? object.name : inspect(object.name)}`;
  base += "]";
  if (constructor !== type && constructor !== null) base += ` ${constructor}`;
  if (tag !== "" && constructor !== tag) base += ` [${tag}]`;
  return base;
}

function classBase(object, constructor, tag) {
  let base = `class ${(hasOwn(object, "name") && object.name) || "(anonymous)"}`;
  if (constructor !== "Function" && constructor !== null) base += ` [${constructor}]`;
  if (tag !== "" && constructor !== tag) base += ` [${tag}]`;
  if (constructor === null) base += " extends null";
  else if (getPrototypeOf(object).name) base += ` extends ${getPrototypeOf(object).name}`;
  return `[${base}]`;
}

// --- Errors ---

function stackOf(error) {
  return error.stack ? String(error.stack) : Error.prototype.toString.call(error);
}

function errorBase(error, constructor, tag, ctx, keys) {
  const name = error.name != null ? String(error.name) : "Error";
  let stack = stackOf(error);
  if (!ctx.showHidden && keys.length !== 0) {
    for (const key of ["name", "message", "stack"]) {
      const index = keys.indexOf(key);
      if (index !== -1 && (typeof error[key] !== "string" || stack.includes(error[key]))) keys.splice(index, 1);
    }
  }
  for (const key of ["fileName", "lineNumber", "columnNumber"]) {
    const index = keys.indexOf(key);
    if (index !== -1) keys.splice(index, 1);
  }
  if ("cause" in error && !keys.includes("cause")) keys.push("cause");
  if (Array.isArray(error.errors) && !keys.includes("errors")) keys.push("errors");
  stack = named(stack, constructor, name, tag);
  let at = (error.message && stack.indexOf(error.message)) || -1;
  if (at !== -1) at += error.message.length;
  const start = stack.indexOf("\n    at", at);
  if (start === -1) {
    stack = `[${stack}]`;
  } else {
    stack = `${stack.slice(0, start)}\n${framesOf(error, stack.slice(start + 1)).join("\n")}`;
  }
  return ctx.indentation === 0 ? stack : stack.replaceAll("\n", `\n${" ".repeat(ctx.indentation)}`);
}

// A stack whose first line names the error's class.
function named(stack, constructor, name, tag) {
  let { length } = name;
  const begins = stack.startsWith(name) && (stack.length === length || ":\n".includes(stack[length]));
  if (constructor !== null && !(name.endsWith("Error") && begins)) return stack;
  let fallback = "Error";
  if (constructor === null) {
    const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    fallback = start?.[1] ?? "";
    length = fallback.length;
    fallback ||= "Error";
  }
  const full = prefix(constructor, tag, fallback).slice(0, -1);
  if (name === full) return stack;
  if (!full.includes(name)) return `${full} [${name}]${stack.slice(length)}`;
  return length === 0 ? `${full}: ${stack}` : `${full}${stack.slice(length)}`;
}

// The frames, without those in the middle that the cause shows as well.
function framesOf(error, text) {
  const frames = text.split("\n");
  if (!error.cause || !isError(error.cause)) return frames;
  const causeStack = stackOf(error.cause);
  const start = causeStack.indexOf("\n    at");
  if (start === -1) return frames;
  const { length, offset } = overlap(frames, causeStack.slice(start + 1).split("\n"));
  if (length > 3) {
    const skipped = length - 2;
    frames.splice(offset + 1, skipped, `    ... ${skipped} lines matching cause stack trace ...`);
  }
  return frames;
}

function overlap(frames, others) {
  for (let i = 0; i < frames.length - 3; i++) {
    const at = others.indexOf(frames[i]);
    if (at === -1) continue;
    const rest = others.length - at;
    if (rest <= 3) continue;
    let length = 1;
    const most = Math.min(frames.length - i, rest);
    while (length < most && frames[i + length] === others[at + length]) length++;
    if (length > 3) return { length, offset: i };
  }
  return { length: 0, offset: 0 };
}

// --- What is inside ---

function more(remaining) {
  return `... ${remaining} more item${remaining > 1 ? "s" : ""}`;
}

function elements(ctx, array, times) {
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), array.length);
  const output = [];
  for (let i = 0; i < shown; i++) {
    if (!hasOwn(array, i)) return sparse(ctx, array, times, shown, output, i);
    output.push(property(ctx, array, times, i, ELEMENT));
  }
  if (array.length > shown) output.push(more(array.length - shown));
  return output;
}

function sparse(ctx, array, times, most, output, i) {
  const keys = Object.keys(array);
  let index = i;
  for (; i < keys.length && output.length < most; i++) {
    const key = keys[i];
    if (!INDEX.test(key) || key > 2 ** 32 - 2) break;
    if (`${index}` !== key) {
      const empty = key - index;
      output.push(ctx.stylize(`<${empty} empty item${empty > 1 ? "s" : ""}>`, "undefined"));
      index = Number(key);
      if (output.length === most) break;
    }
    output.push(property(ctx, array, times, key, ELEMENT));
    index++;
  }
  const remaining = array.length - index;
  if (output.length !== most) {
    if (remaining > 0) output.push(ctx.stylize(`<${remaining} empty item${remaining > 1 ? "s" : ""}>`, "undefined"));
  } else if (remaining > 0) {
    output.push(more(remaining));
  }
  return output;
}

function numbers(ctx, array, times) {
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), array.length);
  const output = [];
  for (let i = 0; i < shown; i++) output.push(primitive(ctx, array[i]));
  if (array.length > shown) output.push(more(array.length - shown));
  if (ctx.showHidden) {
    ctx.indentation += 2;
    for (const key of ["BYTES_PER_ELEMENT", "length", "byteLength", "byteOffset", "buffer"]) {
      output.push(`[${key}]: ${value(ctx, array[key], times, true)}`);
    }
    ctx.indentation -= 2;
  }
  return output;
}

function listed(ctx, iterable, size, show) {
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), size);
  const output = [];
  ctx.indentation += 2;
  for (const item of iterable) {
    if (output.length >= shown) break;
    output.push(show(item));
  }
  if (size > shown) output.push(more(size - shown));
  ctx.indentation -= 2;
  return output;
}

function members(ctx, set, times) {
  return listed(ctx, Set.prototype.values.call(set), setSize(set), (item) => value(ctx, item, times));
}

function pairs(ctx, map, times) {
  const show = ([key, item]) => `${value(ctx, key, times)} => ${value(ctx, item, times)}`;
  return listed(ctx, Map.prototype.entries.call(map), mapSize(map), show);
}

// What an iterator of a map or set has left; it is asked for on a copy (see `collections.js`).
function rest(ctx, iterator, times, inPairs) {
  const items = ampoule.itemsLeft(iterator);
  return listed(ctx, items, items.length, (item) => {
    if (!inPairs) return value(ctx, item, times);
    return `[ ${value(ctx, item[0], times)}, ${value(ctx, item[1], times)} ]`;
  });
}

function bytes(ctx, buffer) {
  const view = new Uint8Array(buffer);
  const shown = Math.min(Math.max(0, ctx.maxArrayLength), view.length);
  let text = Array.from(view.subarray(0, shown), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  if (view.length > shown) text += ` ... ${view.length - shown} more byte${view.length - shown > 1 ? "s" : ""}`;
  return [`${ctx.stylize("[Uint8Contents]", "special")}: <${text}>`];
}

function settled(ctx, promise, times) {
  const state = native.promiseState(promise);
  if (state === 0) return [ctx.stylize("<pending>", "special")];
  ctx.indentation += 2;
  const text = value(ctx, native.promiseResult(promise), times);
  ctx.indentation -= 2;
  return [state === 2 ? `${ctx.stylize("<rejected>", "special")} ${text}` : text];
}

function exported(keys, ctx, namespace, times) {
  return keys.map((key) => {
    try {
      return property(ctx, namespace, times, key, OBJECT);
    } catch (error) {
      if (!(error instanceof ReferenceError)) throw error;
      return `${key}: ${ctx.stylize("<uninitialized>", "special")}`;
    }
  });
}

function property(ctx, object, times, key, kind) {
  const descriptor = getOwnPropertyDescriptor(object, key) ?? { value: object[key], enumerable: true };
  let text, gap = " ";
  if (descriptor.value !== undefined) {
    const step = ctx.compact !== true || kind !== OBJECT ? 2 : 3;
    ctx.indentation += step;
    text = value(ctx, descriptor.value, times);
    if (step === 3 && ctx.breakLength < width(text)) gap = `\n${" ".repeat(ctx.indentation)}`;
    ctx.indentation -= step;
  } else if (descriptor.get !== undefined) {
    text = accessor(ctx, object, descriptor, times);
  } else if (descriptor.set !== undefined) {
    text = ctx.stylize("[Setter]", "special");
  } else {
    text = ctx.stylize("undefined", "undefined");
  }
  if (kind === ELEMENT) return text;
  let name;
  if (typeof key === "symbol") name = `[${ctx.stylize(symbolText(key), "symbol")}]`;
  else if (key === "__proto__") name = "['__proto__']";
  else if (descriptor.enumerable === false) name = `[${key}]`;
  else if (PLAIN_KEY.test(key)) name = ctx.stylize(key, "name");
  else name = ctx.stylize(quoted(key), "string");
  return `${name}:${gap}${text}`;
}

function accessor(ctx, object, descriptor, times) {
  const label = descriptor.set === undefined ? "Getter" : "Getter/Setter";
  const wanted = ctx.getters === true || (ctx.getters === "get" && descriptor.set === undefined) ||
    (ctx.getters === "set" && descriptor.set !== undefined);
  if (!wanted) return ctx.stylize(`[${label}]`, "special");
  try {
    const got = descriptor.get.call(object);
    ctx.indentation += 2;
    const text = typeof got === "object" && got !== null
      ? `${ctx.stylize(`[${label}]`, "special")} ${value(ctx, got, times)}`
      : `${ctx.stylize(`[${label}:`, "special")} ${primitive(ctx, got)}${ctx.stylize("]", "special")}`;
    ctx.indentation -= 2;
    return text;
  } catch (error) {
    return ctx.stylize(`[${label}: <Inspection threw (${error.message})>]`, "special");
  }
}

// --- Lines ---

function joined(ctx, output, base, braces, kind, times, object) {
  const start = base === "" ? "" : `${base} `;
  const indent = `\n${" ".repeat(ctx.indentation)}`;
  if (ctx.compact === true) {
    if (isShort(ctx, output, 0, base)) return `${braces[0]}${base ? ` ${base}` : ""} ${output.join(", ")} ${braces[1]}`;
    const line = base === "" && braces[0].length === 1 ? " " : `${base ? ` ${base}` : ""}\n${" ".repeat(ctx.indentation)}  `;
    return `${braces[0]}${line}${output.join(`,${indent}  `)} ${braces[1]}`;
  }
  if (typeof ctx.compact === "number" && ctx.compact >= 1) {
    const entries = output.length;
    if (kind === ARRAY && entries > 6) output = inColumns(ctx, output, object);
    if (ctx.currentDepth - times < ctx.compact && entries === output.length) {
      const length = output.length + ctx.indentation + braces[0].length + base.length + 10;
      if (isShort(ctx, output, length, base)) {
        const text = output.join(", ");
        if (!text.includes("\n")) return `${start}${braces[0]} ${text} ${braces[1]}`;
      }
    }
  }
  return `${start}${braces[0]}${indent}  ${output.join(`,${indent}  `)}${indent}${braces[1]}`;
}

function isShort(ctx, output, start, base) {
  let total = output.length + start;
  if (total + output.length > ctx.breakLength) return false;
  for (const text of output) {
    total += ctx.colors ? withoutColors(text).length : text.length;
    if (total > ctx.breakLength) return false;
  }
  return base === "" || !base.includes("\n");
}

// More than six elements of an array, in columns.
function inColumns(ctx, output, array) {
  let total = 0, longest = 0;
  const shown = ctx.maxArrayLength < output.length ? output.length - 1 : output.length;
  const lengths = new Array(shown);
  for (let i = 0; i < shown; i++) {
    lengths[i] = width(ctx.colors ? withoutColors(output[i]) : output[i]);
    total += lengths[i] + 2;
    longest = Math.max(longest, lengths[i]);
  }
  const most = longest + 2;
  if (most * 3 + ctx.indentation >= ctx.breakLength || !(total / most > 5 || longest <= 6)) return output;
  const bias = Math.sqrt(most - total / output.length);
  const biased = Math.max(most - 3 - bias, 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * biased * shown) / biased),
    Math.floor((ctx.breakLength - ctx.indentation) / most),
    ctx.compact * 4,
    15,
  );
  if (columns <= 1) return output;
  const widths = [];
  for (let i = 0; i < columns; i++) {
    let widest = 0;
    for (let j = i; j < shown; j += columns) widest = Math.max(widest, lengths[j]);
    widths.push(widest + 2);
  }
  const isNumber = (item) => typeof item === "number" || typeof item === "bigint";
  let pad = String.prototype.padStart;
  if (array !== undefined) {
    for (let i = 0; i < output.length; i++) {
      if (!isNumber(array[i])) {
        pad = String.prototype.padEnd;
        break;
      }
    }
  }
  const lines = [];
  for (let i = 0; i < shown; i += columns) {
    const end = Math.min(i + columns, shown);
    let line = "", j = i;
    for (; j < end - 1; j++) line += pad.call(`${output[j]}, `, widths[j - i] + output[j].length - lengths[j], " ");
    if (pad === String.prototype.padStart) {
      line += output[j].padStart(widths[j - i] + output[j].length - lengths[j] - 2, " ");
    } else {
      line += output[j];
    }
    lines.push(line);
  }
  if (shown < output.length) lines.push(output[shown]);
  return lines;
}

// --- What modules use ---

function inspect(shown, options) {
  const ctx = {
    ...DEFAULTS, ...inspectDefaults, indentation: 0, currentDepth: 0, seen: [], circular: undefined, stylize: plain,
    userOptions: undefined,
  };
  if (typeof options === "boolean") {
    ctx.showHidden = options;
    if (arguments.length > 2) ctx.depth = arguments[2];
    if (arguments.length > 3) ctx.colors = arguments[3];
  } else if (options) {
    for (const key of Object.keys(options)) {
      if (key in DEFAULTS || key === "stylize") ctx[key] = options[key];
    }
    ctx.userOptions = options;
  }
  if (ctx.colors && ctx.stylize === plain) ctx.stylize = colored;
  if (ctx.maxArrayLength === null) ctx.maxArrayLength = Infinity;
  if (ctx.maxStringLength === null) ctx.maxStringLength = Infinity;
  if (ctx.depth === undefined) ctx.depth = DEFAULTS.depth;
  if (ctx.depth === Infinity) ctx.depth = null;
  return value(ctx, shown, 0);
}

const inspectDefaults = {};
inspect.custom = CUSTOM;
inspect.colors = Object.assign(Object.create(null), COLORS);
inspect.styles = Object.assign(Object.create(null), STYLES);
Object.defineProperty(inspect, "defaultOptions", {
  get: () => ({ ...DEFAULTS, ...inspectDefaults }),
  set: (options) => void Object.assign(inspectDefaults, options),
  configurable: true,
});

const BUILT_IN = new Set(getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));

// Whether an object's text would only be that of a class that every script has.
function hasBuiltInText(object) {
  if (typeof object.toString !== "function") return true;
  if (hasOwn(object, "toString")) return false;
  let pointer = object;
  do pointer = getPrototypeOf(pointer); while (!hasOwn(pointer, "toString"));
  const constructor = getOwnPropertyDescriptor(pointer, "constructor")?.value;
  return typeof constructor === "function" && BUILT_IN.has(constructor.name);
}

const numberText = (value) => Object.is(value, -0) ? "-0" : `${value}`;

const CONVERSIONS = {
  s(argument) {
    if (typeof argument === "number") return numberText(argument);
    if (typeof argument === "bigint") return `${argument}n`;
    if (typeof argument !== "object" || argument === null || !hasBuiltInText(argument)) return String(argument);
    return inspect(argument, { depth: 0, colors: false, compact: 3 });
  },
  j(argument) {
    try {
      return JSON.stringify(argument);
    } catch (error) {
      if (/circular/i.test(error.message)) return "[Circular]";
      throw error;
    }
  },
  d(argument) {
    if (typeof argument === "bigint") return `${argument}n`;
    return typeof argument === "symbol" ? "NaN" : numberText(Number(argument));
  },
  i(argument) {
    if (typeof argument === "bigint") return `${argument}n`;
    return typeof argument === "symbol" ? "NaN" : numberText(parseInt(argument));
  },
  f: (argument) => typeof argument === "symbol" ? "NaN" : numberText(parseFloat(argument)),
  o: (argument, options) => inspect(argument, { ...options, showHidden: true, showProxy: true, depth: 4 }),
  O: (argument, options) => inspect(argument, options),
  c: () => "",
};

function formatWithOptions(options, ...args) {
  if (args.length === 1 && typeof args[0] === "string") return args[0];
  let text = "", next = 0;
  if (typeof args[0] === "string") {
    next = 1;
    text = args.length === 1 ? args[0] : args[0].replace(/%([sjdifoOc%])/g, (all, letter) => {
      // A sign of percent is halved only where something else is to be filled in.
      if (letter === "%") return "%";
      return next < args.length ? CONVERSIONS[letter](args[next++], options) : all;
    });
  }
  for (let i = next; i < args.length; i++) {
    if (i > 0) text += " ";
    text += typeof args[i] === "string" ? args[i] : inspect(args[i], { ...options, compact: 3, colors: options?.colors ?? false });
  }
  return text;
}

const format = (...args) => formatWithOptions(undefined, ...args);

Object.assign(ampoule, {
  inspect, format, formatWithOptions, quoted, width, withoutColors, isError, isMap, isSet, isDate, isPromise, isRegExp,
  isTypedArray, isDataView, isBuffer, isNamespace, isArguments, isBoxed,
});
