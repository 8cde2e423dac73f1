// One call, from its request to its exit code. `entry.wat` says when what is called.

const { ampoule } = globalThis;
const { native, call, rejected, late, rejections, fail, step } = ampoule;

const CALL = 0, JOB_FAILED = 1, LOAD = 2, LOADED = 3, REJECTED = 4, HANDLED = 5;
const GOES_ON = -1, UNSETTLED = 13;

// Where a user's own warm-up runs, which is a text that is no request: it leaves its globals to the calls.
const WARM_UP = { args: [], cwd: "/tmp", env: {}, name: "warm-up.js", seed: "0" };

let main, isWarmUp;

function hook(kind, a, b) {
  switch (kind) {
    case CALL: return a === undefined ? next() : begin(a);
    case JOB_FAILED: return fail(a);
    case LOAD: return ampoule.importText(a);
    case LOADED: return ampoule.describe(a, b);
    case REJECTED: return void rejected.set(a, b);
    case HANDLED: return ampoule.handledLate(a);
  }
}

function begin(text) {
  ampoule.startClock();
  isWarmUp = text[0] !== "{";
  const request = isWarmUp ? { ...WARM_UP, source: text } : JSON.parse(text);
  call.cwd = request.cwd;
  call.path = request.name.startsWith("/") ? request.name : `${request.cwd}/${request.name}`;
  ampoule.os.chdir(request.cwd);
  ampoule.startRandom(request.seed);
  const start = { args: request.args, env: request.env, path: call.path };
  ampoule.startProcess(start);
  ampoule.startDeno(start);
  try {
    main = ampoule.runMain(withoutMark(request.source), call.path);
  } catch (error) {
    fail(error);
  }
  // What an ES module's promises left goes before its ticks.
  if (main === undefined) ampoule.runTicks();
  return GOES_ON;
}

// A byte order mark is no part of a text.
const withoutMark = (text) => text.charCodeAt(0) === 0xFEFF ? text.slice(1) : text;

function next() {
  if (rejected.size > 0 || late.length > 0) rejections();
  if (step()) return GOES_ON;
  if (rejected.size > 0) return GOES_ON;
  return end();
}

// Nothing is left to wait for.
function end() {
  const { process } = ampoule;
  if (process.listenerCount("beforeExit") > 0) {
    process.emit("beforeExit", process.exitCode ?? 0);
    ampoule.runTicks();
    if (ampoule.hasWork()) return GOES_ON;
  }
  if (main !== undefined && native.promiseState(main) === 0 && process.exitCode === undefined) {
    ampoule.write(2, `Warning: Detected unsettled top-level await at ${call.path}\n`);
    process.exitCode = UNSETTLED;
  }
  return isWarmUp ? process.exitCode ?? 0 : ampoule.leave();
}

// What a call makes first, made once and kept: the engine then has the shapes of these objects and the names of their
// properties already, which each call would else make anew.
const request = '{"args":["a"],"cwd":"/tmp","env":{"HOME":"/tmp"},"name":"script.js","seed":"0","source":"1"}';
const rehearsal = [JSON.parse(request), ampoule.rehearse("/tmp/script.js")];

ampoule.hook = hook;
ampoule.hook.rehearsal = rehearsal;
