// CommonJS and ES modules: what a name means, and how a file runs.

const { ampoule } = globalThis;
const { modules, native, coded, statOf, os, std } = ampoule;
const { path } = modules;

const cache = Object.create(null);
const EXTENSIONS = [".js", ".json", ".cjs", ".mjs", ".ts", ".mts", ".cts"];

// --- Names ---

function builtIn(name) {
  const plain = name.startsWith("node:") ? name.slice(5) : name;
  return Object.hasOwn(modules, plain) || plain in modules ? modules[plain] : undefined;
}

function isFile(file) {
  const { stat } = statOf(file);
  return stat !== undefined && (stat.mode & os.S_IFMT) === os.S_IFREG;
}

function fileAt(place) {
  if (isFile(place)) return place;
  return EXTENSIONS.map((extension) => place + extension).find(isFile) ?? inFolder(place);
}

function inFolder(folder) {
  if (!ampoule.isFolder(folder)) return undefined;
  const description = path.join(folder, "package.json");
  if (isFile(description)) {
    const { main, exports, module } = JSON.parse(std.loadFile(description));
    const entry = main ?? entryOf(exports) ?? module;
    if (typeof entry === "string") {
      const found = fileAt(path.resolve(folder, entry));
      if (found !== undefined) return found;
    }
  }
  return EXTENSIONS.map((extension) => path.join(folder, `index${extension}`)).find(isFile);
}

function entryOf(exports) {
  if (typeof exports === "string" || exports === undefined || exports === null) return exports;
  const own = exports["."] ?? exports;
  if (typeof own === "string") return own;
  return entryOf(own.node ?? own.require ?? own.import ?? own.default);
}

// The file that `name` means in a module of `folder`.
function resolve(name, folder) {
  if (/^(\.{1,2}(\/|$)|\/)/.test(name)) return fileAt(path.resolve(folder, name));
  for (let at = folder; ; at = path.dirname(at)) {
    const found = fileAt(path.join(at, "node_modules", name));
    if (found !== undefined || at === "/") return found;
  }
}

// What every call asks of its script's path, without the checks of `node:path`.
const folderOf = (file) => file.slice(0, file.lastIndexOf("/")) || "/";

function endingOf(file) {
  const at = file.lastIndexOf(".");
  return at > file.lastIndexOf("/") + 1 ? file.slice(at) : "";
}

// --- CommonJS ---

class Module {
  #parent;

  constructor(id, parent) {
    this.id = id;
    this.path = folderOf(id);
    this.exports = {};
    this.filename = id;
    this.loaded = false;
    this.children = [];
    this.paths = [];
    this.#parent = parent;
  }

  get parent() {
    return this.#parent;
  }

  require(name) {
    return load(name, this);
  }

  _compile(text, file) {
    return runCommon(this, text, file);
  }
}

function load(name, parent) {
  if (typeof name !== "string") throw ampoule.wrongType("id", "of type string", name);
  if (name === "") throw coded(TypeError, "ERR_INVALID_ARG_VALUE", "The argument 'id' must be a non-empty string. Received ''");
  const own = builtIn(name);
  if (own !== undefined) return own;
  if (name.startsWith("node:")) throw coded(Error, "ERR_UNKNOWN_BUILTIN_MODULE", `No such built-in module: ${name}`);
  if (name.startsWith("file:")) name = modules.url.fileURLToPath(name);
  const file = resolve(name, parent.path);
  if (file === undefined) {
    const stack = [parent.filename];
    for (let up = parent.parent; up; up = up.parent) stack.push(up.filename);
    const error = new Error(`Cannot find module '${name}'\nRequire stack:\n- ${stack.join("\n- ")}`);
    throw Object.assign(error, { code: "MODULE_NOT_FOUND", requireStack: stack });
  }
  return loadFile(file, parent);
}

function loadFile(file, parent) {
  if (cache[file] !== undefined) return cache[file].exports;
  const module = new Module(file, parent);
  cache[file] = module;
  parent?.children.push(module);
  try {
    const text = readText(file);
    if (file.endsWith(".json")) module.exports = parseJson(text, file);
    else runFile(module, text, file);
  } catch (error) {
    delete cache[file];
    throw error;
  }
  module.loaded = true;
  return module.exports;
}

function readText(file) {
  return modules.fs.readFileSync(file, "utf8").replace(/^\uFEFF/, "");
}

function parseJson(text, file) {
  try {
    return JSON.parse(text);
  } catch (error) {
    error.message = `${file}: ${error.message}`;
    throw error;
  }
}

function runFile(module, text, file) {
  const kind = kindOf(text, file);
  if (kind.run !== undefined) return callCommon(module, kind.run);
  const promise = native.runModule(kind.module);
  if (native.promiseState(promise) === 2) throw native.promiseResult(promise);
  if (native.promiseState(promise) === 0) {
    throw coded(Error, "ERR_REQUIRE_ASYNC_MODULE", "require() cannot be used on an ESM graph with top-level await. Use import() instead.");
  }
  module.exports = native.namespace(kind.module);
}

function runCommon(module, text, file) {
  ampoule.keepSource(file, text, true);
  return callCommon(module, compileCommon(text, file));
}

function callCommon(module, run) {
  return Reflect.apply(run, module.exports, [module.exports, requireFor(module), module, module.filename, module.path]);
}

function requireFor(module) {
  const require = (name) => load(name, module);
  require.resolve = (name) => {
    if (builtIn(name) !== undefined) return name;
    const file = resolve(name, module.path);
    if (file !== undefined) return file;
    throw Object.assign(new Error(`Cannot find module '${name}'\nRequire stack:\n- ${module.filename}`), { code: "MODULE_NOT_FOUND", requireStack: [module.filename] });
  };
  require.main = mainModule;
  require.cache = cache;
  require.extensions = Object.create(null);
  return require;
}

function compileCommon(text, file) {
  const body = text.startsWith("#!") ? `//${text.slice(2)}` : text;
  return native.evaluate(`${ampoule.WRAPPER}${body}\n})`, file);
}

function compileEs(text, file) {
  ampoule.keepSource(file, text, false);
  const module = native.compileModule(text, file);
  describe(native.importMeta(module), file);
  return module;
}

// Whether a text is a CommonJS module, then with the function that runs it, or an ES module.
function kindOf(text, file) {
  const extension = endingOf(file);
  if (extension === ".mjs" || extension === ".mts") return { module: compileEs(text, file) };
  ampoule.keepSource(file, text, true);
  if (extension === ".cjs" || extension === ".cts") return { run: compileCommon(text, file) };
  // The script itself came without a package.
  if (file !== ampoule.call.path && packageType(file) === "module") return { module: compileEs(text, file) };
  let failure;
  try {
    return { run: compileCommon(text, file) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    failure = error;
  }
  try {
    return { module: compileEs(text, file) };
  } catch (error) {
    // It is wrong either way. What it was meant as, its imports and exports tell.
    const isMeantAsModule = /^\s*(import\b\s*[\w*{"']|export\b\s*[\w*{])/m.test(text);
    if (isMeantAsModule) throw error;
    ampoule.keepSource(file, text, true);
    throw failure;
  }
}

function packageType(file) {
  for (let at = path.dirname(file); at.length > 1; at = path.dirname(at)) {
    const description = path.join(at, "package.json");
    if (isFile(description)) return JSON.parse(std.loadFile(description)).type;
    if (at === ampoule.call.cwd) return undefined;
  }
  return undefined;
}

// --- ES modules ---

function describe(meta, file) {
  const isMain = file === ampoule.call.path;
  Object.assign(meta, {
    dirname: path.dirname(file),
    filename: file,
    resolve(name) {
      if (builtIn(name) !== undefined) return name.startsWith("node:") ? name : `node:${name}`;
      return new URL(name, meta.url).href;
    },
    url: modules.url.pathToFileURL(file).href,
    main: isMain,
  });
}

// The text of the module that an import names. The engine has made relative names absolute.
function importText(name) {
  if (name.startsWith("file:")) name = modules.url.fileURLToPath(name);
  if (name.startsWith("node:")) throw coded(Error, "ERR_UNKNOWN_BUILTIN_MODULE", `No such built-in module: ${name}`);
  if (/^(https?|jsr|npm):/.test(name)) {
    throw coded(Error, "ERR_NETWORK_IMPORT_DISALLOWED", `import of '${name}' is not possible: there is no network in this sandbox`);
  }
  let file = name;
  if (!name.startsWith("/")) {
    file = resolve(name, path.dirname(ampoule.call.path));
    if (file === undefined) {
      throw coded(Error, "ERR_MODULE_NOT_FOUND", `Cannot find package '${name}' imported from ${ampoule.call.path}`);
    }
  } else if (!isFile(file)) {
    // TypeScript names the file that a compiler would make.
    const typed = file.replace(/\.(m?)js$/, ".$1ts");
    if (typed !== file && isFile(typed)) return esText(typed, name);
    // Or leaves out its ending.
    const plain = /\.[cm]?ts$/.test(ampoule.call.path) ? fileAt(file) : undefined;
    if (plain !== undefined) return esText(plain, name);
    if (ampoule.isFolder(file)) {
      throw coded(Error, "ERR_UNSUPPORTED_DIR_IMPORT", `Directory import '${file}' is not supported resolving ES modules imported from ${ampoule.call.path}`);
    }
    throw coded(Error, "ERR_MODULE_NOT_FOUND", `Cannot find module '${file}' imported from ${ampoule.call.path}`);
  }
  return esText(file, name);
}

function esText(file, name) {
  const text = readText(file);
  const extension = endingOf(file);
  if (extension === ".json") return `export default JSON.parse(${JSON.stringify(JSON.stringify(parseJson(text, file)))});`;
  if (extension === ".cjs" || extension === ".cts" || (extension !== ".mjs" && extension !== ".mts" && isCommon(text, file))) {
    return bridged(file);
  }
  ampoule.keepSource(name, text, false);
  return text;
}

function isCommon(text, file) {
  if (packageType(file) === "module") return false;
  try {
    compileCommon(text, file);
    // What is neither is better an ES module: it was imported.
    return /\b(module|exports|require)\b/.test(text);
  } catch {
    return false;
  }
}

// An ES module with what a CommonJS module exports.
function bridged(file) {
  const exports = loadFile(file, undefined);
  const names = typeof exports === "object" && exports !== null || typeof exports === "function"
    ? Object.keys(exports).filter((name) => /^[A-Za-z_$][\w$]*$/.test(name) && name !== "default") : [];
  handed.set(file, exports);
  return [
    `import { take } from "ampoule:handed";`,
    `const exported = take(${JSON.stringify(file)});`,
    "export default exported;",
    ...names.map((name, i) => `const export_${i} = exported.${name};\nexport { export_${i} as ${name} };`),
  ].join("\n");
}

const handed = new Map();

// Makes a module of the engine out of an object, so that no import of it needs to look for a file.
function provide(name, object) {
  ampoule.provided = object;
  const names = Object.keys(object).filter((key) => /^[A-Za-z_$][\w$]*$/.test(key) && key !== "default");
  const text = [
    "const provided = globalThis.ampoule.provided;",
    "export default provided;",
    ...names.map((key, i) => `const export_${i} = provided.${key};\nexport { export_${i} as ${key} };`),
  ].join("\n");
  native.runModule(native.compileModule(text, name));
}

// The objects of a CommonJS module that does nothing.
function rehearse(file) {
  const module = new Module(file, null);
  const text = "console.log(1)";
  ampoule.keepSource(file, text, true);
  const run = compileCommon(text, file);
  return { module, run, require: requireFor(module), made: { args: [], env: {}, path: file } };
}

let mainModule;

// Runs the call's script; what an ES module's promise comes to is looked at when nothing else is left.
function runMain(text, file) {
  mainModule = new Module(file, null);
  mainModule.id = ".";
  cache[file] = mainModule;
  const kind = kindOf(text, file);
  if (kind.run !== undefined) {
    ampoule.process.mainModule = mainModule;
    callCommon(mainModule, kind.run);
    mainModule.loaded = true;
    return undefined;
  }
  return native.runModule(kind.module);
}

modules.module = Object.assign(Module, {
  Module,
  createRequire: (from) => requireFor(new Module(from instanceof URL || String(from).startsWith("file:") ? modules.url.fileURLToPath(from) : from, undefined)),
  builtinModules: [],
  isBuiltin: (name) => builtIn(name) !== undefined,
  _cache: cache,
  _resolveFilename: (name, parent) => resolve(name, parent?.path ?? ampoule.call.cwd),
});
modules.module.builtinModules = Object.keys(modules);

for (const [name, object] of Object.entries(modules)) {
  provide(name, object);
  provide(`node:${name}`, object);
}
provide("ampoule:handed", { take: (file) => handed.get(file) });
delete ampoule.provided;

Object.assign(ampoule, { runMain, importText, describe, builtIn, rehearse });
