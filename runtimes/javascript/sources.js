// The texts that run, by their files' names: for errors that point at what the author wrote.

const { ampoule } = globalThis;

const sources = new Map();

// The length of what is put before the first line of a CommonJS module.
const WRAPPER = "(function (exports, require, module, __filename, __dirname) { ";

// Keeps a text. `isWrapped`: it runs inside the wrapper.
function keepSource(file, text, isWrapped) {
  sources.set(file, { text, isWrapped, map: undefined, lines: undefined });
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A source map's places, for each line of the text: [column, line there, column there].
function placesOf(mappings) {
  let line = 0, column = 0;
  return mappings.split(";").map((segments) => {
    let own = 0;
    const places = [];
    for (const segment of segments.split(",")) {
      const numbers = variableLength(segment);
      if (numbers.length < 4) continue;
      own += numbers[0];
      line += numbers[2];
      column += numbers[3];
      places.push([own, line, column]);
    }
    return places;
  });
}

function variableLength(segment) {
  const numbers = [];
  let value = 0, shift = 0;
  for (const letter of segment) {
    const digit = DIGITS.indexOf(letter);
    value |= (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return numbers;
}

// The source map at the end of the text, if it brings one.
function mapOf(source) {
  if (source.map !== undefined) return source.map;
  source.map = null;
  const at = source.text.lastIndexOf("//# sourceMappingURL=data:application/json;");
  if (at === -1) return null;
  try {
    const data = source.text.slice(at).trim();
    const map = JSON.parse(ampoule.decodeUtf8(ampoule.fromBase64(data.slice(data.indexOf(",") + 1))));
    source.map = { places: placesOf(map.mappings), original: map.sourcesContent?.[0] };
  } catch {
    // A map that cannot be read is no map.
  }
  return source.map;
}

ampoule.place = (file, line, column) => {
  const source = sources.get(file);
  if (source === undefined) return { file, line, column };
  if (source.isWrapped && line === 1) column = Math.max(1, column - WRAPPER.length);
  const map = mapOf(source);
  if (map === null) {
    // The engine points at what `new` makes, and V8 at the `new`.
    const text = source.text.split("\n")[line - 1] ?? "";
    return { file, line, column: text.slice(0, column - 1).endsWith("new ") ? column - 4 : column };
  }
  const places = map.places[line - 1] ?? [];
  const found = places.findLast(([own]) => own <= column - 1) ?? places[0] ??
    map.places.slice(0, line - 1).findLast((earlier) => earlier.length > 0)?.at(-1);
  return found === undefined ? { file, line, column } : { file, line: found[1] + 1, column: found[2] + 1 };
};

// A line of a file as its author wrote it.
function lineOf(file, line) {
  const source = sources.get(file);
  if (source === undefined) return undefined;
  return (mapOf(source)?.original ?? source.text).split("\n")[line - 1];
}

// What stands before and behind a place in a text as it runs: the rest of its line, and some lines above.
function textAround(file, line, column) {
  const source = sources.get(file);
  if (source === undefined) return undefined;
  const lines = source.lines ??= source.text.split("\n");
  if (lines[line - 1] === undefined) return undefined;
  const at = Math.max(0, column - 1 - (source.isWrapped && line === 1 ? WRAPPER.length : 0));
  const above = lines.slice(Math.max(0, line - 5), line - 1).map((text) => `${text}\n`).join("");
  return { before: above + lines[line - 1].slice(0, at), after: lines[line - 1].slice(at) };
}

const FRAME = /^ {4}at (?:.*\()?(\/[^()]*):(\d+):(\d+)\)?$/m;

// What Node shows above an error that nobody caught: the file and the line, and where in it.
function excerpt(error) {
  const found = FRAME.exec(String(error.stack));
  if (found === null) return "";
  const [, file, line, column] = found;
  const text = lineOf(file, Number(line));
  if (text === undefined) return "";
  const before = text.slice(0, Number(column) - 1).replace(/[^\t]/g, " ");
  return `${file}:${line}\n${text}\n${before}^\n\n`;
}

// The bracket before `at` that is still open there.
function openBefore(text, at) {
  let depth = 0;
  for (let i = at - 1; i >= 0; i--) {
    if (text[i] === ")") depth++;
    if (text[i] === "(" && depth-- === 0) return i;
  }
  return -1;
}

// The call that an error's first frame is in, as far as it stands on one line.
function callAt(error) {
  const found = FRAME.exec(String(error.stack));
  const text = found === null ? undefined : lineOf(found[1], Number(found[2]));
  if (text === undefined) return undefined;
  const at = Math.max(0, Number(found[3]) - 1);
  // The engine points at the call, or at the last of its arguments.
  const isCall = /^[\w$.]+\s*\(/.test(text.slice(at));
  const open = isCall ? text.indexOf("(", at) : openBefore(text, at);
  if (open === -1) return undefined;
  const start = open - /[\w$.]*\s*$/.exec(text.slice(0, open))[0].length;
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "(") depth++;
    if (text[i] === ")" && --depth === 0) return text.slice(start, i + 1);
  }
  return undefined;
}

Object.assign(ampoule, { WRAPPER, keepSource, textAround, openBefore, excerpt, callAt });
