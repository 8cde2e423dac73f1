// `node:assert`.

const { ampoule } = globalThis;
const { modules, inspect, coded, isDeepEqual } = ampoule;

class AssertionError extends Error {
  constructor(options) {
    if (options.message === undefined) {
      const usual = USUAL[options.operator] ?? "Failed";
      options = { ...options, generatedMessage: true, message: difference(options.actual, options.expected, usual, options.operator === "strictEqual") };
    }
    super(options.message);
    this.generatedMessage = options.generatedMessage ?? false;
    this.code = "ERR_ASSERTION";
    this.actual = options.actual;
    this.expected = options.expected;
    this.operator = options.operator;
    const stack = String(this.stack);
    ampoule.hidden(this, {
      name: "AssertionError",
      stack: `AssertionError [ERR_ASSERTION]: ${options.message}${stack.slice(`Error: ${options.message}`.length)}`,
    });
  }

  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
}

const USUAL = {
  strictEqual: "Expected values to be strictly equal:", deepStrictEqual: "Expected values to be strictly deep-equal:",
};

function fail(actual, expected, message, operator, usual) {
  if (message instanceof Error) throw message;
  throw new AssertionError({
    message: message ?? usual(), generatedMessage: message === undefined, actual, expected, operator,
  });
}

// What differs stands below a message of the script's own, too.
function different(actual, expected, message, operator, usual) {
  if (message instanceof Error) throw message;
  throw new AssertionError({
    message: difference(actual, expected, message ?? usual, operator === "strictEqual"),
    generatedMessage: message === undefined, actual, expected, operator,
  });
}

const shown = (value) => inspect(value, { compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, sorted: true, getters: true });

// The lines of both, those that only one has marked.
function difference(actual, expected, headline, isIdentity) {
  const a = shown(actual), b = shown(expected);
  const isObject = (value) => typeof value === "object" && value !== null;
  const areLines = !a.includes("\n") && !b.includes("\n");
  if (areLines && a !== b && a.length + b.length <= 12 && !isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0)) {
    return `${headline}\n\n${a} !== ${b}\n`;
  }
  if (isIdentity && a === b && isObject(actual)) return `Values have same structure but are not reference-equal:\n\n${a}\n`;
  const { lines, isFolded } = marked(a.split("\n"), b.split("\n"));
  let text = `${headline}\n+ actual - expected${isFolded ? " ... Lines skipped" : ""}\n\n${lines.join("\n")}`;
  if (areLines) {
    let at = 0;
    while (at < a.length && a[at] === b[at]) at++;
    if (at > 2) text += `\n${" ".repeat(at + 2)}^`;
  }
  return text;
}

// Line by line, as Node compares them: what is the same at the end first, of long runs in between only the ends.
function marked(left, right) {
  const tail = [];
  while (left.length > 0 && right.length > 0 && left.at(-1) === right.at(-1)) {
    tail.unshift(`  ${left.pop()}`);
    right.pop();
  }
  const lines = [];
  let run = [], missing = [], isFolded = false;
  const flush = () => {
    isFolded ||= run.length > 5;
    lines.push(...run.length > 5 ? [...run.slice(0, 2), "...", ...run.slice(-2)] : run);
    run = [];
  };
  for (let i = 0; i < Math.max(left.length, right.length); i++) {
    if (i < left.length && i < right.length && same(left[i], right[i])) {
      lines.push(...missing);
      missing = [];
      run.push(`  ${left[i].length > right[i].length ? left[i] : right[i]}`);
      continue;
    }
    flush();
    if (i < left.length) lines.push(`+ ${left[i]}`);
    if (i < right.length) missing.push(`- ${right[i]}`);
  }
  flush();
  lines.push(...missing);
  isFolded ||= tail.length > 4;
  lines.push(...tail.length > 4 ? [tail[0], "...", ...tail.slice(-3)] : tail);
  return { lines, isFolded };
}

// A comma behind the last entry makes no difference.
const same = (a, b) => a === b || `${a},` === b || a === `${b},`;

function ok(...args) {
  const [value, message] = args;
  if (value) return;
  fail(value, true, message, "==", () => {
    if (args.length === 0) return "No value argument passed to `assert.ok()`";
    const call = ampoule.callAt(new Error());
    return call === undefined ? "The expression evaluated to a falsy value"
      : `The expression evaluated to a falsy value:\n\n  ${call}\n`;
  });
}

const assert = (...args) => ok(...args);

function needTwo(count) {
  if (count < 2) throw coded(TypeError, "ERR_MISSING_ARGS", 'The "actual" and "expected" arguments must be specified');
}

class Comparison {
  constructor(properties) {
    Object.assign(this, properties);
  }
}

// Whether what was thrown is what was expected; throws where it is something else.
function isExpected(error, expected, message) {
  if (expected === undefined) return true;
  if (typeof expected === "function") {
    if (expected.prototype !== undefined && error instanceof expected) return true;
    if (Error.isPrototypeOf(expected) || expected === Error) {
      fail(error, expected, message, "throws", () =>
        `The error is expected to be an instance of "${expected.name}". Received "${error?.constructor?.name ?? inspect(error)}"\n\nError message:\n\n${error?.message}`);
    }
    if (expected.call({}, error) === true) return true;
    fail(error, expected, message, "throws", () =>
      `The ${expected.name ? `"${expected.name}" ` : ""}validation function is expected to return "true". Received ${inspect(expected.call({}, error))}\n\nCaught error:\n\n${error}`);
  }
  if (ampoule.isRegExp(expected)) {
    if (expected.test(String(error))) return true;
    fail(error, expected, message, "throws", () =>
      `The input did not match the regular expression ${inspect(expected)}. Input:\n\n${inspect(String(error))}\n`);
  }
  const keys = Object.keys(expected);
  if (expected instanceof Error) keys.push("name", "message");
  for (const key of keys) {
    const matches = typeof error?.[key] === "string" && ampoule.isRegExp(expected[key])
      ? expected[key].test(error[key]) : key in Object(error) && isDeepEqual(error[key], expected[key], true);
    if (matches) continue;
    const pick = (from) => Object.fromEntries(keys.filter((name) => name in Object(from)).map((name) => [name, from[name]]));
    fail(error, expected, message, "throws", () =>
      difference(new Comparison(pick(error)), new Comparison(pick(expected)), "Expected values to be strictly deep-equal:", false));
  }
  return true;
}

function thrownBy(work) {
  ampoule.requireFunction(work, "fn");
  try {
    work();
  } catch (error) {
    return { error };
  }
  return undefined;
}

async function rejectedBy(work) {
  try {
    await (typeof work === "function" ? work() : work);
  } catch (error) {
    return { error };
  }
  return undefined;
}

function missing(what, expected, message, operator) {
  if (typeof expected === "string") [expected, message] = [undefined, expected];
  const which = expected?.name ? ` (${expected.name})` : "";
  fail(undefined, expected, `Missing expected ${what}${which}${message === undefined ? "." : `: ${message}`}`, operator);
}

function unwanted(what, error, message, operator) {
  fail(error, undefined, `Got unwanted ${what}${typeof message === "string" ? `: ${message}` : "."}\n` +
    `Actual message: "${error?.message}"`, operator);
}

const methods = {
  ok,
  fail(message = "Failed") {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message, generatedMessage: arguments.length === 0, operator: "fail" });
  },
  equal(actual, expected, message) {
    needTwo(arguments.length);
    if (actual == expected || (actual !== actual && expected !== expected)) return;
    fail(actual, expected, message, "==", () => `${inspect(actual)} == ${inspect(expected)}`);
  },
  notEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (actual != expected && (actual === actual || expected === expected)) return;
    fail(actual, expected, message, "!=", () => `${inspect(actual)} != ${inspect(expected)}`);
  },
  strictEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (Object.is(actual, expected)) return;
    different(actual, expected, message, "strictEqual", "Expected values to be strictly equal:");
  },
  notStrictEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (!Object.is(actual, expected)) return;
    fail(actual, expected, message, "notStrictEqual", () =>
      `Expected "actual" to be strictly unequal to: ${inspect(expected)}`);
  },
  deepEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (isDeepEqual(actual, expected, false)) return;
    fail(actual, expected, message, "deepEqual", () =>
      `Expected values to be loosely deep-equal:\n\n${shown(actual)}\n\nshould loosely deep-equal\n\n${shown(expected)}`);
  },
  notDeepEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (!isDeepEqual(actual, expected, false)) return;
    fail(actual, expected, message, "notDeepEqual", () =>
      `Expected "actual" not to be loosely deep-equal to: ${inspect(expected)}`);
  },
  deepStrictEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (isDeepEqual(actual, expected, true)) return;
    different(actual, expected, message, "deepStrictEqual", "Expected values to be strictly deep-equal:");
  },
  notDeepStrictEqual(actual, expected, message) {
    needTwo(arguments.length);
    if (!isDeepEqual(actual, expected, true)) return;
    fail(actual, expected, message, "notDeepStrictEqual", () =>
      {
      const text = shown(expected);
      return `Expected "actual" not to be strictly deep-equal to:${text.includes("\n") ? `\n\n${text}\n` : ` ${text}`}`;
    });
  },
  match(text, pattern, message) {
    if (typeof text === "string" && pattern.test(text)) return;
    fail(text, pattern, message, "match", () =>
      `The input did not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`);
  },
  doesNotMatch(text, pattern, message) {
    if (!pattern.test(text)) return;
    fail(text, pattern, message, "doesNotMatch", () =>
      `The input was expected to not match the regular expression ${inspect(pattern)}. Input:\n\n${inspect(text)}\n`);
  },
  throws(work, expected, message) {
    const thrown = thrownBy(work);
    if (thrown === undefined) missing("exception", expected, message, "throws");
    if (typeof expected === "string") expected = undefined;
    isExpected(thrown.error, expected, message);
  },
  doesNotThrow(work, expected, message) {
    const thrown = thrownBy(work);
    if (thrown !== undefined) unwanted("exception", thrown.error, message ?? expected, "doesNotThrow");
  },
  async rejects(work, expected, message) {
    const thrown = await rejectedBy(work);
    if (thrown === undefined) missing("rejection", expected, message, "rejects");
    if (typeof expected === "string") expected = undefined;
    isExpected(thrown.error, expected, message);
  },
  async doesNotReject(work, expected, message) {
    const thrown = await rejectedBy(work);
    if (thrown !== undefined) unwanted("rejection", thrown.error, message ?? expected, "doesNotReject");
  },
  ifError(value) {
    if (value === null || value === undefined) return;
    const said = value instanceof Error ? value.message || value.constructor.name : inspect(value);
    fail(value, null, `ifError got unwanted exception: ${said}`, "ifError");
  },
};
Object.assign(assert, methods, { AssertionError });
const strict = Object.assign((...args) => ok(...args), assert, {
  equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual,
  notDeepEqual: assert.notDeepStrictEqual,
});
assert.strict = strict.strict = strict;
modules.assert = assert;
modules["assert/strict"] = strict;
