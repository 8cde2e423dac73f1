// `node:util` and the structured clone.

const { ampoule } = globalThis;
const { modules, inspect, format, formatWithOptions, withoutColors, requireFunction, coded } = ampoule;
const customPromisify = Symbol.for("nodejs.util.promisify.custom");

function promisify(original) {
  requireFunction(original, "original");
  if (original[customPromisify]) return original[customPromisify];
  const promised = function (...args) {
    return new Promise((resolve, reject) => {
      Reflect.apply(original, this, [...args, (error, ...values) => error ? reject(error) : resolve(values[0])]);
    });
  };
  Object.defineProperty(promised, "name", { value: original.name, configurable: true });
  return Object.setPrototypeOf(promised, Object.getPrototypeOf(original));
}
promisify.custom = customPromisify;

function callbackify(original) {
  requireFunction(original, "original");
  const calling = function (...args) {
    const callback = args.pop();
    requireFunction(callback, "last argument");
    Reflect.apply(original, this, args).then(
      (value) => ampoule.nextTick(callback, null, value),
      (error) => ampoule.nextTick(callback, error ?? coded(Error, "ERR_FALSY_VALUE_REJECTION", "Promise was rejected with falsy value")),
    );
  };
  Object.defineProperty(calling, "name", { value: `${original.name}Callbackified`, configurable: true });
  return calling;
}

function inherits(constructor, parent) {
  requireFunction(constructor, "ctor");
  requireFunction(parent, "superCtor");
  Object.defineProperty(constructor, "super_", { value: parent, writable: true, configurable: true });
  Object.setPrototypeOf(constructor.prototype, parent.prototype);
}

function deprecate(callback, message, code) {
  let hasWarned = false;
  return function (...args) {
    if (!hasWarned) {
      hasWarned = true;
      ampoule.warning(message, "DeprecationWarning", code);
    }
    return new.target ? Reflect.construct(callback, args, new.target) : Reflect.apply(callback, this, args);
  };
}

// --- Whether two values are the same all the way down ---

function isDeepEqual(a, b, isStrict, pairs = []) {
  if (isStrict ? Object.is(a, b) : a == b || (a !== a && b !== b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (isStrict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
  if (pairs.some(([x, y]) => x === a && y === b)) return true;
  const deeper = [...pairs, [a, b]];
  const same = (x, y) => isDeepEqual(x, y, isStrict, deeper);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Object.prototype.toString.call(a) !== Object.prototype.toString.call(b)) return false;
  if (ampoule.isDate(a)) {
    if (!ampoule.isDate(b) || a.getTime() !== b.getTime()) return false;
  } else if (ampoule.isRegExp(a)) {
    if (String(a) !== String(b) || a.lastIndex !== b.lastIndex) return false;
  } else if (ampoule.isError(a)) {
    if (a.message !== b.message || a.name !== b.name || !same(a.cause, b.cause)) return false;
  } else if (ampoule.isBoxed(a)) {
    if (!ampoule.isBoxed(b) || !Object.is(a.valueOf(), b.valueOf())) return false;
  } else if (ampoule.isTypedArray(a)) {
    return a.length === b.length && a.every((item, i) => isStrict ? Object.is(item, b[i]) : item === b[i]);
  } else if (ampoule.isBuffer(a)) {
    return same(new Uint8Array(a), new Uint8Array(b));
  } else if (ampoule.isSet(a)) {
    if (a.size !== b.size) return false;
    const left = [...b].filter((item) => !a.has(item));
    for (const item of a) {
      if (b.has(item)) continue;
      const at = left.findIndex((other) => same(item, other));
      if (at === -1) return false;
      left.splice(at, 1);
    }
  } else if (ampoule.isMap(a)) {
    if (a.size !== b.size) return false;
    const left = [...b].filter(([key]) => !a.has(key));
    for (const [key, item] of a) {
      if (b.has(key)) {
        if (!same(item, b.get(key))) return false;
        continue;
      }
      const at = left.findIndex(([otherKey, other]) => same(key, otherKey) && same(item, other));
      if (at === -1) return false;
      left.splice(at, 1);
    }
  } else if (Array.isArray(a) && a.length !== b.length) {
    return false;
  }
  const keys = keysToCompare(a, isStrict), others = keysToCompare(b, isStrict);
  return keys.length === others.length && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
}

function keysToCompare(object, isStrict) {
  const keys = Object.keys(object);
  if (!isStrict) return keys;
  const isEnumerable = (symbol) => Object.prototype.propertyIsEnumerable.call(object, symbol);
  return [...keys, ...Object.getOwnPropertySymbols(object).filter(isEnumerable)];
}

// --- The structured clone ---

const CLONED_ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

function structuredClone(value, options) {
  if (arguments.length === 0) {
    throw coded(TypeError, "ERR_MISSING_ARGS", 'The value argument must be specified');
  }
  const copies = new Map();
  const transferred = new Set(options?.transfer ?? []);
  return clone(value);

  function clone(value) {
    if (typeof value === "symbol" || typeof value === "function") refuse(value);
    if (typeof value !== "object" || value === null) return value;
    if (copies.has(value)) return copies.get(value);
    const keep = (copy) => {
      copies.set(value, copy);
      return copy;
    };
    if (ampoule.isBoxed(value)) {
      const inner = value.valueOf();
      if (typeof inner === "symbol") refuse(value);
      return keep(Object(inner));
    }
    if (ampoule.isDate(value)) return keep(new Date(value.getTime()));
    if (ampoule.isRegExp(value)) return keep(new RegExp(value.source, value.flags));
    if (ampoule.isBuffer(value)) return keep(transferred.has(value) ? value.transfer() : value.slice(0));
    if (ampoule.isDataView(value)) return keep(new DataView(clone(value.buffer), value.byteOffset, value.byteLength));
    if (ampoule.isTypedArray(value)) {
      const Class = value instanceof modules.buffer.Buffer ? Uint8Array : value.constructor;
      return keep(new Class(clone(value.buffer), value.byteOffset, value.length));
    }
    if (ampoule.isMap(value)) {
      const copy = keep(new Map());
      for (const [key, item] of [...value]) copy.set(clone(key), clone(item));
      return copy;
    }
    if (ampoule.isSet(value)) {
      const copy = keep(new Set());
      for (const item of [...value]) copy.add(clone(item));
      return copy;
    }
    if (ampoule.isError(value)) {
      const Class = CLONED_ERRORS[value.name] ?? Error;
      const error = keep(new Class(value.message));
      const properties = { stack: value.stack, message: value.message };
      if (Object.hasOwn(value, "cause")) properties.cause = clone(value.cause);
      return ampoule.hidden(error, properties);
    }
    if (ampoule.isPromise(value) || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
      refuse(value);
    }
    const copy = keep(Array.isArray(value) ? new Array(value.length) : {});
    for (const key of Object.keys(value)) copy[key] = clone(value[key]);
    return copy;
  }

  function refuse(value) {
    const shown = typeof value === "function" ? Function.prototype.toString.call(value)
      : typeof value === "symbol" ? value.toString() : `#<${value.constructor?.name ?? "Object"}>`;
    throw new ampoule.DOMException(`${shown} could not be cloned.`, "DataCloneError");
  }
}

// --- Arguments of a command ---

function parseArgs(config = {}) {
  const { args = process.argv.slice(2), options = {}, strict = true, allowPositionals = !strict } = config;
  const values = Object.create(null), positionals = [];
  const set = (name, value, spelled) => {
    const option = options[name];
    if (strict && option === undefined) {
      const hint = allowPositionals
        ? `. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- "${spelled}"`
        : "";
      throw coded(TypeError, "ERR_PARSE_ARGS_UNKNOWN_OPTION", `Unknown option '${spelled}'${hint}`);
    }
    if (option?.multiple) (values[name] ??= []).push(value);
    else values[name] = value;
  };
  const byShort = (letter) => Object.keys(options).find((name) => options[name].short === letter) ?? letter;
  for (let i = 0; i < args.length; i++) {
    const argument = args[i];
    if (argument === "--") {
      positionals.push(...args.slice(i + 1));
      break;
    }
    if (argument.startsWith("--")) {
      const at = argument.indexOf("=");
      const name = at === -1 ? argument.slice(2) : argument.slice(2, at);
      const isText = options[name]?.type === "string";
      if (at !== -1) {
        if (strict && options[name] && !isText) {
          throw coded(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '--${name}' does not take an argument`);
        }
        set(name, argument.slice(at + 1), `--${name}`);
      } else if (isText) {
        if (args[i + 1] === undefined || (strict && args[i + 1].startsWith("-"))) missing(`--${name} <value>`);
        set(name, args[++i], `--${name}`);
      } else {
        set(name, true, `--${name}`);
      }
    } else if (argument.startsWith("-") && argument.length > 1) {
      for (let j = 1; j < argument.length; j++) {
        const name = byShort(argument[j]);
        if (options[name]?.type === "string") {
          const attached = argument.slice(j + 1);
          if (attached === "" && args[i + 1] === undefined) missing(`-${argument[j]}, --${name} <value>`);
          set(name, attached === "" ? args[++i] : attached, `-${argument[j]}`);
          break;
        }
        set(name, true, `-${argument[j]}`);
      }
    } else {
      if (!allowPositionals) {
        throw coded(TypeError, "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL",
          `Unexpected argument '${argument}'. This command does not take positional arguments`);
      }
      positionals.push(argument);
    }
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.default !== undefined && values[name] === undefined) values[name] = option.default;
  }
  return { values, positionals };

  function missing(spelled) {
    throw coded(TypeError, "ERR_PARSE_ARGS_INVALID_OPTION_VALUE", `Option '${spelled}' argument missing`);
  }
}

const types = {
  isPromise: ampoule.isPromise,
  isRegExp: ampoule.isRegExp,
  isDate: ampoule.isDate,
  isMap: ampoule.isMap,
  isSet: ampoule.isSet,
  isNativeError: (value) => value instanceof Error,
  isTypedArray: ampoule.isTypedArray,
  isUint8Array: (value) => value instanceof Uint8Array,
  isArrayBuffer: ampoule.isBuffer,
  isAnyArrayBuffer: ampoule.isBuffer,
  isArrayBufferView: ArrayBuffer.isView,
  isDataView: ampoule.isDataView,
  isBoxedPrimitive: ampoule.isBoxed,
  isExternal: () => false,
  isArgumentsObject: ampoule.isArguments,
  isModuleNamespaceObject: ampoule.isNamespace,
  isWeakMap: (value) => value instanceof WeakMap,
  isWeakSet: (value) => value instanceof WeakSet,
  isProxy: () => false,
  isAsyncFunction: (value) => /^Async/.test(Object.getPrototypeOf(value)?.[Symbol.toStringTag] ?? ""),
  isGeneratorFunction: (value) => /GeneratorFunction$/.test(Object.getPrototypeOf(value)?.[Symbol.toStringTag] ?? ""),
  isGeneratorObject: (value) => Object.prototype.toString.call(value) === "[object Generator]",
  isSymbolObject: (value) => value instanceof Symbol,
  isNumberObject: (value) => value instanceof Number,
  isStringObject: (value) => value instanceof String,
  isBooleanObject: (value) => value instanceof Boolean,
  isBigIntObject: (value) => value instanceof BigInt,
};

modules.util = {
  inspect, format, formatWithOptions, promisify, callbackify, inherits, deprecate, parseArgs, types, structuredClone,
  isDeepStrictEqual: (a, b) => isDeepEqual(a, b, true),
  stripVTControlCharacters: withoutColors,
  toUSVString: (text) => String(text).toWellFormed(),
  // Standard output is no terminal: the colours are only checked, unless they are wanted all the same.
  styleText(style, text, { validateStream = true } = {}) {
    return [style].flat().reduceRight((styled, name) => {
      const color = inspect.colors[name];
      if (color === undefined) {
        throw coded(TypeError, "ERR_INVALID_ARG_VALUE", `The argument 'format' must be one of: ${Object.keys(inspect.colors).map((known) => `'${known}'`).join(", ")}. Received ${inspect(name)}`);
      }
      return validateStream ? styled : `\x1B[${color[0]}m${styled}\x1B[${color[1]}m`;
    }, text);
  },
  debuglog: () => Object.assign(() => {}, { enabled: false }),
  debug: () => Object.assign(() => {}, { enabled: false }),
  aborted: (signal) => new Promise((resolve) => signal.aborted ? resolve() : signal.addEventListener("abort", () => resolve())),
  getSystemErrorName: (number) => Object.keys(ampoule.errorNumbers).find((name) => ampoule.errorNumbers[name] === -number),
  TextEncoder: globalThis.TextEncoder,
  TextDecoder: globalThis.TextDecoder,
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === "boolean",
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value == null,
  isNumber: (value) => typeof value === "number",
  isString: (value) => typeof value === "string",
  isSymbol: (value) => typeof value === "symbol",
  isUndefined: (value) => value === undefined,
  isRegExp: ampoule.isRegExp,
  isObject: (value) => value !== null && typeof value === "object",
  isDate: ampoule.isDate,
  isError: (value) => value instanceof Error,
  isFunction: (value) => typeof value === "function",
  isPrimitive: (value) => value === null || (typeof value !== "object" && typeof value !== "function"),
};
modules["util/types"] = types;
Object.defineProperty(globalThis, "structuredClone", {
  value: structuredClone, writable: true, configurable: true, enumerable: true,
});
Object.assign(ampoule, { isDeepEqual });
