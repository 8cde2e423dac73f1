// The last file before the image is taken: it takes what is the runtime's own from the globals.

const { ampoule } = globalThis;
const { native, hook, std } = ampoule;

// What the engine brings and neither Node nor Deno has.
for (const name of ["print", "scriptArgs", "execArgv", "argv0", "navigator"]) delete globalThis[name];

// What a script sees when it lists the globals, in Node's order.
Object.defineProperty(globalThis, "global", { value: globalThis, writable: true, configurable: true, enumerable: true });
const LISTED = ["global", "clearImmediate", "setImmediate", "clearInterval", "clearTimeout", "setInterval", "setTimeout",
  "queueMicrotask", "structuredClone", "atob", "btoa", "performance", "fetch", "crypto"];
for (const name of LISTED) {
  const value = globalThis[name];
  delete globalThis[name];
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: true });
}

delete globalThis.ampoule;
std.gc();
native.setHook(hook);
