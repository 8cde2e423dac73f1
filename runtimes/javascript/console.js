// `console`.

const { ampoule } = globalThis;
const { write, formatWithOptions, inspect, width, modules } = ampoule;

let indentation = "";
const counts = new Map(), clocks = new Map();

class Console {
  #stdout;
  #stderr;

  constructor(stdout, stderr) {
    if (stdout?.stdout) [stdout, stderr] = [stdout.stdout, stdout.stderr];
    this.#stdout = stdout;
    this.#stderr = stderr ?? stdout;
    const own = {
      log: (...args) => void this.#stdout.write(`${formatWithOptions({}, ...args)}\n`),
      error: (...args) => void this.#stderr.write(`${formatWithOptions({}, ...args)}\n`),
    };
    Object.assign(this, makeConsole(own.log, own.error));
  }
}

function line(descriptor, args) {
  let text = formatWithOptions(undefined, ...args);
  if (indentation !== "") {
    if (text.includes("\n")) text = text.replaceAll("\n", `\n${indentation}`);
    text = indentation + text;
  }
  write(descriptor, `${text}\n`);
}

function makeConsole(log, warn) {
  const countKey = (label) => label === undefined ? "default" : `${label}`;
  const group = (...args) => {
    if (args.length > 0) log(...args);
    indentation += "  ";
  };
  const methods = {
    log,
    warn,
    dir(object, options) {
      log(inspect(object, { customInspect: false, ...options }));
    },
    time(label) {
      const key = countKey(label);
      if (clocks.has(key)) return ampoule.warning(`Label '${key}' already exists for console.time()`);
      clocks.set(key, performance.now());
    },
    timeEnd(label) {
      if (elapsed("timeEnd", countKey(label), [], log)) clocks.delete(countKey(label));
    },
    timeLog(label, ...more) {
      elapsed("timeLog", countKey(label), more, log);
    },
    trace(...args) {
      const stack = {};
      Error.captureStackTrace(stack, methods.trace);
      const frames = String(stack.stack).split("\n").filter((frame) => frame.startsWith("    at "));
      warn(["Trace" + (args.length > 0 ? `: ${formatWithOptions({}, ...args)}` : ""), ...frames].join("\n"));
    },
    assert(condition, ...args) {
      if (condition) return;
      if (typeof args[0] === "string") args[0] = `Assertion failed: ${args[0]}`;
      else args.unshift("Assertion failed");
      warn(...args);
    },
    clear() {},
    count(label) {
      const key = countKey(label);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      log(`${key}: ${count}`);
    },
    countReset(label) {
      counts.delete(countKey(label));
    },
    group,
    groupEnd() {
      indentation = indentation.slice(0, -2);
    },
    table(data, columns) {
      if (data === null || typeof data !== "object") return log(data);
      const text = table(data, columns);
      log(text);
    },
    debug: (...args) => log(...args),
    info: (...args) => log(...args),
    dirxml: (...args) => log(...args),
    error: (...args) => warn(...args),
    groupCollapsed: (...args) => group(...args),
  };
  for (const [name, method] of Object.entries(methods)) {
    Object.defineProperty(method, "name", { value: name, configurable: true });
  }
  return methods;
}

function elapsed(name, label, more, log) {
  const start = clocks.get(label);
  if (start === undefined) {
    ampoule.warning(`No such label '${label}' for console.${name}()`);
    return false;
  }
  const ms = performance.now() - start;
  const shown = ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${Number(ms.toFixed(3))}ms`;
  log(`${label}: ${shown}`, ...more);
  return true;
}

// --- console.table ---

function cell(value) {
  const depth = value !== null && typeof value === "object" && !Array.isArray(value) && Object.keys(value).length > 2 ? -1 : 0;
  return inspect(value, { maxArrayLength: 3, breakLength: Infinity, depth });
}

function table(data, wanted) {
  const rows = [], columns = new Map(), values = [];
  let index = "(index)", hasValues = false;
  let entries;
  if (ampoule.isMap(data)) {
    index = "(iteration index)";
    entries = Array.from(data).map(([key, value], i) => [i, { Key: key, Values: value }]);
    return draw(["(iteration index)", "Key", "Values"], entries.map(([i, { Key, Values }]) => [`${i}`, cell(Key), cell(Values)]));
  }
  if (ampoule.isSet(data)) {
    index = "(iteration index)";
    entries = Array.from(data).map((value, i) => [i, value]);
  } else {
    entries = Object.keys(data).map((key) => [key, data[key]]);
  }
  for (const [key, row] of entries) {
    const number = rows.length;
    rows.push(`${key}`);
    const isPrimitive = row === null || (typeof row !== "function" && typeof row !== "object");
    if (isPrimitive || ampoule.isSet(data)) {
      hasValues = true;
      values[number] = cell(row);
      continue;
    }
    for (const name of wanted ?? Object.keys(row)) {
      if (!columns.has(name)) columns.set(name, []);
      if (Object.hasOwn(row, name)) columns.get(name)[number] = cell(row[name]);
    }
  }
  if (wanted) for (const name of wanted) if (!columns.has(name)) columns.set(name, []);
  const head = [index, ...columns.keys(), ...(hasValues ? ["Values"] : [])];
  const body = rows.map((row, i) => [
    row,
    ...Array.from(columns.values(), (column) => column[i] ?? ""),
    ...(hasValues ? [values[i] ?? ""] : []),
  ]);
  return draw(head, body);
}

function draw(head, body) {
  const widths = head.map((title, i) => Math.max(...[title, ...body.map((row) => row[i])].map(width)) + 2);
  const padded = (text, i) => ` ${text}${" ".repeat(widths[i] - width(text) - 1)}`;
  const row = (cells) => `│${cells.map(padded).join("│")}│`;
  const rule = (left, middle, right) => left + widths.map((columns) => "─".repeat(columns)).join(middle) + right;
  return [rule("┌", "┬", "┐"), row(head), rule("├", "┼", "┤"), ...body.map(row), rule("└", "┴", "┘")].join("\n");
}

const console = Object.create({}, { [Symbol.toStringTag]: { value: "console", configurable: true } });
Object.assign(console, makeConsole((...args) => line(1, args), (...args) => line(2, args)));
ampoule.hidden(console, { Console });
Object.defineProperty(globalThis, "console", { value: console, writable: true, configurable: true, enumerable: false });
modules.console = console;
