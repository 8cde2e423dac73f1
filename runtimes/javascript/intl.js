// `Intl` and the `toLocale...` methods: numbers, dates, plurals, lists and order, in English; figures also as other
// languages write them (see `locales.js`). The only time zone is UTC.

const { ampoule } = globalThis;
const { hidden, localeOf, grouped, inFigures } = ampoule;

const LOCALE = "en-US";

// --- Numbers ---

const CURRENCIES = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", NZD: "NZ$", ILS: "₪", VND: "₫", TWD: "NT$", HKD: "HK$" };
const WITHOUT_CENTS = new Set(["JPY", "KRW", "VND", "CLP", "ISK"]);
const UNITS = {
  kilometer: "km", meter: "m", centimeter: "cm", kilogram: "kg", gram: "g", liter: "L", mile: "mi", celsius: "°C",
  percent: "%", second: "sec", minute: "min", hour: "hr", byte: "byte", kilobyte: "kB", megabyte: "MB", gigabyte: "GB",
};

function range(value, name) {
  if (value === undefined) return undefined;
  const number = Math.floor(Number(value));
  if (!(number >= 0 && number <= 100)) throw new RangeError(`${name} value is out of range.`);
  return number;
}

class NumberFormat {
  #options;
  #locale;

  constructor(locales, options = {}) {
    this.#locale = localeOf(locales);
    const { style = "decimal", currency, notation = "standard" } = options;
    if (style === "currency" && currency === undefined) throw new TypeError("Currency code is required with currency style.");
    const code = currency?.toUpperCase();
    const usual = style === "currency" ? (WITHOUT_CENTS.has(code) ? [0, 0] : [2, 2]) : style === "percent" ? [0, 0] : notation === "compact" ? [0, 0] : [0, 3];
    let least = range(options.minimumFractionDigits, "minimumFractionDigits");
    let most = range(options.maximumFractionDigits, "maximumFractionDigits");
    if (least !== undefined && most !== undefined && least > most) throw new RangeError("maximumFractionDigits value is out of range.");
    least ??= Math.min(usual[0], most ?? Infinity);
    most ??= Math.max(usual[1], least);
    this.#options = {
      style, currency: code, currencyDisplay: options.currencyDisplay ?? "symbol", unit: options.unit,
      unitDisplay: options.unitDisplay ?? "short", notation, compactDisplay: options.compactDisplay ?? "short",
      signDisplay: options.signDisplay ?? "auto", currencySign: options.currencySign, useGrouping: options.useGrouping ?? true,
      minimumIntegerDigits: range(options.minimumIntegerDigits, "minimumIntegerDigits") ?? 1,
      minimumFractionDigits: least, maximumFractionDigits: most,
      minimumSignificantDigits: options.minimumSignificantDigits, maximumSignificantDigits: options.maximumSignificantDigits,
      hasDigits: options.maximumFractionDigits !== undefined || options.minimumFractionDigits !== undefined,
    };
    hidden(this, { format: (value) => this.#format(value) });
  }

  #digits(value) {
    const { minimumSignificantDigits, maximumSignificantDigits } = this.#options;
    if (minimumSignificantDigits !== undefined || maximumSignificantDigits !== undefined) {
      return significant(value, minimumSignificantDigits ?? 1, maximumSignificantDigits ?? 21);
    }
    return rounded(value, this.#options.minimumFractionDigits, this.#options.maximumFractionDigits);
  }

  #format(value) {
    const { style, notation, minimumIntegerDigits, useGrouping, signDisplay } = this.#options;
    if (typeof value !== "bigint") value = Number(value);
    if (Number.isNaN(value)) return this.#dressed("NaN", "");
    let isNegative = value < 0 || Object.is(value, -0);
    let size = typeof value === "bigint" ? (value < 0n ? -value : value) : Math.abs(value);
    if (style === "percent") size = typeof size === "bigint" ? size * 100n : size * 100;
    let suffix = "", text;
    if (size === Infinity) {
      text = "∞";
    } else {
      if (notation === "compact") [size, suffix] = this.#compact(Number(size));
      if (notation === "scientific" || notation === "engineering") [size, suffix] = powers(Number(size), notation === "engineering" ? 3 : 1);
      text = notation === "compact" && !this.#options.hasDigits ? compactDigits(size) : this.#digits(size);
      let [whole, fraction] = text.split(".");
      whole = whole.padStart(minimumIntegerDigits, "0");
      if (useGrouping !== false && useGrouping !== "false") whole = grouped(whole, this.#locale);
      text = fraction === undefined ? whole : `${whole}${this.#locale.decimal}${fraction}`;
    }
    if (/^[0,.]*$/.test(text) && signDisplay !== "negative" && !Object.is(value, -0) && !isNegative) isNegative = false;
    let sign = isNegative ? "-" : "";
    if (signDisplay === "always" || (signDisplay === "exceptZero" && value != 0)) sign = isNegative ? "-" : "+";
    if (signDisplay === "never") sign = "";
    return this.#dressed(text + suffix, sign);
  }

  #compact(size) {
    const isLong = this.#options.compactDisplay === "long";
    const steps = [[1e12, "T", " trillion"], [1e9, "B", " billion"], [1e6, "M", " million"], [1e3, "K", " thousand"]];
    const step = steps.find(([from]) => size >= from * 0.9995 || size >= from);
    return step === undefined || size < step[0] * 0.9995 ? [size, ""] : [size / step[0], isLong ? step[2] : step[1]];
  }

  #dressed(text, sign) {
    const { style, currency, currencyDisplay, unit, unitDisplay } = this.#options;
    if (style === "percent") return `${sign}${text}${this.#locale.unitLast ? "\xA0" : ""}%`;
    if (style === "unit") {
      if (unitDisplay === "long") return `${sign}${text} ${manyOf(unit, text === "1")}`;
      const short = UNITS[unit] ?? unit;
      return `${sign}${text}${["°C", "%"].includes(short) || unitDisplay === "narrow" ? "" : " "}${short}`;
    }
    if (style !== "currency") return sign + text;
    if (currencyDisplay === "name") return `${sign}${text} ${currency}`;
    const symbol = currencyDisplay === "code" ? `${currency}\xA0` : CURRENCIES[currency] ?? `${currency}\xA0`;
    if (this.#locale.unitLast) return `${sign}${text}\xA0${symbol}`;
    const shown = `${symbol}${this.#locale.symbolGap ?? ""}${text}`;
    return sign === "-" && this.#options.currencySign === "accounting" ? `(${shown})` : `${sign}${shown}`;
  }

  formatToParts(value) {
    return this.format(value).match(/\d+|[^\d]/g).map((part) => ({
      type: /\d/.test(part) ? "integer" : part === "," ? "group" : part === "." ? "decimal" : "literal", value: part,
    }));
  }

  resolvedOptions() {
    const { hasDigits, ...options } = this.#options;
    void hasDigits;
    const known = Object.entries(options).filter(([, value]) => value !== undefined);
    return { locale: this.#locale.name, numberingSystem: "latn", ...Object.fromEntries(known) };
  }

  static supportedLocalesOf = (locales) => [locales].flat().filter((locale) => /^en\b/.test(locale));
}

// A mantissa, and the exponent as it is written.
function powers(value, step) {
  if (value === 0) return [0, "E0"];
  const exponent = Math.floor(Math.floor(Math.log10(value)) / step) * step;
  return [value / 10 ** exponent, `E${exponent}`];
}

// `miles per hour`.
const manyOf = (unit, isOne) => unit.split("-per-").map((name, i) => i === 0 && !isOne ? `${name}s` : name).join(" per ");

// A number's decimal digits as they are, without an exponent.
function plainDigits(value) {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [mantissa, exponent] = text.split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  const shift = Number(exponent);
  if (shift >= 0) return whole + fraction.padEnd(shift, "0");
  return `0.${"0".repeat(-shift - 1)}${whole}${fraction}`;
}

// Rounds half away from zero, on the decimal digits that the number is shown with.
function rounded(value, least, most) {
  const [whole, fraction = ""] = plainDigits(value).split(".");
  let digits = whole + fraction.slice(0, most).padEnd(most, "0");
  if (fraction.length > most && fraction[most] >= "5") digits = String(BigInt(digits) + 1n).padStart(digits.length, "0");
  const at = digits.length - most;
  let shown = digits.slice(at);
  while (shown.length > least && shown.endsWith("0")) shown = shown.slice(0, -1);
  return (at === 0 ? "0" : digits.slice(0, at)) + (shown === "" ? "" : `.${shown}`);
}

function significant(value, least, most) {
  if (Number(value) === 0) return least > 1 ? `0.${"0".repeat(least - 1)}` : "0";
  const exponent = Math.floor(Math.log10(Number(value)));
  const places = Math.max(0, most - 1 - exponent);
  let text = places > 0 ? rounded(value, 0, Math.min(places, 100)) : String(BigInt(Math.round(Number(value) / 10 ** (exponent + 1 - most))) * 10n ** BigInt(exponent + 1 - most));
  const have = text.replace(".", "").replace(/^0+/, "").length;
  if (have < least) text += (text.includes(".") ? "" : ".") + "0".repeat(least - have);
  return text;
}

function compactDigits(value) {
  return value < 100 ? rounded(Number(value.toPrecision(2)), 0, 1) : rounded(value, 0, 0);
}

// --- Dates ---

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const DATE_PARTS = ["weekday", "era", "year", "month", "day"];
const TIME_PARTS = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];
const DATE_STYLES = {
  full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
  long: { year: "numeric", month: "long", day: "numeric" },
  medium: { year: "numeric", month: "short", day: "numeric" },
  short: { year: "2-digit", month: "numeric", day: "numeric" },
};
const TIME_STYLES = {
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
  long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" },
  short: { hour: "numeric", minute: "2-digit" },
};
const USUAL_DATE = { year: "numeric", month: "numeric", day: "numeric" };
const USUAL_TIME = { hour: "numeric", minute: "2-digit", second: "2-digit" };

const two = (number) => String(number).padStart(2, "0");

class DateTimeFormat {
  #options;
  #locale;

  constructor(locales, options = {}, usual = USUAL_DATE) {
    this.#locale = localeOf(locales);
    const zone = options.timeZone ?? "UTC";
    if (!/^(UTC|GMT|Etc\/(UTC|GMT)|[+-]00:?00)$/i.test(zone)) {
      throw new RangeError(`Invalid time zone specified: ${zone} (the only time zone in this sandbox is UTC)`);
    }
    const asked = { ...options };
    if (options.dateStyle || options.timeStyle) {
      Object.assign(asked, DATE_STYLES[options.dateStyle], TIME_STYLES[options.timeStyle]);
    } else if (![...DATE_PARTS, ...TIME_PARTS].some((part) => options[part] !== undefined)) {
      Object.assign(asked, usual);
    }
    this.#options = asked;
    hidden(this, { format: (date) => this.#format(date) });
  }

  #format(date) {
    const time = date === undefined ? Date.now() : Number(date);
    if (Number.isNaN(time) || Math.abs(time) > 8.64e15) throw new RangeError("Invalid time value");
    const at = new Date(time), options = this.#options;
    const day = this.#day(at), clock = this.#clock(at);
    const isLong = options.dateStyle === "full" || options.dateStyle === "long";
    const { weekday, year, month, day: days } = options;
    const separator = weekday && !year && !month && !days ? " " : this.#locale.separator;
    return [day, clock].filter((part) => part !== "").join(isLong ? " at " : separator);
  }

  #day(at) {
    const { weekday, year, month, day } = this.#options;
    const name = weekday && (weekday === "long" ? DAYS[at.getUTCDay()] : DAYS[at.getUTCDay()].slice(0, weekday === "narrow" ? 1 : 3));
    const full = at.getUTCFullYear();
    const years = year && (year === "2-digit" ? two(full % 100) : String(full));
    const days = day && (day === "2-digit" ? two(at.getUTCDate()) : String(at.getUTCDate()));
    if (month === "long" || month === "short" || month === "narrow") {
      const words = month === "long" ? MONTHS[at.getUTCMonth()] : MONTHS[at.getUTCMonth()].slice(0, month === "narrow" ? 1 : 3);
      if (this.#locale.dayFirst) {
        return [name, [days, words, years].filter(Boolean).join(" ")].filter(Boolean).join(weekday === "long" ? " " : ", ");
      }
      const date = [words, days].filter(Boolean).join(" ");
      return [name, [date, years].filter(Boolean).join(days ? ", " : " ")].filter(Boolean).join(", ");
    }
    const months = month && (month === "2-digit" ? two(at.getUTCMonth() + 1) : String(at.getUTCMonth() + 1));
    return [name, inFigures({ year: years, month: months, day: days }, this.#locale)].filter(Boolean).join(", ");
  }

  #clock(at) {
    const { hour, minute, second, fractionalSecondDigits, hour12, hourCycle, timeZoneName } = this.#options;
    const isTwelve = hour12 ?? (hourCycle === undefined ? this.#locale.isTwelve === true : /^h1[12]$/.test(hourCycle));
    const parts = [];
    if (hour) {
      const hours = isTwelve ? at.getUTCHours() % 12 || 12 : at.getUTCHours();
      const shown = hour12 === false && hourCycle === undefined && hours === 0 ? 24 : hours;
      parts.push(hour === "2-digit" || !isTwelve && !this.#locale.shortHour ? two(shown) : String(shown));
    }
    if (minute) parts.push(hour || second || minute === "2-digit" && hour ? two(at.getUTCMinutes()) : String(at.getUTCMinutes()));
    if (second) parts.push(minute || hour ? two(at.getUTCSeconds()) : String(at.getUTCSeconds()));
    let text = parts.join(":");
    if (fractionalSecondDigits) text += `.${String(at.getUTCMilliseconds()).padStart(3, "0").slice(0, fractionalSecondDigits)}`;
    if (hour && isTwelve) text += ` ${(this.#locale.halves ?? ["AM", "PM"])[at.getUTCHours() < 12 ? 0 : 1]}`;
    if (timeZoneName) text += `${text === "" ? "" : " "}${timeZoneName === "long" ? "Coordinated Universal Time" : "UTC"}`;
    return text;
  }

  formatToParts(date) {
    return (this.format(date).match(/[A-Za-z]+|\d+|[^A-Za-z\d]+/g) ?? []).map((value) => ({
      type: /^(AM|PM)$/i.test(value) ? "dayPeriod" : MONTHS.some((name) => name.startsWith(value)) ? "month"
        : DAYS.some((name) => name.startsWith(value)) ? "weekday" : "literal", value,
    }));
  }

  formatRange(from, to) {
    return `${this.format(from)} – ${this.format(to)}`;
  }

  resolvedOptions() {
    return { locale: this.#locale.name, calendar: "gregory", numberingSystem: "latn", timeZone: "UTC", ...this.#options };
  }

  static supportedLocalesOf = NumberFormat.supportedLocalesOf;
}

// --- Words ---

class PluralRules {
  #type;

  constructor(locales, options = {}) {
    this.#type = options.type ?? "cardinal";
  }

  select(number) {
    if (this.#type === "cardinal") return number === 1 ? "one" : "other";
    const last = number % 10, tens = number % 100;
    if (last === 1 && tens !== 11) return "one";
    if (last === 2 && tens !== 12) return "two";
    return last === 3 && tens !== 13 ? "few" : "other";
  }

  resolvedOptions() {
    return { locale: LOCALE, type: this.#type };
  }
}

class ListFormat {
  #options;

  constructor(locales, options = {}) {
    this.#options = { type: "conjunction", style: "long", ...options };
  }

  format(list) {
    const items = [...list], { type, style } = this.#options;
    if (items.length < 2) return items.join("");
    if (type === "unit") return items.join(style === "narrow" ? " " : ", ");
    const word = type === "disjunction" ? "or" : style === "long" ? "and" : "&";
    if (items.length === 2) return `${items[0]} ${word} ${items[1]}`;
    return `${items.slice(0, -1).join(", ")}, ${word} ${items.at(-1)}`;
  }
}

class RelativeTimeFormat {
  #options;

  constructor(locales, options = {}) {
    this.#options = { numeric: "always", ...options };
  }

  format(value, unit) {
    const name = unit.replace(/s$/, "");
    const words = { day: { "-1": "yesterday", 0: "today", 1: "tomorrow" } }[name] ??
      { "-1": `last ${name}`, 0: `this ${name}`, 1: `next ${name}` };
    if (this.#options.numeric === "auto" && value in words && !(name in { hour: 1, minute: 1, second: 1 })) return words[value];
    const size = new NumberFormat().format(Math.abs(value));
    const many = `${name}${Math.abs(value) === 1 ? "" : "s"}`;
    return value < 0 || Object.is(value, -0) ? `${size} ${many} ago` : `in ${size} ${many}`;
  }
}

// --- Order ---

// Letters first by what they are, then by their accents, then small before large.
function keysOf(text) {
  const plain = text.normalize("NFD");
  const bare = plain.replace(/\p{M}/gu, "");
  return [bare.toLowerCase(), plain.toLowerCase(), bare];
}

// Punctuation comes before digits, and digits before letters.
function rank(character) {
  if (/\p{L}/u.test(character)) return 3;
  if (/\p{N}/u.test(character)) return 2;
  return /\s/.test(character) ? 0 : 1;
}

function compareTexts(a, b) {
  const [x, y] = [Array.from(a), Array.from(b)];
  for (let i = 0; i < x.length && i < y.length; i++) {
    if (x[i] === y[i]) continue;
    const difference = rank(x[i]) - rank(y[i]);
    return difference !== 0 ? Math.sign(difference) : x[i] < y[i] ? -1 : 1;
  }
  return Math.sign(x.length - y.length);
}

function compareNumeric(a, b) {
  const parts = (text) => text.match(/\d+|\D+/g) ?? [];
  const [x, y] = [parts(a), parts(b)];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const areNumbers = /^\d/.test(x[i]) && /^\d/.test(y[i]);
    const order = areNumbers ? Math.sign(Number(x[i]) - Number(y[i])) : compareTexts(x[i], y[i]);
    if (order !== 0) return order;
  }
  return Math.sign(x.length - y.length);
}

function collate(a, b, { numeric = false, sensitivity = "variant", caseFirst } = {}) {
  a = String(a);
  b = String(b);
  if (a === b) return 0;
  const [x, y] = [keysOf(a), keysOf(b)];
  const order = numeric ? compareNumeric(x[0], y[0]) : compareTexts(x[0], y[0]);
  if (order !== 0 || sensitivity === "base") return order;
  if (sensitivity !== "case" && x[1] !== y[1]) return x[1] < y[1] ? -1 : 1;
  if (sensitivity === "accent" || x[2] === y[2]) return 0;
  const upperFirst = caseFirst === "upper" ? -1 : 1;
  return x[2] > y[2] ? -upperFirst : upperFirst;
}

class Collator {
  #options;

  constructor(locales, options = {}) {
    this.#options = options;
    hidden(this, { compare: (a, b) => collate(a, b, this.#options) });
  }

  resolvedOptions() {
    return { locale: LOCALE, usage: "sort", sensitivity: "variant", numeric: false, ...this.#options };
  }

  static supportedLocalesOf = NumberFormat.supportedLocalesOf;
}

class Segmenter {
  #granularity;

  constructor(locales, options = {}) {
    this.#granularity = options.granularity ?? "grapheme";
  }

  segment(input) {
    const pattern = this.#granularity === "word" ? /[\p{L}\p{N}_']+|\s+|./gsu
      : this.#granularity === "sentence" ? /[^.!?]+[.!?]*\s*/gsu
      : /\p{RI}\p{RI}|\p{Emoji}(?:\p{EMod}|\uFE0F\u20E3?|[\u{E0020}-\u{E007E}]+\u{E007F})?(?:\u200D\p{Emoji}(?:\p{EMod}|\uFE0F)?)+|\r\n|.[\p{M}\uFE0F\u200D\p{EMod}]*/gsu;
    return Array.from(input.matchAll(pattern), ({ 0: segment, index }) =>
      ({ segment, index, input, ...(this.#granularity === "word" ? { isWordLike: /[\p{L}\p{N}]/u.test(segment) } : {}) }));
  }
}

const Intl = {
  NumberFormat, DateTimeFormat, PluralRules, ListFormat, RelativeTimeFormat, Collator, Segmenter,
  getCanonicalLocales: (locales) => [locales ?? []].flat(),
  supportedValuesOf: () => [],
};
// Both are also called without `new`.
for (const name of ["NumberFormat", "DateTimeFormat", "Collator"]) {
  Intl[name] = new Proxy(Intl[name], { apply: (target, _, args) => new target(...args) });
}
Object.defineProperty(Intl, Symbol.toStringTag, { value: "Intl", configurable: true });
hidden(globalThis, { Intl });

const methods = {
  Number: {
    toLocaleString(locales, options) {
      return new NumberFormat(locales, options).format(this);
    },
  },
  BigInt: {
    toLocaleString(locales, options) {
      return new NumberFormat(locales, options).format(BigInt(this));
    },
  },
  String: {
    localeCompare(other, locales, options) {
      return collate(this, other, options);
    },
  },
  Date: {
    toLocaleString(locales, options) {
      return dated(this, locales, options, { ...USUAL_DATE, ...USUAL_TIME });
    },
    toLocaleDateString(locales, options) {
      const onlyTime = options && TIME_PARTS.some((part) => options[part] !== undefined) && !DATE_PARTS.some((part) => options[part] !== undefined);
      return dated(this, locales, onlyTime ? { ...USUAL_DATE, ...options } : options, USUAL_DATE);
    },
    toLocaleTimeString(locales, options) {
      const hasTime = options && [...TIME_PARTS, "timeStyle"].some((part) => options[part] !== undefined);
      return dated(this, locales, hasTime ? options : { ...USUAL_TIME, ...options }, USUAL_TIME);
    },
  },
};
for (const [name, own] of Object.entries(methods)) hidden(globalThis[name].prototype, own);

function dated(date, locales, options, usual) {
  if (Number.isNaN(date.getTime())) return "Invalid Date";
  return new DateTimeFormat(locales, options, usual).format(date);
}

// The engine leaves out the zone's name.
for (const name of ["toString", "toTimeString"]) {
  const plain = Date.prototype[name];
  hidden(Date.prototype, {
    [name]: {
      [name]() {
        return plain.call(this).replace(/GMT\+0000$/, "GMT+0000 (Coordinated Universal Time)");
      },
    }[name],
  });
}
