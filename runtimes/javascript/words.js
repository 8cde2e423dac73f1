// V8's words for what built-in functions refuse. They say more than the engine's do: which function it was, and with
// what, as far as that stands in the script.

const { ampoule } = globalThis;
const { hidden, words, exactWords, wordsByStart, textAt, firstOwn, iterated } = ampoule;

const VALUE = String.raw`-?\d[\w.]*|'[^']*'|"[^"]*"|null|undefined|true|false|NaN|Infinity|-Infinity`;
const ARGUMENTS = new RegExp(String.raw`^\.?[\w$.]*\s*\(\s*(${VALUE})?\s*(?:,\s*(${VALUE})\s*)?[,)]`);

function around(frames) {
  const found = firstOwn(frames);
  return (found && textAt(found)) ?? { before: "", after: "" };
}

// An argument that stands in the script as it is: texts without their quotes.
function literal(frames, index = 0) {
  const { before, after } = around(frames);
  // The engine points at the call, or into it.
  const call = /[\w$.]*\s*\([^()]*$/.exec(before)?.[0] ?? "";
  const found = ARGUMENTS.exec(after) ?? ARGUMENTS.exec(call + after);
  return found?.[index + 1]?.replace(/^(['"])(.*)\1$/s, "$2");
}

const nameOf = (frames) => frames[0]?.isNative ? frames[0].name : undefined;

// The member that is written to or taken away where the engine points.
function member(frames) {
  const { before, after } = around(frames);
  const statement = after.split(/[;\n]/)[0];
  const assigned = /(?:^|\.)([\w$]+)\s*(?:[-+*/%&|^?<>]{0,3})=(?![=>])/.exec(statement)?.[1];
  if (assigned !== undefined) return assigned;
  if (/\bdelete\s[^;]*$/.test(before)) return /^[^)}]*(?:\([^)]*\))?[^)}]*?\.([\w$]+)\s*(?:[)}]|$)/.exec(statement)?.[1];
  return /^\.?([\w$]+)/.exec(statement)?.[1] ?? /\.([\w$]*)$/.exec(before)?.[1];
}

// The class that a place is in.
const enclosingClass = (frames) => [...around(frames).before.matchAll(/\bclass\s+([\w$]+)/g)].at(-1)?.[1] ?? "anonymous";

// A pattern that takes members out of nothing: `const {a} = b`, `({a}) => 0`.
function destructured(frames) {
  if (frames[0]?.isNative) return undefined;
  const { before, after } = around(frames);
  const line = before.slice(before.lastIndexOf("\n") + 1) + after.split("\n")[0];
  const start = before.length - before.lastIndexOf("\n") - 1;
  const near = (all) => all.sort((a, b) => Math.abs(a.index - start) - Math.abs(b.index - start))[0];
  const assigned = near([...line.matchAll(/\{\s*([\w$]+)[^{}]*\}\s*=\s*([\w$.]+)/g)]);
  if (assigned) return `Cannot destructure property '${assigned[1]}' of '${assigned[2]}' as it is ${assigned[2] === "null" ? "null" : "undefined"}.`;
  const parameter = near([...line.matchAll(/[(,]\s*\{\s*([\w$]+)[^{}]*\}\s*[,)]/g)]);
  return parameter && `Cannot destructure property '${parameter[1]}' of 'undefined' as it is undefined.`;
}

function notCallable(kind, frames) {
  const name = nameOf(frames);
  if (name === undefined) return undefined;
  if (kind === "constructor" || /\bnew\s+$/.test(around(frames).before) && name !== "Promise") return `${name} is not a constructor`;
  if (name === "Promise") return `Promise resolver ${literal(frames)} is not a function`;
  if (/^(sort|toSorted)$/.test(name)) return "The comparison function must be either a function or undefined";
  if (name === "from") return `${literal(frames, 1)} is not a function`;
  return undefined;
}

const notWhole = (frames) =>
  `The number ${literal(frames) ?? "NaN"} cannot be converted to a BigInt because it is not an integer`;

const WORDS = [
  [/^invalid brand on object$/, (_, frames) => `Receiver must be an instance of class ${enclosingClass(frames)}`],
  [/^no setter for property$/, (_, frames) => `Cannot set property ${member(frames)} of #<Object> which has only a getter`],
  [/^could not delete property$/, (_, frames) => `Cannot delete property '${member(frames)}' of #<Object>`],
  [/^object is not extensible$/, (_, frames) => {
    const defined = /^defineProperty/.test(nameOf(frames) ?? "");
    const name = defined ? literal(frames, 1) ?? /,\s*['"](\w+)['"]/.exec(around(frames).after)?.[1] : member(frames);
    return `Cannot ${defined ? "define" : "add"} property ${name}, object is not extensible`;
  }],
  [/^revoked proxy$/, () => "Cannot perform 'get' on a proxy that has been revoked"],
  [/^proxy: cannot set property$/, (_, frames) => `'set' on proxy: trap returned falsish for property '${member(frames)}'`],
  [/^invalid value used as WeakMap key$/, () => "Invalid value used as weak map key"],
  [/^invalid value used as WeakSet key$/, () => "Invalid value used in weak set"],
  [/^regexp must have the 'g' flag$/, (_, frames) => `String.prototype.${nameOf(frames)} called with a non-global RegExp argument`],
  [/^invalid repeat count$/, (_, frames) => `Invalid count value: ${literal(frames) ?? ""}`.replace(/: $/, "")],
  [/^invalid code point$/, (_, frames) => `Invalid code point ${literal(frames) ?? ""}`.trimEnd()],
  [/^invalid number of digits$/, (_, frames) => {
    const name = nameOf(frames) ?? "toFixed";
    const [between, first] = name === "toFixed" ? ["digits argument", 0] : ["argument", name === "toPrecision" ? 1 : 0];
    return `${name}() ${between} must be between ${first} and 100`;
  }],
  [/^cannot convert to BigInt: not an integer$/, (_, frames) => notWhole(frames)],
  [/^cannot convert NaN or Infinity to BigInt$/, (_, frames) => notWhole(frames)],
  [/^invalid BigInt literal$/, (_, frames) => `Cannot convert ${literal(frames) ?? "value"} to a BigInt`],
  [/^cannot convert to BigInt$/, (_, frames) => `Cannot convert ${literal(frames) ?? "undefined"} to a BigInt`],
  [/^bigint argument with unary \+$/, () => "Cannot convert a BigInt value to a number"],
  [/^cannot convert bigint to number$/i, (_, frames) => nameOf(frames) === undefined ? undefined : "Cannot convert a BigInt value to a number"],
  [/^BigInt negative exponent$/, () => "Exponent must be non-negative"],
  [/^BigInt operands are forbidden for >>>$/, () => "BigInts have no unsigned right shift, use >> instead"],
  [/^invalid offset$/, (_, frames) => `start offset of ${nameOf(frames)} should be a multiple of ${globalThis[nameOf(frames)]?.BYTES_PER_ELEMENT}`],
  [/^invalid length$/, (_, frames) => `byte length of ${nameOf(frames)} should be a multiple of ${globalThis[nameOf(frames)]?.BYTES_PER_ELEMENT}`],
  [/^out of bound$/, () => "Offset is outside the bounds of the DataView"],
  [/^invalid array index$/, (_, frames) => nameOf(frames) === "ArrayBuffer" ? "Array buffer allocation failed" : `Invalid typed array length: ${literal(frames)}`],
  [/^invalid array index: (.*)$/, (_, index) => `Invalid index : ${index}`],
  [/^invalid array length$/i, (_, frames) => nameOf(frames) === "set" ? "offset is out of bounds" : undefined],
  [/^invalid typed array index$/, () => "Invalid typed array index"],
  [/^invalid byteOffset$/, (_, frames) => `Start offset ${literal(frames, 1)} is outside the bounds of the buffer`],
  [/^not a (function|constructor)$/, (_, kind, frames) => notCallable(kind, frames)],
  [/^must be called with new$/, (_, frames) => nameOf(frames) === "Promise"
    ? "Promise constructor cannot be invoked without 'new'" : `Constructor ${nameOf(frames)} requires 'new'`],
  [/^object prototype may only be an Object or null$/, (_, frames) => `Object prototype may only be an Object or null: ${literal(frames)}`],
  [/^not an? object$/, (_, frames) => notObject(nameOf(frames), frames)],
  [/^value is not iterable$/, (_, frames) => {
    const name = nameOf(frames), value = literal(frames);
    if (!/^(Map|Set|WeakMap|WeakSet|fromEntries)$/.test(name ?? "") || !/^-?\d/.test(value ?? "")) return undefined;
    return `number ${value} is not iterable (cannot read property Symbol(Symbol.iterator))`;
  }],
  [/^cannot read property 'Symbol.iterator' of (?:undefined|null)$/, (_, frames) => {
    const name = iterated(frames);
    return /^(value|undefined|null)$/.test(name) ? undefined : `${name} is not iterable`;
  }],
  [/^parent class must be constructor$/, (_, frames) => {
    const { before, after } = around(frames);
    const parent = /\bextends\s+([\w$.]+)/.exec(before.split("\n").at(-1).match(/\bextends\b[^{]*$/)?.[0] + after) ?? /\bextends\s+([\w$.]+)/.exec(after);
    return `Class extends value ${parent?.[1]} is not a constructor or null`;
  }],
  [/^cannot convert undefined or null to object$|^Cannot convert undefined or null to object$/, (_, frames) => destructured(frames)],
  [/^break must be inside loop or switch$/, () => "Illegal break statement"],
  [/^continue must be inside loop$/, () => "Illegal continue statement: no surrounding iteration statement"],
  [/^missing initializer for variable$/, () => "Missing initializer in const declaration"],
  [/^invalid assignment left-hand side$/, () => "Invalid left-hand side in assignment"],
  [/^unexpected end of regexp$/, () => "Invalid regular expression: missing /"],
  [/^function name expected$/, () => "Function statements require a function name"],
  [/^invalid keyword: with$/, () => "Strict mode code may not include a with statement"],
  [/^invalid number literal$/, () => "Invalid or unexpected token"],
  [/^unsupported keyword: enum$/, () => "Unexpected reserved word"],
];

function notObject(name, frames) {
  switch (name) {
    case "Map": case "WeakMap": case "fromEntries":
      return `Iterator value ${/\[\s*(-?[\w.]+)/.exec(around(frames).after)?.[1] ?? ""} is not an entry object`;
    case "create": case "setPrototypeOf":
      return `Object prototype may only be an Object or null: ${literal(frames, name === "create" ? 0 : 1) ?? literal(frames)}`;
    case "defineProperty": case "defineProperties": return `Object.${name} called on non-object`;
    case "ownKeys": case "has": case "get": case "set": case "apply": return `Reflect.${name} called on non-object`;
    default: return undefined;
  }
}

// Those here know more: they are asked first. What has no variable part is found at once: patterns are slow.
for (const [pattern, say] of WORDS.reverse()) {
  const plain = /^\^([^\\^$.*+?()[\]{}|]+)\$$/.exec(pattern.source)?.[1];
  if (plain === undefined || pattern.flags !== "") words.unshift([pattern, say]);
  else exactWords[plain] = (frames) => say(plain, frames);
}
for (const entry of words) {
  const [{ source, flags }] = entry;
  const start = /^\^([a-zA-Z' ]{5})[a-zA-Z' ]/.exec(source)?.[1];
  const key = start !== undefined && !flags.includes("i") && !source.includes("$|") ? start : "";
  wordsByStart.set(key, [...wordsByStart.get(key) ?? [], entry]);
}

// --- Patterns ---

const NativeRegExp = RegExp;

function patternMistake(said, pattern, flags) {
  if (said === "invalid regular expression flags") return `Invalid flags supplied to RegExp constructor '${flags}'`;
  const outside = pattern.replace(/\\[^]/g, "");
  const what = {
    "unexpected end": outside.endsWith("\\") ? "\\ at end of pattern" : "Unterminated character class",
    "expecting ')'": "Unterminated group",
    "nothing to repeat": "Nothing to repeat",
    "syntax error": "Nothing to repeat",
    "duplicate group name": "Duplicate capture group name",
    "invalid group name": "Invalid capture group name",
    "group name not defined": "Invalid named capture referenced",
    "extraneous characters at the end": "Unmatched ')'",
    "invalid class range": "Range out of order in character class",
    "invalid escape sequence in regular expression": pattern.includes("\\u") ? "Invalid Unicode escape" : "Invalid escape",
    "invalid repetition count": "numbers out of order in {} quantifier",
    "back reference group name not defined": "Invalid named reference",
    "invalid unicode property name": "Invalid property name",
    "unknown unicode property name": "Invalid property name",
  }[said];
  return what && `Invalid regular expression: /${pattern}/${flags}: ${what}`;
}

// The pattern is known here only.
const Pattern = {
  RegExp: function (pattern, flags) {
    try {
      if (new.target === undefined) return NativeRegExp(pattern, flags);
      return Reflect.construct(NativeRegExp, [pattern, flags], new.target === Pattern ? NativeRegExp : new.target);
    } catch (error) {
      if (error instanceof SyntaxError) {
        const said = patternMistake(error.message, String(pattern?.source ?? pattern ?? ""), String(flags ?? ""));
        if (said !== undefined) hidden(error, { message: said });
      }
      throw error;
    }
  },
}.RegExp;
for (const key of Reflect.ownKeys(NativeRegExp)) {
  if (key === "length" || key === "name") continue;
  Object.defineProperty(Pattern, key, Object.getOwnPropertyDescriptor(NativeRegExp, key));
}
// The engine is faster with its own.
Object.defineProperty(Pattern, Symbol.species, { get: () => NativeRegExp, configurable: true });
hidden(NativeRegExp.prototype, { constructor: Pattern });
hidden(globalThis, { RegExp: Pattern });

// --- JSON ---

const toJson = JSON.stringify;

JSON.stringify = function stringify(value, replacer, space) {
  try {
    return toJson(value, replacer, space);
  } catch (error) {
    const found = error instanceof TypeError && /circular/i.test(error.message) ? circle(value, []) : undefined;
    if (found !== undefined) hidden(error, { message: `Converting circular structure to JSON${found}` });
    throw error;
  }
};
Object.defineProperty(JSON, "stringify", { enumerable: false });

const isObject = (value) => typeof value === "object" && value !== null;
const step = (key, array) => Array.isArray(array) ? `index ${key}` : `property '${key}'`;

// The way around, as V8 draws it.
function circle(value, above) {
  if (typeof value.toJSON === "function") return undefined;
  for (const key of Object.keys(value)) {
    const next = value[key];
    if (!isObject(next)) continue;
    const way = [...above, { value, key: step(key, value) }];
    const start = way.findIndex((known) => known.value === next);
    const found = start === -1 ? circle(next, way) : drawn(way.slice(start));
    if (found !== undefined) return found;
  }
  return undefined;
}

function drawn(way) {
  const made = ({ value }) => `object with constructor '${value.constructor?.name ?? "Object"}'`;
  const lines = way.slice(1).map((link, i) => `\n    |     ${way[i].key} -> ${made(link)}`);
  const shown = lines.length > 3 ? [...lines.slice(0, 2), "\n    |     ...", lines.at(-1)] : lines;
  return `\n    --> starting at ${made(way[0])}${shown.join("")}\n    --- ${way.at(-1).key} closes the circle`;
}

// --- Functions of the engine ---

const functionText = Function.prototype.toString;

// On one line, where the engine takes three.
hidden(Function.prototype, {
  toString() {
    const text = functionText.call(this);
    return text.endsWith("}") && text.includes("[native code]") ? text.replace(/\{\s+\[native code\]\s+\}$/, "{ [native code] }") : text;
  },
});
