// Random numbers: a ChaCha20 stream from the seed that the host gives each call.

const { ampoule } = globalThis;
const { native } = ampoule;

const state = new Uint32Array(16), block = new Uint32Array(16);
const blockBytes = new Uint8Array(block.buffer);
let used = 64;
// The call's key, until something asks for random bytes.
let key;

function takeKey(text) {
  key = undefined;
  state.set([0x61707865, 0x3320646E, 0x79622D32, 0x6B206574]);
  for (let i = 0; i < 8; i++) state[4 + i] = parseInt(text.slice(8 * i, 8 * i + 8), 16);
  state.fill(0, 12);
}

function quarter(x, a, b, c, d) {
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = rotated(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = rotated(x[b] ^ x[c], 7);
}

const rotated = (word, bits) => (word << bits) | (word >>> (32 - bits));

function nextBlock() {
  if (key !== undefined) takeKey(key);
  block.set(state);
  for (let round = 0; round < 10; round++) {
    quarter(block, 0, 4, 8, 12);
    quarter(block, 1, 5, 9, 13);
    quarter(block, 2, 6, 10, 14);
    quarter(block, 3, 7, 11, 15);
    quarter(block, 0, 5, 10, 15);
    quarter(block, 1, 6, 11, 12);
    quarter(block, 2, 7, 8, 13);
    quarter(block, 3, 4, 9, 14);
  }
  for (let i = 0; i < 16; i++) block[i] += state[i];
  if (++state[12] === 0) state[13]++;
  used = 0;
}

function fillRandom(bytes) {
  for (let at = 0; at < bytes.length;) {
    if (used === 64) nextBlock();
    const more = Math.min(64 - used, bytes.length - at);
    bytes.set(blockBytes.subarray(used, used + more), at);
    // What was handed out is not kept.
    blockBytes.fill(0, used, used + more);
    used += more;
    at += more;
  }
  return bytes;
}

// What the call's seed has after the key is for Math.random, which is fast and no secret: it tells nothing of the key.
function startRandom(text) {
  key = text;
  const word = (at) => Number(`0x${text.slice(at, at + 8)}`) | 0;
  native.seedRandom(word(64), word(72), word(80), word(88));
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function randomUUID() {
  const bytes = fillRandom(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0F) | 0x40;
  bytes[8] = (bytes[8] & 0x3F) | 0x80;
  const text = Array.from(bytes, (byte) => HEX[byte]).join("");
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-");
}

function getRandomValues(array) {
  const isIntegers = ArrayBuffer.isView(array) && !(array instanceof DataView) && !/^Float/.test(array[Symbol.toStringTag]);
  if (!isIntegers) {
    throw new ampoule.DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
  }
  if (array.byteLength > 65536) {
    throw new ampoule.DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
  }
  fillRandom(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
  return array;
}

Object.assign(ampoule, { fillRandom, startRandom, randomUUID, getRandomValues });
