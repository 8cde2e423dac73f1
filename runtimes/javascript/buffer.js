// `node:buffer` and `node:string_decoder`.

const { ampoule } = globalThis;
const { modules, coded, wrongType, utf8, decodeUtf8, completeUtf8, toBase64, fromBase64, inspect } = ampoule;

const NAMES = {
  utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url", ascii: "ascii",
  latin1: "latin1", binary: "latin1", ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
};

function encodingOf(name) {
  if (name === undefined || name === null || name === "utf8") return "utf8";
  const encoding = NAMES[String(name).toLowerCase()];
  if (encoding === undefined) throw coded(TypeError, "ERR_UNKNOWN_ENCODING", `Unknown encoding: ${name}`);
  return encoding;
}

function encode(text, encoding) {
  switch (encoding) {
    case "utf8": return utf8(text);
    case "hex": {
      const digits = /^(?:[0-9a-fA-F]{2})*/.exec(text)[0];
      const bytes = new Uint8Array(digits.length / 2);
      for (let i = 0; i < bytes.length; i++) bytes[i] = parseInt(digits.slice(2 * i, 2 * i + 2), 16);
      return bytes;
    }
    case "base64":
    case "base64url": return fromBase64(text);
    case "utf16le": {
      const bytes = new Uint8Array(2 * text.length);
      for (let i = 0; i < text.length; i++) {
        const unit = text.charCodeAt(i);
        bytes[2 * i] = unit & 255;
        bytes[2 * i + 1] = unit >> 8;
      }
      return bytes;
    }
    default: {
      const bytes = new Uint8Array(text.length);
      for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
      return bytes;
    }
  }
}

function units(bytes, change) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 4096) {
    text += String.fromCharCode.apply(null, change(bytes.subarray(i, i + 4096)));
  }
  return text;
}

function decode(bytes, encoding) {
  switch (encoding) {
    case "utf8": return decodeUtf8(bytes);
    case "hex": {
      let text = "";
      for (let i = 0; i < bytes.length; i++) text += HEX[bytes[i]];
      return text;
    }
    case "base64": return toBase64(bytes, false);
    case "base64url": return toBase64(bytes, true);
    case "ascii": return units(bytes, (part) => Array.from(part, (byte) => byte & 127));
    case "latin1": return units(bytes, (part) => part);
    case "utf16le": {
      let text = "";
      for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
      return text;
    }
  }
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function outOfRange(name, range, value) {
  return coded(RangeError, "ERR_OUT_OF_RANGE",
    `The value of "${name}" is out of range. It must be ${range}. Received ${typeof value === "bigint" ? `${value}n` : inspect(value)}`);
}

const isBytes = (value) => value instanceof Uint8Array;

class Buffer extends Uint8Array {
  static poolSize = 8192;

  static from(value, encoding, length) {
    if (typeof value === "string") return over(encode(value, encodingOf(encoding)));
    if (value instanceof ArrayBuffer) {
      return new Buffer(value, encoding ?? 0, length ?? value.byteLength - (encoding ?? 0));
    }
    if (ArrayBuffer.isView(value) && !(value instanceof DataView)) return copied(value);
    if (typeof value === "object" && value !== null) {
      if (value.type === "Buffer" && Array.isArray(value.data)) return copied(value.data);
      if (typeof value.length === "number") return copied(value);
      const inner = value.valueOf?.();
      if (inner !== undefined && inner !== null && inner !== value) return Buffer.from(inner, encoding, length);
    }
    throw wrongType("first argument",
      "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object", value);
  }

  static alloc(size, fill, encoding) {
    const buffer = new Buffer(checkedSize(size));
    return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
  }

  static allocUnsafe(size) {
    return new Buffer(checkedSize(size));
  }

  static allocUnsafeSlow(size) {
    return new Buffer(checkedSize(size));
  }

  static isBuffer(value) {
    return value instanceof Buffer;
  }

  static isEncoding(name) {
    return typeof name === "string" && NAMES[name.toLowerCase()] !== undefined;
  }

  static byteLength(value, encoding) {
    if (typeof value !== "string") {
      if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
      throw wrongType("string", "of type string or an instance of Buffer or ArrayBuffer", value);
    }
    return encode(value, encodingOf(encoding)).length;
  }

  static concat(list, total) {
    if (!Array.isArray(list)) throw wrongType("list", "an instance of Array", list);
    total ??= list.reduce((sum, part) => sum + part.length, 0);
    const all = Buffer.alloc(total);
    let at = 0;
    for (const [index, part] of list.entries()) {
      if (!isBytes(part)) throw wrongType(`list[${index}]`, "an instance of Buffer or Uint8Array", part);
      if (at >= total) break;
      all.set(at + part.length > total ? part.subarray(0, total - at) : part, at);
      at += part.length;
    }
    return all;
  }

  static compare(a, b) {
    const length = Math.min(a.length, b.length);
    for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
    return Math.sign(a.length - b.length);
  }

  get parent() {
    return this.buffer;
  }

  get offset() {
    return this.byteOffset;
  }

  toString(encoding, start = 0, end = this.length) {
    if (start <= 0 && end >= this.length) return decode(this, encodingOf(encoding));
    return decode(Uint8Array.prototype.subarray.call(this, Math.max(0, start), Math.max(0, end)), encodingOf(encoding));
  }

  toJSON() {
    return { type: "Buffer", data: Array.from(this) };
  }

  toLocaleString(encoding) {
    return this.toString(encoding);
  }

  equals(other) {
    if (!isBytes(other)) throw wrongType("otherBuffer", "an instance of Buffer or Uint8Array", other);
    return Buffer.compare(this, other) === 0;
  }

  compare(target, targetStart = 0, targetEnd = target.length, start = 0, end = this.length) {
    return Buffer.compare(this.subarray(start, end), target.subarray(targetStart, targetEnd));
  }

  slice(start, end) {
    return this.subarray(start, end);
  }

  write(text, offset, length, encoding) {
    if (typeof text !== "string") throw coded(TypeError, "ERR_INVALID_ARG_TYPE", "argument must be a string");
    if (typeof offset === "string") [offset, encoding] = [undefined, offset];
    if (typeof length === "string") [length, encoding] = [undefined, length];
    offset ??= 0;
    const room = Math.min(length ?? Infinity, this.length - offset);
    encoding = encodingOf(encoding);
    let bytes = encode(text, encoding);
    if (bytes.length > room) {
      bytes = bytes.subarray(0, room);
      if (encoding === "utf8") bytes = bytes.subarray(0, completeUtf8(bytes));
    }
    this.set(bytes, offset);
    return bytes.length;
  }

  copy(target, targetStart = 0, start = 0, end = this.length) {
    const part = this.subarray(start, Math.min(end, start + target.length - targetStart));
    target.set(part, targetStart);
    return part.length;
  }

  fill(value, start, end, encoding) {
    if (typeof start === "string") [start, encoding] = [undefined, start];
    if (typeof end === "string") [end, encoding] = [undefined, end];
    if (typeof value === "string") value = encode(value, encodingOf(encoding));
    if (!isBytes(value)) return super.fill(value & 255, start, end);
    start ??= 0;
    end ??= this.length;
    if (value.length === 0) return super.fill(0, start, end);
    for (let i = start; i < end; i++) this[i] = value[(i - start) % value.length];
    return this;
  }

  indexOf(value, offset, encoding) {
    return search(this, value, offset, encoding, false);
  }

  lastIndexOf(value, offset, encoding) {
    return search(this, value, offset, encoding, true);
  }

  includes(value, offset, encoding) {
    return this.indexOf(value, offset, encoding) !== -1;
  }

  swap16() {
    return swap(this, 2);
  }

  swap32() {
    return swap(this, 4);
  }

  swap64() {
    return swap(this, 8);
  }

  readUIntBE(offset, length) {
    let value = 0;
    for (let i = 0; i < length; i++) value = value * 256 + this[checkedOffset(this, offset, length) + i];
    return value;
  }

  readUIntLE(offset, length) {
    let value = 0;
    for (let i = length - 1; i >= 0; i--) value = value * 256 + this[checkedOffset(this, offset, length) + i];
    return value;
  }

  readIntBE(offset, length) {
    return signed(this.readUIntBE(offset, length), length);
  }

  readIntLE(offset, length) {
    return signed(this.readUIntLE(offset, length), length);
  }

  writeUIntBE(value, offset, length) {
    for (let i = length - 1; i >= 0; i--) {
      this[offset + i] = value;
      value = Math.floor(value / 256);
    }
    return offset + length;
  }

  writeUIntLE(value, offset, length) {
    for (let i = 0; i < length; i++) {
      this[offset + i] = value;
      value = Math.floor(value / 256);
    }
    return offset + length;
  }

  writeIntBE(value, offset, length) {
    return this.writeUIntBE(value < 0 ? value + 2 ** (8 * length) : value, offset, length);
  }

  writeIntLE(value, offset, length) {
    return this.writeUIntLE(value < 0 ? value + 2 ** (8 * length) : value, offset, length);
  }

  [inspect.custom](depth, options) {
    const shown = Math.min(INSPECTED, this.length);
    let text = Array.from(Uint8Array.prototype.subarray.call(this, 0, shown), (byte) => HEX[byte]).join(" ");
    const left = this.length - shown;
    if (left > 0) text += ` ... ${left} more byte${left > 1 ? "s" : ""}`;
    const own = Object.keys(this).slice(this.length);
    if (own.length > 0) {
      const shownProperties = inspect(Object.fromEntries(own.map((key) => [key, this[key]])), { ...options, breakLength: Infinity, compact: true });
      text += `${text === "" ? "" : ", "}${shownProperties.slice(2, -2)}`;
    }
    return `<${this.constructor.name} ${text}>`;
  }
}

const INSPECTED = 50;

function checkedSize(size) {
  if (typeof size !== "number") throw wrongType("size", "of type number", size);
  if (!(size >= 0 && size <= 0x7FFFFFFF)) throw outOfRange("size", ">= 0 && <= 4294967296", size);
  return size;
}

function over(bytes) {
  return new Buffer(bytes.buffer, bytes.byteOffset, bytes.length);
}

function copied(values) {
  const buffer = new Buffer(values.length);
  for (let i = 0; i < values.length; i++) buffer[i] = values[i];
  return buffer;
}

function signed(value, length) {
  return value >= 2 ** (8 * length - 1) ? value - 2 ** (8 * length) : value;
}

function checkedOffset(buffer, offset, length) {
  if (typeof offset !== "number") throw wrongType("offset", "of type number", offset);
  if (!Number.isInteger(offset) || offset < 0 || offset + length > buffer.length) {
    if (buffer.length < length) {
      throw coded(RangeError, "ERR_BUFFER_OUT_OF_BOUNDS", "Attempt to access memory outside buffer bounds");
    }
    throw outOfRange("offset", Number.isInteger(offset) ? `>= 0 and <= ${buffer.length - length}` : "an integer", offset);
  }
  return offset;
}

function search(buffer, value, offset, encoding, isBackward) {
  if (typeof offset === "string") [offset, encoding] = [undefined, offset];
  if (typeof value === "string") value = encode(value, encodingOf(encoding));
  else if (typeof value === "number") value = [value & 255];
  else if (!isBytes(value)) {
    throw wrongType("value", "one of type number or string or an instance of Buffer or Uint8Array", value);
  }
  const last = buffer.length - value.length;
  let start = offset ?? (isBackward ? last : 0);
  if (start < 0) start += buffer.length;
  if (value.length === 0) return isBackward ? buffer.length : Math.min(Math.max(0, start), buffer.length);
  const matches = (at) => {
    for (let i = 0; i < value.length; i++) if (buffer[at + i] !== value[i]) return false;
    return true;
  };
  if (isBackward) {
    for (let at = Math.min(start, last); at >= 0; at--) if (matches(at)) return at;
  } else {
    for (let at = Math.max(0, start); at <= last; at++) if (matches(at)) return at;
  }
  return -1;
}

function swap(buffer, size) {
  if (buffer.length % size !== 0) {
    throw coded(RangeError, "ERR_INVALID_BUFFER_SIZE", `Buffer size must be a multiple of ${8 * size}-bits`);
  }
  for (let i = 0; i < buffer.length; i += size) buffer.subarray(i, i + size).reverse();
  return buffer;
}

// The numbers of each kind, in both orders: readInt16BE, writeDoubleLE and so on.
const KINDS = [
  ["Int8", 1, -128, 127], ["UInt8", 1, 0, 255], ["Int16", 2, -32768, 32767], ["UInt16", 2, 0, 65535],
  ["Int32", 4, -(2 ** 31), 2 ** 31 - 1], ["UInt32", 4, 0, 2 ** 32 - 1], ["BigInt64", 8, -(2n ** 63n), 2n ** 63n - 1n],
  ["BigUInt64", 8, 0n, 2n ** 64n - 1n], ["Float", 4], ["Double", 8],
];
for (const [name, size, least, most] of KINDS) {
  const kind = { Float: "Float32", Double: "Float64" }[name] ?? name.replace("UInt", "Uint");
  const get = DataView.prototype[`get${kind}`], set = DataView.prototype[`set${kind}`];
  for (const order of size === 1 ? [""] : ["BE", "LE"]) {
    const isLittle = order === "LE";
    const view = (buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength);
    const methods = {
      [`read${name}${order}`](offset = 0) {
        return get.call(view(this), checkedOffset(this, offset, size), isLittle);
      },
      [`write${name}${order}`](value, offset = 0) {
        if (least !== undefined && (value < least || value > most)) {
          throw outOfRange("value", `>= ${inspect(least)} and <= ${inspect(most)}`, value);
        }
        set.call(view(this), checkedOffset(this, offset, size), value, isLittle);
        return offset + size;
      },
    };
    ampoule.hidden(Buffer.prototype, methods);
    for (const [method, does] of Object.entries(methods)) {
      if (method.includes("UInt")) ampoule.hidden(Buffer.prototype, { [method.replace("UInt", "Uint")]: does });
    }
  }
}
for (const end of ["BE", "LE"]) {
  for (const way of ["read", "write"]) {
    ampoule.hidden(Buffer.prototype, { [`${way}Uint${end}`]: Buffer.prototype[`${way}UInt${end}`] });
  }
}

// Old scripts call it without `new`.
const Callable = new Proxy(Buffer, {
  apply: (_, __, [value, encoding, length]) =>
    typeof value === "number" ? Buffer.alloc(value) : Buffer.from(value, encoding, length),
  construct: (target, args, newTarget) =>
    typeof args[0] === "string" || Array.isArray(args[0]) ? Buffer.from(...args) : Reflect.construct(target, args, newTarget),
});
ampoule.hidden(Buffer.prototype, { constructor: Callable });

const constants = { MAX_LENGTH: 0x7FFFFFFF, MAX_STRING_LENGTH: 0x1FFFFFE8 };
class Blob {
  #bytes;

  constructor(parts = [], options = {}) {
    this.#bytes = Buffer.concat(parts.map((part) =>
      part instanceof Blob ? part.#bytes : typeof part === "string" ? Buffer.from(part) : Buffer.from(ampoule.bytesOf(part))));
    Object.defineProperty(this, "size", { value: this.#bytes.length, enumerable: true });
    Object.defineProperty(this, "type", { value: options?.type ?? "", enumerable: true });
  }

  async text() {
    return this.#bytes.toString();
  }

  async arrayBuffer() {
    return new Uint8Array(this.#bytes).buffer;
  }

  slice(start, end, type) {
    return new Blob([this.#bytes.subarray(start, end)], { type });
  }
}

class File extends Blob {
  constructor(parts, name, options = {}) {
    super(parts, options);
    Object.defineProperty(this, "name", { value: `${name}`, enumerable: true });
    Object.defineProperty(this, "lastModified", { value: options.lastModified ?? Date.now(), enumerable: true });
  }
}
ampoule.hidden(globalThis, { File });

modules.buffer = {
  Buffer: Callable, Blob, File, constants, kMaxLength: constants.MAX_LENGTH, kStringMaxLength: constants.MAX_STRING_LENGTH,
  INSPECT_MAX_BYTES: INSPECTED, SlowBuffer: Callable, atob: globalThis.atob, btoa: globalThis.btoa,
  isUtf8: (bytes) => decodeUtf8(ampoule.bytesOf(bytes)).includes("\uFFFD") === false,
  isAscii: (bytes) => ampoule.bytesOf(bytes).every((byte) => byte < 128),
};

// --- Characters whose bytes come in pieces ---

class StringDecoder {
  #rest = Buffer.alloc(0);

  constructor(encoding) {
    this.encoding = encodingOf(encoding);
  }

  write(bytes) {
    if (typeof bytes === "string") return bytes;
    let all = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
    let complete = all.length;
    if (this.encoding === "utf8") complete = completeUtf8(all);
    else if (this.encoding === "utf16le") complete -= complete % 2;
    else if (this.encoding === "base64") complete -= complete % 3;
    this.#rest = Buffer.from(all.subarray(complete));
    all = all.subarray(0, complete);
    return decode(all, this.encoding);
  }

  end(bytes) {
    const text = bytes === undefined ? "" : this.write(bytes);
    const rest = decode(this.#rest, this.encoding);
    this.#rest = Buffer.alloc(0);
    return text + (this.encoding === "utf8" && rest !== "" ? "\uFFFD" : rest);
  }
}
modules.string_decoder = { StringDecoder };

ampoule.hidden(globalThis, { Buffer: Callable, Blob });
Object.assign(ampoule, { encode, decode, encodingOf, outOfRange, makeBuffer: over });
