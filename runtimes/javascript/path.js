// `node:path`, for POSIX and for Windows.

const { ampoule } = globalThis;
const { modules, requireString } = ampoule;

function normalParts(path, separators, isAbsolute) {
  const parts = [];
  for (const part of path.split(separators)) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (!isAbsolute) parts.push("..");
  }
  return parts;
}

const posix = {
  sep: "/",
  delimiter: ":",

  resolve(...paths) {
    let resolved = "";
    for (let i = paths.length - 1; i >= -1 && !resolved.startsWith("/"); i--) {
      const path = i >= 0 ? paths[i] : ampoule.cwd();
      requireString(path, i >= 0 ? `paths[${i}]` : "path");
      if (path !== "") resolved = resolved === "" ? path : `${path}/${resolved}`;
    }
    return `/${normalParts(resolved, "/", true).join("/")}`;
  },

  normalize(path) {
    requireString(path, "path");
    if (path === "") return ".";
    const isAbsolute = path.startsWith("/");
    let normal = normalParts(path, "/", isAbsolute).join("/");
    if (normal === "") return isAbsolute ? "/" : path.endsWith("/") ? "./" : ".";
    if (path.endsWith("/")) normal += "/";
    return isAbsolute ? `/${normal}` : normal;
  },

  isAbsolute(path) {
    requireString(path, "path");
    return path.startsWith("/");
  },

  join(...paths) {
    for (const path of paths) requireString(path, "path");
    const joined = paths.filter((path) => path !== "").join("/");
    return joined === "" ? "." : posix.normalize(joined);
  },

  relative(from, to) {
    requireString(from, "from");
    requireString(to, "to");
    from = posix.resolve(from);
    to = posix.resolve(to);
    if (from === to) return "";
    const [a, b] = [from, to].map((path) => path.split("/").filter((part) => part !== ""));
    let same = 0;
    while (same < a.length && same < b.length && a[same] === b[same]) same++;
    return [...a.slice(same).map(() => ".."), ...b.slice(same)].join("/");
  },

  toNamespacedPath: (path) => path,

  dirname(path) {
    requireString(path, "path");
    if (path === "") return ".";
    const trimmed = path.replace(/\/+$/, "");
    if (trimmed === "") return "/";
    const at = trimmed.lastIndexOf("/");
    if (at === -1) return ".";
    const parent = trimmed.slice(0, at).replace(/\/+$/, "");
    return parent === "" ? (trimmed.startsWith("//") && at === 1 ? "//" : "/") : parent;
  },

  basename(path, suffix) {
    requireString(path, "path");
    if (suffix !== undefined) requireString(suffix, "suffix");
    const base = path.replace(/\/+$/, "").split("/").at(-1);
    return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
  },

  extname(path) {
    requireString(path, "path");
    const base = posix.basename(path);
    const at = base.lastIndexOf(".");
    return at <= 0 || base === ".." ? "" : base.slice(at);
  },

  format: (object) => formatted("/", object),

  parse(path) {
    requireString(path, "path");
    const root = path.startsWith("/") ? "/" : "";
    const base = posix.basename(path);
    const ext = posix.extname(path);
    let dir = posix.dirname(path);
    if (dir === "." && !/^\.\/+[^/]/.test(path)) dir = "";
    return { root, dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
  },
};

function formatted(separator, object) {
  if (object === null || typeof object !== "object") throw ampoule.wrongType("pathObject", "of type object", object);
  const dir = object.dir || object.root;
  const ext = object.ext ? `${object.ext.startsWith(".") ? "" : "."}${object.ext}` : "";
  const base = object.base || `${object.name || ""}${ext}`;
  if (!dir) return base;
  return dir === object.root ? `${dir}${base}` : `${dir}${separator}${base}`;
}

// The root of a Windows path: a drive or a share, and whether the path starts at its top.
function windowsRoot(path) {
  const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/.exec(path);
  if (share) return { device: `\\\\${share[1]}\\${share[2]}`, length: share[0].length, isAbsolute: true };
  const drive = /^[a-zA-Z]:/.exec(path)?.[0] ?? "";
  return { device: drive, length: drive.length, isAbsolute: /^[\\/]/.test(path.slice(drive.length)) };
}

const win32 = {
  sep: "\\",
  delimiter: ";",

  resolve(...paths) {
    let device = "", tail = "", isAbsolute = false;
    for (let i = paths.length - 1; i >= -1 && !(isAbsolute && device !== ""); i--) {
      const path = i >= 0 ? paths[i] : ampoule.cwd();
      requireString(path, `paths[${i}]`);
      if (path === "") continue;
      const root = windowsRoot(path);
      if (root.device !== "") {
        if (device !== "" && root.device.toLowerCase() !== device.toLowerCase()) continue;
        if (device === "") device = root.device;
      }
      if (!isAbsolute) {
        tail = `${path.slice(root.length)}\\${tail}`;
        isAbsolute = root.isAbsolute;
      }
    }
    return `${device}${isAbsolute ? "\\" : ""}${normalParts(tail, /[\\/]/, isAbsolute).join("\\")}` || ".";
  },

  normalize(path) {
    requireString(path, "path");
    if (path === "") return ".";
    const root = windowsRoot(path);
    let tail = normalParts(path.slice(root.length), /[\\/]/, root.isAbsolute).join("\\");
    if (tail === "" && !root.isAbsolute) tail = ".";
    if (tail !== "" && /[\\/]$/.test(path)) tail += "\\";
    return `${root.device}${root.isAbsolute ? "\\" : ""}${tail}`;
  },

  isAbsolute(path) {
    requireString(path, "path");
    return windowsRoot(path).isAbsolute;
  },

  join(...paths) {
    for (const path of paths) requireString(path, "path");
    const joined = paths.filter((path) => path !== "").join("\\");
    return joined === "" ? "." : win32.normalize(joined);
  },

  relative(from, to) {
    from = win32.resolve(from);
    to = win32.resolve(to);
    const [a, b] = [from, to].map((path) => path.split("\\").filter((part) => part !== ""));
    let same = 0;
    while (same < a.length && same < b.length && a[same].toLowerCase() === b[same].toLowerCase()) same++;
    return same === 0 && a.length > 0 && b.length > 0 ? to : [...a.slice(same).map(() => ".."), ...b.slice(same)].join("\\");
  },

  toNamespacedPath: (path) => path,

  dirname(path) {
    requireString(path, "path");
    if (path === "") return ".";
    const root = windowsRoot(path);
    const top = path.slice(0, root.length) + (root.isAbsolute ? /^[\\/]?/.exec(path.slice(root.length))[0] : "");
    const tail = path.slice(top.length).replace(/[\\/]+$/, "");
    const at = Math.max(tail.lastIndexOf("\\"), tail.lastIndexOf("/"));
    return at === -1 ? top || "." : top + tail.slice(0, at);
  },

  basename(path, suffix) {
    requireString(path, "path");
    const base = path.slice(/^[a-zA-Z]:/.test(path) ? 2 : 0).replace(/[\\/]+$/, "").split(/[\\/]/).at(-1);
    return suffix && base !== suffix && base.endsWith(suffix) ? base.slice(0, -suffix.length) : base;
  },

  extname(path) {
    const base = win32.basename(path);
    const at = base.lastIndexOf(".");
    return at <= 0 || base === ".." ? "" : base.slice(at);
  },

  format: (object) => formatted("\\", object),

  parse(path) {
    requireString(path, "path");
    const found = windowsRoot(path);
    const root = path.slice(0, found.length) + (found.isAbsolute ? path[found.length] ?? "" : "");
    const base = win32.basename(path);
    const ext = win32.extname(path);
    const dir = win32.dirname(path);
    return { root, dir: dir === "." ? "" : dir, base, ext, name: ext === "" ? base : base.slice(0, -ext.length) };
  },
};

for (const kind of [posix, win32]) Object.assign(kind, { posix, win32 });
modules.path = posix;
modules["path/posix"] = posix;
modules["path/win32"] = win32;
