// Standard output and error. What a script prints is handed on at once, so that nothing is lost when it is stopped.

const { ampoule } = globalThis;
const { std, os } = ampoule;

const FILES = { 1: std.out, 2: std.err };

function write(descriptor, chunk) {
  const file = FILES[descriptor];
  if (typeof chunk === "string") {
    file.puts(chunk);
    file.flush();
    return;
  }
  const { buffer, byteOffset, byteLength } = chunk;
  for (let written = 0; written < byteLength;) {
    const more = os.write(descriptor, buffer, byteOffset + written, byteLength - written);
    // Nobody takes it any more.
    if (more <= 0) return;
    written += more;
  }
}

Object.assign(ampoule, { write });
