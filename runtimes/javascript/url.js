// `URL`, `URLSearchParams` and `node:url`.

const { ampoule } = globalThis;
const { modules, coded, wrongType, inspect, utf8, decodeUtf8 } = ampoule;

const SPECIAL = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "ftp:": "21", "file:": "" };

const CONTROL = /[\x00-\x1F\x7F-\u{10FFFF}]/u;
const SETS = {
  fragment: /[ "<>`]/,
  query: /[ "#<>]/,
  specialQuery: /[ "#<>']/,
  path: /[ "#<>?`{}]/,
  userinfo: /[ "#<>?`{}/:;=@[\]^|]/,
};

function percent(text, set) {
  let encoded = "";
  for (const character of text.toWellFormed()) {
    if (CONTROL.test(character) || SETS[set].test(character)) {
      for (const byte of utf8(character)) encoded += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    } else {
      encoded += character;
    }
  }
  return encoded;
}

function unpercent(text) {
  if (!text.includes("%")) return utf8(text);
  const bytes = utf8(text), decoded = [];
  for (let i = 0; i < bytes.length; i++) {
    const digits = bytes[i] === 37 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : "";
    if (/^[0-9a-fA-F]{2}$/.test(digits)) {
      decoded.push(parseInt(digits, 16));
      i += 2;
    } else {
      decoded.push(bytes[i]);
    }
  }
  return Uint8Array.from(decoded);
}

function invalid(input, base) {
  const error = coded(TypeError, "ERR_INVALID_URL", "Invalid URL", { input });
  if (base !== undefined) error.base = base;
  return error;
}

// --- Hosts ---

function parseHost(host, isSpecial) {
  if (host.startsWith("[")) return host.endsWith("]") ? `[${ipv6(host.slice(1, -1))}]` : undefined;
  if (!isSpecial) return /[\0\t\n\r #/<>?@[\\\]^|]/.test(host) ? undefined : percent(host, "fragment");
  let domain = decodeUtf8(unpercent(host)).normalize("NFKC").toLowerCase().replaceAll("。", ".");
  if (/[^\x00-\x7F]/.test(domain)) {
    domain = domain.split(".").map((label) => /[^\x00-\x7F]/.test(label) ? `xn--${punycode(label)}` : label).join(".");
  }
  if (domain === "" || /[\0-\x20"#%/:<>?@[\\\]^`{|}\x7F]/.test(domain)) return undefined;
  const last = domain.replace(/\.$/, "").split(".").at(-1);
  return /^(\d+|0x[0-9a-f]*)$/i.test(last) ? ipv4(domain) : domain;
}

function ipv4(text) {
  const parts = text.replace(/\.$/, "").split(".");
  if (parts.length > 4) return undefined;
  const numbers = parts.map((part) => {
    if (/^0x[0-9a-f]*$/i.test(part)) return part.length === 2 ? 0 : parseInt(part, 16);
    if (/^0[0-7]*$/.test(part)) return parseInt(part, 8);
    return /^[1-9]\d*$/.test(part) ? Number(part) : NaN;
  });
  if (numbers.some(Number.isNaN)) return undefined;
  const last = numbers.pop();
  if (numbers.some((number) => number > 255) || last >= 256 ** (4 - numbers.length)) return undefined;
  const value = numbers.reduce((sum, number, i) => sum + number * 256 ** (3 - i), last);
  return [24, 16, 8, 0].map((bits) => Math.floor(value / 2 ** bits) % 256).join(".");
}

function ipv6(text) {
  const [head, tail] = text.split("::");
  const groups = (part) => part === "" || part === undefined ? [] : part.split(":").flatMap((group) => {
    if (!group.includes(".")) return [parseInt(group, 16)];
    const [a, b, c, d] = group.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
  const before = groups(head), after = groups(tail);
  const missing = 8 - before.length - after.length;
  const all = text.includes("::") ? [...before, ...new Array(Math.max(0, missing)).fill(0), ...after] : before;
  let best = { start: -1, length: 1 };
  for (let i = 0; i < 8; i++) {
    let length = 0;
    while (all[i + length] === 0) length++;
    if (length > best.length) best = { start: i, length };
  }
  const hex = (part) => part.map((number) => number.toString(16)).join(":");
  return best.start === -1 ? hex(all) : `${hex(all.slice(0, best.start))}::${hex(all.slice(best.start + best.length))}`;
}

// A label of letters beyond ASCII, as names in DNS spell it.
function punycode(label) {
  const points = Array.from(label, (character) => character.codePointAt(0));
  let output = points.filter((point) => point < 128).map((point) => String.fromCodePoint(point)).join("");
  const basic = output.length;
  let handled = basic, n = 128, delta = 0, bias = 72;
  if (basic > 0) output += "-";
  const digit = (value) => String.fromCharCode(value < 26 ? value + 97 : value + 22);
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= n));
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        output += digit(t + (q - t) % (36 - t));
        q = Math.floor((q - t) / (36 - t));
      }
      output += digit(q);
      delta = handled === basic ? Math.floor(delta / 700) : delta >> 1;
      delta += Math.floor(delta / (handled + 1));
      let k = 0;
      for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
      bias = k + Math.floor(36 * delta / (delta + 38));
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return output;
}

// --- Parsing ---

function parse(input, base) {
  const text = input.replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, "").replace(/[\t\n\r]/g, "");
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text)?.[0].toLowerCase();
  if (scheme === undefined) return base === undefined ? undefined : relative(text, base);
  const isSpecial = scheme in SPECIAL;
  let rest = text.slice(scheme.length);
  if (isSpecial && base?.protocol === scheme && !/^[/\\]/.test(rest)) return relative(rest, base);
  const record = { protocol: scheme, username: "", password: "", host: null, port: "", path: "", query: null, hash: null };
  rest = takeTail(rest, record, isSpecial);
  if (isSpecial) rest = rest.replaceAll("\\", "/");
  if (scheme === "file:") return fileUrl(rest, record);
  if (isSpecial) rest = `//${rest.replace(/^\/+/, "")}`;
  if (!rest.startsWith("//")) {
    if (rest.startsWith("/")) record.path = normal(rest, isSpecial);
    else record.opaque = record.path = percentControls(rest);
    return record;
  }
  return authority(rest, record, isSpecial);
}

function percentControls(text) {
  return Array.from(text, (character) => CONTROL.test(character) ? percent(character, "fragment") : character).join("");
}

// Takes fragment and query off the end.
function takeTail(rest, record, isSpecial) {
  const hash = rest.indexOf("#");
  if (hash !== -1) {
    record.hash = percent(rest.slice(hash + 1), "fragment");
    rest = rest.slice(0, hash);
  }
  const query = rest.indexOf("?");
  if (query !== -1) {
    record.query = percent(rest.slice(query + 1), isSpecial ? "specialQuery" : "query");
    rest = rest.slice(0, query);
  }
  return rest;
}

function authority(rest, record, isSpecial) {
  const end = rest.indexOf("/", 2);
  let place = end === -1 ? rest.slice(2) : rest.slice(2, end);
  const path = end === -1 ? "" : rest.slice(end);
  const at = place.lastIndexOf("@");
  if (at !== -1) {
    const [username, ...password] = place.slice(0, at).split(":");
    record.username = percent(username, "userinfo");
    record.password = percent(password.join(":"), "userinfo");
    place = place.slice(at + 1);
  }
  const port = /:(\d*)$/.exec(place.replace(/^\[.*\]/, (all) => "x".repeat(all.length)));
  if (port) {
    if (Number(port[1]) > 65535) return undefined;
    record.port = port[1] === "" || String(Number(port[1])) === SPECIAL[record.protocol] ? "" : String(Number(port[1]));
    place = place.slice(0, -port[0].length);
  }
  if (place === "" && (isSpecial || record.port !== "" || at !== -1)) return undefined;
  const host = place === "" ? "" : parseHost(place, isSpecial);
  if (host === undefined) return undefined;
  record.host = host;
  record.path = normal(path, isSpecial);
  return record;
}

function fileUrl(rest, record) {
  if (rest.startsWith("//")) {
    const end = rest.indexOf("/", 2);
    const host = end === -1 ? rest.slice(2) : rest.slice(2, end);
    record.host = host === "" || host.toLowerCase() === "localhost" ? "" : parseHost(host, true);
    if (record.host === undefined) return undefined;
    rest = end === -1 ? "" : rest.slice(end);
  } else {
    record.host = "";
  }
  record.path = normal(rest.startsWith("/") ? rest : `/${rest}`, true);
  return record;
}

function normal(path, isSpecial) {
  if (path === "" && !isSpecial) return "";
  const parts = [];
  const all = path.replace(/^\//, "").split("/");
  for (const [i, part] of all.entries()) {
    const isLast = i === all.length - 1;
    const plain = part.toLowerCase().replaceAll("%2e", ".");
    if (plain === "..") {
      parts.pop();
      if (isLast) parts.push("");
    } else if (plain === ".") {
      if (isLast) parts.push("");
    } else {
      parts.push(percent(part, "path"));
    }
  }
  return `/${parts.join("/")}`;
}

function relative(text, base) {
  if (base.opaque !== undefined) {
    if (!text.startsWith("#")) return undefined;
    return { ...base, hash: percent(text.slice(1), "fragment") };
  }
  const isSpecial = base.protocol in SPECIAL;
  const record = { ...base, query: null, hash: null };
  let rest = takeTail(text, record, isSpecial);
  if (isSpecial) rest = rest.replaceAll("\\", "/");
  if (rest.startsWith("//")) {
    const fresh = { ...record, username: "", password: "", port: "" };
    return base.protocol === "file:" ? fileUrl(rest, fresh) : authority(rest, fresh, isSpecial);
  }
  if (rest === "") {
    if (record.query === null && !text.startsWith("?")) record.query = base.query;
    return record;
  }
  if (rest.startsWith("/")) record.path = normal(rest, isSpecial);
  else record.path = normal(base.path.slice(0, base.path.lastIndexOf("/") + 1) + rest, isSpecial);
  return record;
}

function text(record) {
  let href = record.protocol;
  if (record.host !== null) {
    href += "//";
    if (record.username !== "" || record.password !== "") {
      href += record.username + (record.password === "" ? "" : `:${record.password}`) + "@";
    }
    href += record.host + (record.port === "" ? "" : `:${record.port}`);
  } else if (record.path.startsWith("//")) {
    href += "/.";
  }
  href += record.path;
  if (record.query !== null) href += `?${record.query}`;
  if (record.hash !== null) href += `#${record.hash}`;
  return href;
}

// --- The classes ---

class URLSearchParams {
  #pairs = [];
  #changed;

  constructor(init = "") {
    if (init !== null && typeof init === "object") {
      if (typeof init[Symbol.iterator] === "function") {
        for (const pair of init) {
          const items = [...pair];
          if (items.length !== 2) throw coded(TypeError, "ERR_INVALID_TUPLE", "Each query pair must be an iterable [name, value] tuple");
          this.#pairs.push(items.map(usv));
        }
      } else {
        for (const key of Reflect.ownKeys(init)) {
          if (Object.prototype.propertyIsEnumerable.call(init, key)) this.#pairs.push([usv(key), usv(init[key])]);
        }
      }
    } else {
      this.#pairs = pairsIn(`${init}`.replace(/^\?/, ""));
    }
  }

  static of(query, changed) {
    const params = new URLSearchParams(query ?? "");
    params.#changed = changed;
    return params;
  }

  static reset(params, query) {
    params.#pairs = pairsIn(query ?? "");
  }

  #update(pairs) {
    this.#pairs = pairs;
    this.#changed?.(this.toString());
  }

  get size() {
    return this.#pairs.length;
  }

  append(name, value) {
    this.#update([...this.#pairs, [usv(name), usv(value)]]);
  }

  delete(name, value) {
    this.#update(this.#pairs.filter(([known, held]) => known !== usv(name) || (value !== undefined && held !== usv(value))));
  }

  get(name) {
    return this.#pairs.find(([known]) => known === usv(name))?.[1] ?? null;
  }

  getAll(name) {
    return this.#pairs.filter(([known]) => known === usv(name)).map(([, value]) => value);
  }

  has(name, value) {
    return this.#pairs.some(([known, held]) => known === usv(name) && (value === undefined || held === usv(value)));
  }

  set(name, value) {
    const at = this.#pairs.findIndex(([known]) => known === usv(name));
    if (at === -1) return this.append(name, value);
    const rest = this.#pairs.filter(([known], i) => i <= at || known !== usv(name));
    rest[at] = [usv(name), usv(value)];
    this.#update(rest);
  }

  sort() {
    this.#update([...this.#pairs].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0));
  }

  forEach(callback, self) {
    ampoule.requireFunction(callback, "callback");
    for (const [name, value] of this.#pairs) callback.call(self, value, name, this);
  }

  *entries() {
    for (const [name, value] of this.#pairs) yield [name, value];
  }

  *keys() {
    for (const [name] of this.#pairs) yield name;
  }

  *values() {
    for (const [, value] of this.#pairs) yield value;
  }

  toString() {
    return this.#pairs.map(([name, value]) => `${form(name)}=${form(value)}`).join("&");
  }

  [inspect.custom](depth, options) {
    if (this.#pairs.length === 0) return "URLSearchParams {}";
    const shown = this.#pairs.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
    const line = `URLSearchParams { ${shown.join(", ")} }`;
    return line.length <= 72 ? line : `URLSearchParams {\n  ${shown.join(",\n  ")} }`;
  }
}
const { of: paramsOf, reset: resetParams } = URLSearchParams;
delete URLSearchParams.of;
delete URLSearchParams.reset;
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries, writable: true, configurable: true,
});
Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { value: "URLSearchParams", configurable: true });

const usv = (value) => `${value}`.toWellFormed();

function pairsIn(query) {
  return query.split("&").filter((part) => part !== "").map((part) => {
    const at = part.indexOf("=");
    const [name, value] = at === -1 ? [part, ""] : [part.slice(0, at), part.slice(at + 1)];
    return [name, value].map((piece) => decodeUtf8(unpercent(piece.replaceAll("+", " "))));
  });
}

function form(text) {
  let encoded = "";
  for (const byte of utf8(text)) {
    const character = String.fromCharCode(byte);
    if (/[A-Za-z0-9*\-._]/.test(character)) encoded += character;
    else encoded += byte === 32 ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

class URL {
  #record;
  #params;

  constructor(input, base) {
    if (arguments.length === 0) throw coded(TypeError, "ERR_MISSING_ARGS", 'The "url" argument must be specified');
    input = `${input}`;
    let parent;
    if (base !== undefined) {
      base = `${base}`;
      parent = parse(base);
      if (parent === undefined) throw invalid(input, base);
    }
    this.#record = parse(input, parent);
    if (this.#record === undefined) throw invalid(input, base);
  }

  static canParse(input, base) {
    const parent = base === undefined ? undefined : parse(`${base}`);
    return (base === undefined || parent !== undefined) && parse(`${input}`, parent) !== undefined;
  }

  static createObjectURL() {
    throw ampoule.absent("are no object URLs");
  }

  static revokeObjectURL() {}

  #change(changes) {
    const record = parse(text({ ...this.#record, ...changes }));
    if (record !== undefined) this.#record = record;
  }

  get href() {
    return text(this.#record);
  }

  set href(value) {
    const record = parse(`${value}`);
    if (record === undefined) throw invalid(`${value}`);
    this.#record = record;
    if (this.#params) resetParams(this.#params, record.query);
  }

  get origin() {
    const { protocol } = this.#record;
    return protocol in SPECIAL && protocol !== "file:" ? `${protocol}//${this.host}` : "null";
  }

  get protocol() {
    return this.#record.protocol;
  }

  set protocol(value) {
    const protocol = `${`${value}`.split(":")[0].toLowerCase()}:`;
    if ((protocol in SPECIAL) === (this.#record.protocol in SPECIAL)) this.#change({ protocol });
  }

  get username() {
    return this.#record.username;
  }

  set username(value) {
    this.#record.username = percent(`${value}`, "userinfo");
  }

  get password() {
    return this.#record.password;
  }

  set password(value) {
    this.#record.password = percent(`${value}`, "userinfo");
  }

  get host() {
    const { host, port } = this.#record;
    return (host ?? "") + (port === "" ? "" : `:${port}`);
  }

  set host(value) {
    const [, host, port] = /^(.*?)(?::(\d*))?$/.exec(`${value}`);
    this.#change({ host, port: port ?? this.#record.port });
  }

  get hostname() {
    return this.#record.host ?? "";
  }

  set hostname(value) {
    this.#change({ host: `${value}` });
  }

  get port() {
    return this.#record.port;
  }

  set port(value) {
    this.#change({ port: /^\d*/.exec(`${value}`)[0] });
  }

  get pathname() {
    return this.#record.path;
  }

  set pathname(value) {
    if (this.#record.opaque !== undefined) return;
    const isSpecial = this.#record.protocol in SPECIAL;
    value = `${value}`.replaceAll("?", "%3F").replaceAll("#", "%23");
    this.#record.path = normal(value.startsWith("/") ? value : `/${value}`, isSpecial);
  }

  get search() {
    return this.#record.query ? `?${this.#record.query}` : "";
  }

  set search(value) {
    value = `${value}`.replace(/^\?/, "");
    const set = this.#record.protocol in SPECIAL ? "specialQuery" : "query";
    this.#record.query = value === "" ? null : percent(value, set);
    if (this.#params) resetParams(this.#params, this.#record.query);
  }

  get searchParams() {
    this.#params ??= paramsOf(this.#record.query, (query) => void (this.#record.query = query === "" ? null : query));
    return this.#params;
  }

  get hash() {
    return this.#record.hash ? `#${this.#record.hash}` : "";
  }

  set hash(value) {
    value = `${value}`.replace(/^#/, "");
    this.#record.hash = value === "" ? null : percent(value, "fragment");
  }

  toString() {
    return this.href;
  }

  toJSON() {
    return this.href;
  }

  [inspect.custom](depth, options) {
    if (typeof depth === "number" && depth < 0) return this.href;
    const shown = {};
    for (const name of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "searchParams", "hash"]) {
      shown[name] = this[name];
    }
    return `${this.constructor.name} ${inspect(shown, options)}`;
  }
}
for (const name of Object.getOwnPropertyNames(URL.prototype)) {
  if (name !== "constructor") Object.defineProperty(URL.prototype, name, { enumerable: true });
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: "URL", configurable: true });

// --- node:url ---

function fileURLToPath(url) {
  if (typeof url === "string") url = new URL(url);
  if (!(url instanceof URL)) throw wrongType("path", "of type string or an instance of URL", url);
  if (url.protocol !== "file:") throw coded(TypeError, "ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  if (url.hostname !== "") {
    throw coded(TypeError, "ERR_INVALID_FILE_URL_HOST", 'File URL host must be "localhost" or empty on linux');
  }
  return decodeURIComponent(url.pathname);
}

function pathToFileURL(path) {
  const resolved = modules.path.resolve(path) + (path.endsWith("/") && path !== "/" ? "/" : "");
  return new URL(`file://${resolved.replaceAll("%", "%25").replaceAll("\\", "%5C").replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll("\t", "%09").replaceAll("?", "%3F").replaceAll("#", "%23")}`);
}

// The form that came before `URL`, for the scripts that still ask for it.
class Url {}

function legacyParse(address, parsesQuery = false) {
  const found = /^([a-zA-Z][a-zA-Z0-9+.-]*:)?(\/\/(?:([^@/?#]*)@)?([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(address.trim());
  const [, protocol = null, slashes, auth = null, host = null, pathname, search = null, hash = null] = found;
  const port = /:(\d+)$/.exec(host ?? "");
  const query = search === null ? null : search.slice(1);
  const path = pathname || (slashes !== undefined && protocol in SPECIAL ? "/" : null);
  return Object.assign(new Url(), {
    protocol, slashes: slashes !== undefined || null, auth, host, port: port?.[1] ?? null,
    hostname: host?.replace(/:\d+$/, "") ?? null, hash, search, query: parsesQuery ? queryParse(query ?? "") : query,
    pathname: path, path: path === null && search === null ? null : `${path ?? ""}${search ?? ""}`, href: address,
  });
}

function legacyFormat(url, options) {
  if (typeof url === "string") return url;
  if (url instanceof URL) {
    const copy = new URL(url);
    if (options?.auth === false) copy.username = copy.password = "";
    if (options?.fragment === false) copy.hash = "";
    if (options?.search === false) copy.search = "";
    return copy.href;
  }
  const protocol = url.protocol ? url.protocol.replace(/:?$/, ":") : "";
  const host = url.host ?? (url.hostname ? url.hostname + (url.port ? `:${url.port}` : "") : "");
  const search = url.search ?? (url.query && typeof url.query === "object" ? `?${queryStringify(url.query)}` : url.query ? `?${url.query}` : "");
  const slashes = url.slashes || protocol in SPECIAL ? "//" : "";
  return `${protocol}${host || slashes ? slashes : ""}${url.auth ? `${url.auth}@` : ""}${host}${url.pathname ?? ""}${search ? search.replace(/^\??/, "?") : ""}${url.hash ? url.hash.replace(/^#?/, "#") : ""}`;
}

const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return decodeUtf8(unpercent(text));
  }
};
const escape = (text) => encodeURIComponent(text);

function queryParse(query, separator = "&", equals = "=") {
  const parsed = Object.create(null);
  for (const part of query.split(separator).filter((part) => part !== "")) {
    const at = part.indexOf(equals);
    const [name, value] = (at === -1 ? [part, ""] : [part.slice(0, at), part.slice(at + equals.length)])
      .map((piece) => unescape(piece.replaceAll("+", " ")));
    if (name in parsed) parsed[name] = [parsed[name], value].flat();
    else parsed[name] = value;
  }
  return parsed;
}

function queryStringify(object, separator = "&", equals = "=") {
  const shown = (value) => ["string", "number", "bigint", "boolean"].includes(typeof value) ? escape(String(value)) : "";
  return Object.entries(object ?? {})
    .flatMap(([name, value]) => [value].flat().map((item) => `${escape(name)}${equals}${shown(item)}`)).join(separator);
}

modules.url = {
  URL, URLSearchParams, fileURLToPath, pathToFileURL, parse: legacyParse, format: legacyFormat,
  resolve: (from, to) => {
    const resolved = new URL(to, new URL(from, "resolve://"));
    return resolved.protocol === "resolve:" ? resolved.pathname + resolved.search + resolved.hash : resolved.href;
  },
  domainToASCII: (domain) => parseHost(domain, true) ?? "",
  domainToUnicode: (domain) => domain,
  urlToHttpOptions: ({ protocol, hostname, hash, search, pathname, href, port }) =>
    ({ protocol, hostname, hash, search, pathname, path: pathname + search, href, ...(port === "" ? {} : { port: Number(port) }) }),
};
modules.querystring = { parse: queryParse, stringify: queryStringify, escape, unescape, decode: queryParse, encode: queryStringify };
ampoule.hidden(globalThis, { URL, URLSearchParams });
