// What the other files build on: the engine's own modules, the door to functions that it has in C only, and the
// registry of the modules that a script can import.

import * as std from "qjs:std";
import * as os from "qjs:os";
import * as bjson from "qjs:bjson";

// See `entry.wat`.
const door = std.loadScript;
const GLOBAL = 0, MODULE = 1, COMPILE_ONLY = 0x20;

const native = {
  setHook: (hook) => door(0, hook),
  // A text of sloppy code, under the name of the file that it comes from.
  evaluate: (text, file) => door(1, text, file, GLOBAL),
  compileModule: (text, file) => door(1, text, file, MODULE | COMPILE_ONLY),
  importMeta: (module) => door(2, module),
  runModule: (module) => door(3, module),
  promiseState: (promise) => door(4, promise),
  promiseResult: (promise) => door(5, promise),
  namespace: (module) => door(6, module),
  seedRandom: (a, b, c, d) => door(7, a, b, c, d),
  toBytes: (text) => door(8, text),
  toText: (buffer, start, length) => door(9, buffer, start, length),
};

// One object that all files share; `seal.js` takes it from the globals before the image is taken.
globalThis.ampoule = {
  std,
  os,
  bjson,
  native,
  // The modules a script can import, by their names without `node:`.
  modules: Object.create(null),
  // What is different in each call; `call.js` fills it.
  call: { name: "", path: "", cwd: "", args: [], env: {}, source: "", seed: "" },
  // A property that scripts find and do not see when they list what an object has.
  hidden(object, properties) {
    for (const [name, value] of Object.entries(properties)) {
      Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
    }
    return object;
  },
};
