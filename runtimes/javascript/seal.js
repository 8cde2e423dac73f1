// The last file before the image is taken: rehearse what calls do, and take what is the runtime's own from the globals.

const { ampoule } = globalThis;
const { native, hook, std } = ampoule;

// What the engine brings and neither Node nor Deno has.
for (const name of ["print", "scriptArgs", "execArgv", "argv0", "InternalError"]) delete globalThis[name];

ampoule.rehearse?.();
delete globalThis.ampoule;
std.gc();
native.setHook(hook);
