// `node:crypto` and `crypto`: hashes, HMAC, PBKDF2 and random numbers. There are no ciphers and no keys.

const { ampoule } = globalThis;
const { modules, coded, wrongType, absent, encode, encodingOf, fillRandom, randomUUID, getRandomValues } = ampoule;
const { Buffer } = modules.buffer;

const rotl = (word, bits) => (word << bits) | (word >>> (32 - bits));
const rotr = (word, bits) => (word >>> bits) | (word << (32 - bits));

// --- Compression functions: each mixes one block into the state ---

const SINES = Array.from({ length: 64 }, (_, i) => Math.floor(Math.abs(Math.sin(i + 1)) * 2 ** 32) | 0);
const MD5_TURNS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];

function md5(state, view, at) {
  let [a, b, c, d] = state;
  for (let i = 0; i < 64; i++) {
    const round = i >> 4;
    const mixed = round === 0 ? (b & c) | (~b & d) : round === 1 ? (d & b) | (~d & c) : round === 2 ? b ^ c ^ d : c ^ (b | ~d);
    const word = [i, 5 * i + 1, 3 * i + 5, 7 * i][round] & 15;
    const sum = (a + mixed + SINES[i] + view.getInt32(at + 4 * word, true)) | 0;
    [a, d, c, b] = [d, c, b, (b + rotl(sum, MD5_TURNS[round][i & 3])) | 0];
  }
  [a, b, c, d].forEach((word, i) => state[i] += word);
}

const words80 = new Int32Array(80);

function sha1(state, view, at) {
  const w = words80;
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 80; i++) w[i] = rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  let [a, b, c, d, e] = state;
  for (let i = 0; i < 80; i++) {
    let f, k;
    if (i < 20) [f, k] = [(b & c) | (~b & d), 0x5A827999];
    else if (i < 40) [f, k] = [b ^ c ^ d, 0x6ED9EBA1];
    else if (i < 60) [f, k] = [(b & c) | (b & d) | (c & d), 0x8F1BBCDC];
    else [f, k] = [b ^ c ^ d, 0xCA62C1D6];
    const next = (rotl(a, 5) + f + e + k + w[i]) | 0;
    e = d;
    d = c;
    c = rotl(b, 30);
    b = a;
    a = next;
  }
  [a, b, c, d, e].forEach((word, i) => state[i] += word);
}

// The first bits of the fractional parts of roots of primes, as SHA-2 takes its constants.
function primes(count) {
  const found = [];
  for (let n = 2; found.length < count; n++) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}

// floor(n^(1/root) * 2^64) mod 2^64, in whole numbers.
function rootBits(n, root) {
  const target = BigInt(n) << BigInt(64 * root);
  let low = 0n, high = 1n << 72n;
  while (high - low > 1n) {
    const middle = (low + high) >> 1n;
    if (middle ** BigInt(root) <= target) low = middle;
    else high = middle;
  }
  return low & 0xFFFFFFFFFFFFFFFFn;
}

const CUBES = primes(80).map((prime) => rootBits(prime, 3));
const SQUARES = primes(16).map((prime) => rootBits(prime, 2));
const K256 = Int32Array.from(CUBES.slice(0, 64), (bits) => Number(BigInt.asIntN(32, bits >> 32n)));

const words64 = new Int32Array(64);

function sha256(state, view, at) {
  const w = words64;
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const x = w[i - 15], y = w[i - 2];
    w[i] = (w[i - 16] + w[i - 7] + (rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3)) + (rotr(y, 17) ^ rotr(y, 19) ^ (y >>> 10))) | 0;
  }
  let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
  for (let i = 0; i < 64; i++) {
    const first = (h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K256[i] + w[i]) | 0;
    const second = ((rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

const MASK = 0xFFFFFFFFFFFFFFFFn;
const rotr64 = (word, bits) => ((word >> bits) | (word << (64n - bits))) & MASK;
const K512 = CUBES;

function sha512(state, view, at) {
  const w = new Array(80);
  for (let i = 0; i < 16; i++) w[i] = view.getBigUint64(at + 8 * i);
  for (let i = 16; i < 80; i++) {
    const x = w[i - 15], y = w[i - 2];
    w[i] = (w[i - 16] + w[i - 7] + (rotr64(x, 1n) ^ rotr64(x, 8n) ^ (x >> 7n)) +
      (rotr64(y, 19n) ^ rotr64(y, 61n) ^ (y >> 6n))) & MASK;
  }
  let [a, b, c, d, e, f, g, h] = state;
  for (let i = 0; i < 80; i++) {
    const first = h + (rotr64(e, 14n) ^ rotr64(e, 18n) ^ rotr64(e, 41n)) + ((e & f) ^ ((e ^ MASK) & g)) + K512[i] + w[i];
    const second = (rotr64(a, 28n) ^ rotr64(a, 34n) ^ rotr64(a, 39n)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = (d + first) & MASK;
    d = c;
    c = b;
    b = a;
    a = (first + second) & MASK;
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => state[i] = (state[i] + word) & MASK);
}

const high = (bits) => Number(BigInt.asIntN(32, bits >> 32n));
const START = {
  md5: () => Int32Array.of(0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476),
  sha1: () => Int32Array.of(0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0),
  sha256: () => Int32Array.from(SQUARES.slice(0, 8), high),
  sha224: () => Int32Array.from(SQUARES.slice(8), (bits) => Number(BigInt.asIntN(32, bits))),
  sha512: () => SQUARES.slice(0, 8),
  sha384: () => SQUARES.slice(8),
};
const ALGORITHMS = {
  md5: { mix: md5, block: 64, bytes: 16, isLittle: true },
  sha1: { mix: sha1, block: 64, bytes: 20 },
  sha224: { mix: sha256, block: 64, bytes: 28 },
  sha256: { mix: sha256, block: 64, bytes: 32 },
  sha384: { mix: sha512, block: 128, bytes: 48, isWide: true },
  sha512: { mix: sha512, block: 128, bytes: 64, isWide: true },
};

function algorithmOf(name) {
  const key = String(name).toLowerCase().replace(/^sha-/, "sha").replace(/^rsa-/, "");
  if (ALGORITHMS[key] === undefined) throw coded(Error, "ERR_OSSL_EVP_UNSUPPORTED", "Digest method not supported");
  return key;
}

// The state of a hash that takes its bytes in pieces.
class Digest {
  constructor(name) {
    this.name = name;
    this.algorithm = ALGORITHMS[name];
    this.state = START[name]();
    this.buffer = new Uint8Array(this.algorithm.block);
    this.view = new DataView(this.buffer.buffer);
    this.filled = 0;
    this.length = 0;
  }

  update(bytes) {
    const { block, mix } = this.algorithm;
    this.length += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const more = Math.min(block - this.filled, bytes.length - at);
      this.buffer.set(bytes.subarray(at, at + more), this.filled);
      this.filled += more;
      at += more;
      if (this.filled === block) {
        mix(this.state, this.view, 0);
        this.filled = 0;
      }
    }
    return this;
  }

  digest() {
    const { block, bytes, isLittle, isWide, mix } = this.algorithm;
    const bits = BigInt(this.length) * 8n;
    const tail = new Uint8Array(this.filled < block - (isWide ? 16 : 8) ? block : 2 * block);
    tail.set(this.buffer.subarray(0, this.filled));
    tail[this.filled] = 0x80;
    const view = new DataView(tail.buffer);
    view.setBigUint64(tail.length - 8, bits, isLittle);
    for (let at = 0; at < tail.length; at += block) mix(this.state, view, at);
    const result = new Uint8Array(64);
    const out = new DataView(result.buffer);
    this.state.forEach((word, i) => isWide ? out.setBigUint64(8 * i, word) : out.setInt32(4 * i, word, isLittle));
    return result.slice(0, bytes);
  }

  copy() {
    const copy = new Digest(this.name);
    copy.state = this.state.slice();
    copy.buffer.set(this.buffer);
    copy.filled = this.filled;
    copy.length = this.length;
    return copy;
  }
}

const digestOf = (name, bytes) => new Digest(name).update(bytes).digest();

function data(value, encoding, name = "data") {
  if (typeof value === "string") return encode(value, encodingOf(encoding === "buffer" ? "utf8" : encoding));
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return ampoule.bytesOf(value);
  throw wrongType(name, "of type string or an instance of Buffer, TypedArray, or DataView", value);
}

function output(bytes, encoding) {
  const buffer = ampoule.makeBuffer(bytes);
  return encoding === undefined || encoding === "buffer" ? buffer : buffer.toString(encoding);
}

const Transform = modules.stream.Transform;

class Hash extends Transform {
  #digest;
  #isDone = false;

  constructor(name, digest = new Digest(algorithmOf(name))) {
    super({});
    this.#digest = digest;
  }

  update(value, encoding) {
    if (this.#isDone) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    this.#digest.update(data(value, encoding));
    return this;
  }

  digest(encoding) {
    if (this.#isDone) throw coded(Error, "ERR_CRYPTO_HASH_FINALIZED", "Digest already called");
    this.#isDone = true;
    return output(this.#digest.digest(), encoding);
  }

  copy() {
    return new Hash(this.#digest.name, this.#digest.copy());
  }

  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }

  _flush(callback) {
    callback(null, this.digest());
  }
}

// HMAC: the hash of a hash, both keyed.
class Keyed {
  constructor(name, key) {
    const { block } = ALGORITHMS[name];
    const padded = new Uint8Array(block);
    padded.set(key.length > block ? digestOf(name, key) : key);
    this.inner = new Digest(name).update(padded.map((byte) => byte ^ 0x36));
    this.outer = new Digest(name).update(padded.map((byte) => byte ^ 0x5C));
  }

  of(bytes) {
    return this.outer.copy().update(this.inner.copy().update(bytes).digest()).digest();
  }
}

class Hmac extends Transform {
  #keyed;

  constructor(name, key) {
    super({});
    this.#keyed = new Keyed(algorithmOf(name), data(key, undefined, "key"));
  }

  update(value, encoding) {
    this.#keyed.inner.update(data(value, encoding));
    return this;
  }

  digest(encoding) {
    return output(this.#keyed.of(new Uint8Array(0)), encoding);
  }

  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }

  _flush(callback) {
    callback(null, this.digest());
  }
}

function pbkdf2Sync(password, salt, rounds, length, name) {
  const keyed = new Keyed(algorithmOf(name), data(password, undefined, "password"));
  const seed = data(salt, undefined, "salt"), result = new Uint8Array(length);
  for (let number = 1, at = 0; at < length; number++) {
    const first = new Uint8Array(seed.length + 4);
    first.set(seed);
    new DataView(first.buffer).setUint32(seed.length, number);
    let last = keyed.of(first);
    const mixed = last.slice();
    for (let round = 1; round < rounds; round++) {
      last = keyed.of(last);
      for (let i = 0; i < mixed.length; i++) mixed[i] ^= last[i];
    }
    result.set(mixed.subarray(0, length - at), at);
    at += mixed.length;
  }
  return output(result);
}

function randomBytes(size, callback) {
  if (typeof size !== "number") throw wrongType("size", "of type number", size);
  if (!(size >= 0 && size <= 0x7FFFFFFF)) throw ampoule.outOfRange("size", ">= 0 && <= 2147483647", size);
  const bytes = fillRandom(Buffer.alloc(size));
  if (callback === undefined) return bytes;
  ampoule.nextTick(callback, null, bytes);
}

// Without the bias of a remainder: what lies beyond the last whole multiple is drawn again.
function randomInt(low, above, callback) {
  if (above === undefined || typeof above === "function") [low, above, callback] = [0, low, above];
  if (!Number.isSafeInteger(low)) throw wrongType("min", "a safe integer", low);
  if (!Number.isSafeInteger(above)) throw wrongType("max", "a safe integer", above);
  if (above <= low) throw ampoule.outOfRange("max", `greater than the value of "min" (${low})`, above);
  const range = above - low, most = 2 ** 48 - (2 ** 48 % range);
  let drawn;
  do drawn = fillRandom(Buffer.alloc(6)).readUIntBE(0, 6); while (drawn >= most);
  const value = low + (drawn % range);
  if (callback === undefined) return value;
  ampoule.nextTick(callback, null, value);
}

function timingSafeEqual(a, b) {
  if (a.byteLength !== b.byteLength) {
    throw coded(RangeError, "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH", "Input buffers must have the same byte length");
  }
  const [x, y] = [ampoule.bytesOf(a), ampoule.bytesOf(b)];
  let differences = 0;
  for (let i = 0; i < x.length; i++) differences |= x[i] ^ y[i];
  return differences === 0;
}

const subtle = {
  async digest(algorithm, bytes) {
    const name = typeof algorithm === "string" ? algorithm : algorithm?.name;
    if (!/^sha-(1|256|384|512)$/i.test(name)) throw new ampoule.DOMException("Unrecognized algorithm name", "NotSupportedError");
    return digestOf(algorithmOf(name), ampoule.bytesOf(bytes)).buffer;
  },
};
for (const name of ["encrypt", "decrypt", "sign", "verify", "generateKey", "importKey", "exportKey", "deriveKey", "deriveBits"]) {
  subtle[name] = async () => {
    throw absent(`is no crypto.subtle.${name}`);
  };
}

const webcrypto = { getRandomValues, randomUUID, subtle };
Object.defineProperty(webcrypto, Symbol.toStringTag, { value: "Crypto", configurable: true });
Object.defineProperty(globalThis, "crypto", { value: webcrypto, writable: true, configurable: true, enumerable: true });

const later = (work) => (...args) => {
  const callback = args.pop();
  ampoule.requireFunction(callback, "callback");
  const result = work(...args);
  ampoule.nextTick(callback, null, result);
};

modules.crypto = {
  createHash: (name) => new Hash(name),
  createHmac: (name, key) => new Hmac(name, key),
  hash: (name, value, encoding = "hex") => output(digestOf(algorithmOf(name), data(value)), encoding),
  getHashes: () => Object.keys(ALGORITHMS),
  getCiphers: () => [],
  randomBytes, randomInt, randomUUID, getRandomValues, timingSafeEqual, pbkdf2Sync, webcrypto, subtle, Hash, Hmac,
  pbkdf2: later(pbkdf2Sync),
  randomFillSync: (bytes, offset = 0, size = bytes.byteLength - offset) => {
    fillRandom(ampoule.bytesOf(bytes).subarray(offset, offset + size));
    return bytes;
  },
  constants: {},
};
for (const name of ["createCipheriv", "createDecipheriv", "createSign", "createVerify", "generateKeyPairSync", "scryptSync", "createPublicKey", "createPrivateKey", "createSecretKey", "generateKeyPair", "scrypt", "sign", "verify", "createDiffieHellman", "createECDH", "publicEncrypt", "privateDecrypt"]) {
  modules.crypto[name] = () => {
    throw absent(`is no crypto.${name}`);
  };
}
