// Text as bytes: TextEncoder, TextDecoder, atob, btoa.

const { ampoule } = globalThis;
const { native, coded, wrongType } = ampoule;

const utf8 = (text) => native.toBytes(text.isWellFormed() ? text : text.toWellFormed());
const fromUtf8 = (bytes) => bytes.length === 0 ? "" : native.toText(bytes.buffer, bytes.byteOffset, bytes.length);

class TextEncoder {
  get encoding() {
    return "utf-8";
  }

  encode(text = "") {
    return utf8(String(text));
  }

  encodeInto(text, target) {
    let read = 0, written = 0;
    for (const character of String(text)) {
      const bytes = utf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }
}

const LABELS = {
  "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le",
  latin1: "windows-1252", "iso-8859-1": "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252",
  "windows-1252": "windows-1252",
};

// What windows-1252 has from 0x80 to 0x9F.
const WINDOWS = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8DŽ\x8F\x90‘’“”•–—˜™š›œ\x9DžŸ";

class TextDecoder {
  #rest = new Uint8Array(0);
  #isFirst = true;

  constructor(label = "utf-8", options = {}) {
    const encoding = LABELS[String(label).trim().toLowerCase()];
    if (encoding === undefined) {
      throw coded(RangeError, "ERR_ENCODING_NOT_SUPPORTED", `The "${label}" encoding is not supported`);
    }
    Object.defineProperty(this, "encoding", { value: encoding, enumerable: true });
    Object.defineProperty(this, "fatal", { value: Boolean(options.fatal), enumerable: true });
    Object.defineProperty(this, "ignoreBOM", { value: Boolean(options.ignoreBOM), enumerable: true });
  }

  decode(input, options = {}) {
    let bytes = bytesOf(input);
    if (this.#rest.length > 0) {
      const both = new Uint8Array(this.#rest.length + bytes.length);
      both.set(this.#rest);
      both.set(bytes, this.#rest.length);
      bytes = both;
      this.#rest = new Uint8Array(0);
    }
    if (options.stream) {
      const complete = this.encoding === "utf-8" ? completeUtf8(bytes) : bytes.length & ~1;
      if (this.encoding !== "windows-1252") {
        this.#rest = bytes.slice(complete);
        bytes = bytes.subarray(0, complete);
      }
    }
    let text;
    if (this.encoding === "utf-8") {
      if (this.fatal && !isUtf8(bytes)) {
        throw coded(TypeError, "ERR_ENCODING_INVALID_ENCODED_DATA", "The encoded data was not valid for encoding utf-8");
      }
      text = decodeUtf8(bytes);
    } else if (this.encoding === "utf-16le") {
      text = "";
      for (let i = 0; i + 1 < bytes.length; i += 2) text += String.fromCharCode(bytes[i] | (bytes[i + 1] << 8));
      text = text.toWellFormed();
    } else {
      text = Array.from(bytes, (byte) => byte >= 0x80 && byte < 0xA0 ? WINDOWS[byte - 0x80] : String.fromCharCode(byte)).join("");
    }
    if (this.#isFirst && !this.ignoreBOM && text.startsWith("\uFEFF")) text = text.slice(1);
    this.#isFirst = !options.stream;
    return text;
  }
}

function bytesOf(input) {
  if (input === undefined) return new Uint8Array(0);
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  throw wrongType("list", "an instance of ArrayBuffer or ArrayBufferView", input);
}

// How many bytes come before a character whose end is still to come.
function completeUtf8(bytes) {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xC0) === 0x80) continue;
    const length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

// The length of the character at `i`, or the length of what is wrong there as a number below 0.
function characterAt(bytes, i) {
  const first = bytes[i];
  if (first < 0x80) return 1;
  let length, low = 0x80, high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) length = 2;
  else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first === 0xE0) low = 0xA0;
    if (first === 0xED) high = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first === 0xF0) low = 0x90;
    if (first === 0xF4) high = 0x8F;
  } else return -1;
  for (let j = 1; j < length; j++) {
    const byte = bytes[i + j];
    if (byte === undefined || byte < low || byte > high) return -j;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

function isUtf8(bytes) {
  for (let i = 0; i < bytes.length;) {
    if (bytes[i] < 0x80) {
      i++;
      continue;
    }
    const length = characterAt(bytes, i);
    if (length < 0) return false;
    i += length;
  }
  return true;
}

// One U+FFFD for each longest piece that could have begun a character, as the standard has it.
function decodeUtf8(bytes) {
  if (isUtf8(bytes)) return fromUtf8(bytes);
  let text = "", start = 0, i = 0;
  while (i < bytes.length) {
    const length = characterAt(bytes, i);
    if (length > 0) {
      i += length;
      continue;
    }
    text += `${fromUtf8(bytes.subarray(start, i))}\uFFFD`;
    i -= length;
    start = i;
  }
  return text + fromUtf8(bytes.subarray(start));
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const VALUES = new Uint8Array(128).fill(255);
for (let i = 0; i < 64; i++) VALUES[ALPHABET.charCodeAt(i)] = i;
VALUES["-".charCodeAt(0)] = 62;
VALUES["_".charCodeAt(0)] = 63;

function toBase64(bytes, isForUrls) {
  let text = "", i = 0;
  for (; i + 2 < bytes.length; i += 3) {
    const three = (bytes[i] << 16) | (bytes[i + 1] << 8) | bytes[i + 2];
    text += ALPHABET[three >> 18] + ALPHABET[(three >> 12) & 63] + ALPHABET[(three >> 6) & 63] + ALPHABET[three & 63];
  }
  if (i + 1 === bytes.length) {
    text += `${ALPHABET[bytes[i] >> 2]}${ALPHABET[(bytes[i] & 3) << 4]}==`;
  } else if (i + 2 === bytes.length) {
    const two = (bytes[i] << 8) | bytes[i + 1];
    text += `${ALPHABET[two >> 10]}${ALPHABET[(two >> 4) & 63]}${ALPHABET[(two & 15) << 2]}=`;
  }
  return isForUrls ? text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "") : text;
}

// Both alphabets are read, and what belongs to neither is passed over.
function fromBase64(text) {
  const bytes = new Uint8Array((text.length * 3 >> 2) + 3);
  let length = 0, bits = 0, held = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === 61) break;
    const value = unit < 128 ? VALUES[unit] : 255;
    if (value === 255) continue;
    held = ((held << 6) | value) & 0xFFFFFF;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[length++] = (held >> bits) & 255;
    }
  }
  return bytes.slice(0, length);
}

function invalidCharacter(message) {
  return new ampoule.DOMException(message, "InvalidCharacterError");
}

function btoa(text) {
  text = String(text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 255) throw invalidCharacter("Invalid character");
    bytes[i] = unit;
  }
  return toBase64(bytes, false);
}

function atob(text) {
  text = String(text).replace(/[\t\n\f\r ]/g, "");
  if (text.length % 4 === 0) text = text.replace(/==?$/, "");
  if (/[^A-Za-z0-9+/=]/.test(text)) throw invalidCharacter("Invalid character");
  if (text.length % 4 === 1 || text.includes("=")) {
    throw invalidCharacter("The string to be decoded is not correctly encoded.");
  }
  return Array.from(fromBase64(text), (byte) => String.fromCharCode(byte)).join("");
}

ampoule.hidden(globalThis, { TextEncoder, TextDecoder, atob, btoa });
Object.assign(ampoule, { utf8, decodeUtf8, completeUtf8, toBase64, fromBase64, bytesOf });
