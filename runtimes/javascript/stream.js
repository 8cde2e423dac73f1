// `node:stream`: readable, writable and transform streams, as far as scripts use them. What flows is not held back by
// more than what `highWaterMark` says, but nothing is written in pieces.

const { ampoule } = globalThis;
const { modules, coded, nextTick } = ampoule;
const EventEmitter = modules.events;

class Stream extends EventEmitter {
  pipe(target, options) {
    return pipe(this, target, options);
  }
}

function pipe(source, target, options) {
  source.on("data", (chunk) => {
    if (target.write(chunk) === false && source.pause) {
      source.pause();
      target.once("drain", () => source.resume());
    }
  });
  const isStandard = target === globalThis.process?.stdout || target === globalThis.process?.stderr;
  if (options?.end !== false && !isStandard) source.on("end", () => target.end());
  target.emit("pipe", source);
  return target;
}

class Readable extends Stream {
  constructor(options = {}) {
    super();
    startReadable(this, options);
  }

  get readable() {
    return !this.destroyed && !this._readableState.endEmitted;
  }

  get readableEnded() {
    return this._readableState.endEmitted;
  }

  get readableFlowing() {
    return this._readableState.flowing;
  }

  get readableLength() {
    return this._readableState.buffer.reduce((sum, chunk) => sum + (this._readableState.objectMode ? 1 : chunk.length), 0);
  }

  get readableEncoding() {
    return this._readableState.encoding;
  }

  get readableObjectMode() {
    return this._readableState.objectMode;
  }

  _read() {
    throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _read() method is not implemented");
  }

  setEncoding(encoding) {
    this._readableState.encoding = encoding ?? "utf8";
    this._readableState.decoder = new modules.string_decoder.StringDecoder(this._readableState.encoding);
    this._readableState.buffer = this._readableState.buffer.map((chunk) => decoded(this, chunk)).filter((chunk) => chunk !== "");
    return this;
  }

  push(chunk, encoding) {
    const state = this._readableState;
    state.reading = false;
    if (chunk === null) {
      const rest = state.decoder?.end();
      if (rest) state.buffer.push(rest);
      state.ended = true;
      arrived(this);
      return false;
    }
    if (!state.objectMode) {
      if (typeof chunk === "string" && !state.encoding) chunk = modules.buffer.Buffer.from(chunk, encoding);
      else if (typeof chunk !== "string" && !(chunk instanceof Uint8Array)) {
        this.destroy(ampoule.wrongType("chunk", "of type string or an instance of Buffer or Uint8Array", chunk));
        return false;
      }
      chunk = decoded(this, chunk);
      if (chunk.length === 0) {
        wantMore(this);
        return true;
      }
    }
    state.buffer.push(chunk);
    arrived(this);
    return this.readableLength < state.highWaterMark;
  }

  unshift(chunk) {
    this._readableState.buffer.unshift(chunk);
    arrived(this);
  }

  read(size) {
    const state = this._readableState;
    if (state.buffer.length === 0) {
      if (state.ended) ending(this);
      else wantMore(this);
      return null;
    }
    let chunk;
    if (state.objectMode) {
      chunk = state.buffer.shift();
    } else if (size === undefined || size >= this.readableLength) {
      if (size > this.readableLength && !state.ended) {
        wantMore(this);
        return null;
      }
      chunk = typeof state.buffer[0] === "string" ? state.buffer.join("") : modules.buffer.Buffer.concat(state.buffer);
      state.buffer = [];
    } else {
      const all = typeof state.buffer[0] === "string" ? state.buffer.join("") : modules.buffer.Buffer.concat(state.buffer);
      chunk = all.slice(0, size);
      state.buffer = [all.slice(size)];
    }
    if (state.buffer.length === 0) {
      if (state.ended) ending(this);
      else wantMore(this);
    }
    if (state.flowing !== true) this.emit("data", chunk);
    return chunk;
  }

  on(name, listener) {
    super.on(name, listener);
    if (name === "data") {
      if (this._readableState.flowing !== false) this.resume();
    } else if (name === "readable") {
      this._readableState.flowing = false;
      nextTick(() => this._readableState.buffer.length > 0 || this._readableState.ended ? announce(this) : wantMore(this));
    }
    return this;
  }

  resume() {
    this._readableState.flowing = true;
    nextTick(flow, this);
    return this;
  }

  pause() {
    this._readableState.flowing = false;
    return this;
  }

  isPaused() {
    return this._readableState.flowing === false;
  }

  unpipe() {
    this.removeAllListeners("data");
    return this;
  }

  destroy(error) {
    return destroy(this, error);
  }

  async *[Symbol.asyncIterator]() {
    const waiting = [];
    let failure;
    const wake = () => waiting.splice(0).forEach((resolve) => resolve());
    const fail = (error) => {
      failure = error;
      wake();
    };
    this.on("error", fail).on("end", wake).on("close", wake).on("readable", wake);
    try {
      while (true) {
        if (failure !== undefined) throw failure;
        const state = this._readableState;
        if (state.buffer.length > 0) {
          yield state.objectMode || state.buffer.length === 1 ? takeFirst(this) : this.read();
          continue;
        }
        if (state.ended || this.destroyed) {
          ending(this);
          return;
        }
        wantMore(this);
        if (state.buffer.length === 0 && !state.ended) await new Promise((resolve) => waiting.push(resolve));
      }
    } finally {
      this.destroy();
    }
  }

  async toArray() {
    const all = [];
    for await (const chunk of this) all.push(chunk);
    return all;
  }

  map(change) {
    return Readable.from(mapped(this, change));
  }

  filter(test) {
    return Readable.from(filtered(this, test));
  }

  async forEach(callback) {
    for await (const chunk of this) await callback(chunk);
  }

  static from(iterable, options) {
    if (typeof iterable === "string" || iterable instanceof Uint8Array) iterable = [iterable];
    const iterator = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]();
    let isReading = false;
    return new Readable({
      objectMode: true,
      highWaterMark: 1,
      ...options,
      async read() {
        if (isReading) return;
        isReading = true;
        try {
          const { value, done } = await iterator.next();
          isReading = false;
          this.push(done ? null : await value);
        } catch (error) {
          this.destroy(error);
        }
      },
    });
  }
}

async function* mapped(stream, change) {
  for await (const chunk of stream) yield await change(chunk);
}

async function* filtered(stream, test) {
  for await (const chunk of stream) if (await test(chunk)) yield chunk;
}

function startReadable(stream, options) {
  stream._readableState = {
    buffer: [], flowing: null, ended: false, endEmitted: false, reading: false,
    objectMode: Boolean(options.objectMode ?? options.readableObjectMode),
    highWaterMark: options.highWaterMark ?? (options.objectMode ? 16 : 65536),
    encoding: null, decoder: null,
  };
  stream.destroyed = false;
  if (typeof options.read === "function") stream._read = options.read;
  if (typeof options.destroy === "function") stream._destroy = options.destroy;
  if (options.encoding) stream.setEncoding(options.encoding);
}

function decoded(stream, chunk) {
  const { decoder } = stream._readableState;
  return decoder && typeof chunk !== "string" ? decoder.write(chunk) : chunk;
}

function takeFirst(stream) {
  return stream._readableState.buffer.shift();
}

function wantMore(stream) {
  const state = stream._readableState;
  if (state.reading || state.ended || stream.destroyed || stream.readableLength >= state.highWaterMark) return;
  state.reading = true;
  try {
    stream._read(state.highWaterMark);
  } catch (error) {
    stream.destroy(error);
  }
}

function arrived(stream) {
  if (stream._readableState.flowing) nextTick(flow, stream);
  else if (stream.listenerCount("readable") > 0) nextTick(announce, stream);
}

function announce(stream) {
  if (stream.destroyed) return;
  if (stream._readableState.buffer.length > 0 || stream._readableState.ended) stream.emit("readable");
  if (stream._readableState.ended && stream._readableState.buffer.length === 0) ending(stream);
}

function flow(stream) {
  const state = stream._readableState;
  while (state.flowing && !stream.destroyed && state.buffer.length > 0) stream.emit("data", state.buffer.shift());
  if (!state.flowing || stream.destroyed) return;
  if (state.ended) ending(stream);
  else wantMore(stream);
}

function ending(stream) {
  const state = stream._readableState;
  if (state.endEmitted || state.buffer.length > 0 || state.ending) return;
  state.ending = true;
  nextTick(() => {
    if (state.endEmitted || stream.destroyed) return;
    state.endEmitted = true;
    stream.emit("end");
    if (!stream._writableState || stream._writableState.finished) destroy(stream);
  });
}

function destroy(stream, error) {
  if (stream.destroyed) return stream;
  stream.destroyed = true;
  const finish = (failure) => nextTick(() => {
    if (failure) stream.emit("error", failure);
    stream.closed = true;
    stream.emit("close");
  });
  if (typeof stream._destroy === "function") stream._destroy(error ?? null, (failure) => finish(failure ?? error));
  else finish(error);
  return stream;
}

class Writable extends Stream {
  constructor(options = {}) {
    super();
    startWritable(this, options);
  }

  destroy(error) {
    return destroy(this, error);
  }
}

function startWritable(stream, options) {
  stream._writableState = {
    queue: [], writing: false, ended: false, finished: false, length: 0, needDrain: false, corked: 0,
    objectMode: Boolean(options.objectMode ?? options.writableObjectMode),
    highWaterMark: options.highWaterMark ?? (options.objectMode ? 16 : 16384),
    decodeStrings: options.decodeStrings !== false, defaultEncoding: "utf8",
  };
  stream.destroyed = false;
  if (typeof options.write === "function") stream._write = options.write;
  if (typeof options.final === "function") stream._final = options.final;
  if (typeof options.destroy === "function") stream._destroy = options.destroy;
}

const writing = {
  write(chunk, encoding, callback) {
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    const state = this._writableState;
    if (state.ended) {
      const error = coded(Error, "ERR_STREAM_WRITE_AFTER_END", "write after end");
      nextTick(() => callback?.(error));
      this.destroy(error);
      return false;
    }
    if (chunk === null) throw coded(TypeError, "ERR_STREAM_NULL_VALUES", "May not write null values to stream");
    if (!state.objectMode) {
      if (typeof chunk === "string") {
        if (state.decodeStrings) {
          chunk = modules.buffer.Buffer.from(chunk, encoding);
          encoding = "buffer";
        }
      } else if (!(chunk instanceof Uint8Array)) {
        throw ampoule.wrongType("chunk", "of type string or an instance of Buffer, TypedArray, or DataView", chunk);
      }
    }
    const size = state.objectMode ? 1 : chunk.length;
    state.length += size;
    state.queue.push({ chunk, encoding: encoding ?? state.defaultEncoding, callback, size });
    work(this);
    const isRoom = state.length < state.highWaterMark;
    if (!isRoom) state.needDrain = true;
    return isRoom;
  },

  end(chunk, encoding, callback) {
    if (typeof chunk === "function") [chunk, callback] = [undefined, chunk];
    if (typeof encoding === "function") [encoding, callback] = [undefined, encoding];
    if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
    const state = this._writableState;
    if (callback) state.finished ? nextTick(callback) : this.once("finish", callback);
    if (state.ended) return this;
    state.ended = true;
    work(this);
    return this;
  },

  cork() {},
  uncork() {},

  setDefaultEncoding(encoding) {
    this._writableState.defaultEncoding = encoding;
    return this;
  },
};

const writingProperties = {
  writable() {
    return !this.destroyed && !this._writableState.ended;
  },
  writableEnded() {
    return this._writableState.ended;
  },
  writableFinished() {
    return this._writableState.finished;
  },
  writableLength() {
    return this._writableState.length;
  },
  writableHighWaterMark() {
    return this._writableState.highWaterMark;
  },
  writableNeedDrain() {
    return this._writableState.needDrain;
  },
};

function makeWritable(prototype) {
  ampoule.hidden(prototype, writing);
  for (const [name, get] of Object.entries(writingProperties)) {
    Object.defineProperty(prototype, name, { get, configurable: true });
  }
}

function work(stream) {
  const state = stream._writableState;
  if (state.writing || stream.destroyed) return;
  const next = state.queue.shift();
  if (next === undefined) {
    if (state.ended && !state.finishing) finish(stream);
    return;
  }
  state.writing = true;
  let isSync = true;
  const written = (error) => {
    state.writing = false;
    state.length -= next.size;
    const after = () => {
      next.callback?.(error);
      if (error) return stream.destroy(error);
      if (state.needDrain && state.length === 0 && !state.ended) {
        state.needDrain = false;
        stream.emit("drain");
      }
    };
    if (isSync) nextTick(after);
    else after();
    if (!error) isSync ? nextTick(work, stream) : work(stream);
  };
  try {
    stream._write(next.chunk, next.encoding, written);
  } catch (error) {
    written(error);
  }
  isSync = false;
}

function finish(stream) {
  const state = stream._writableState;
  state.finishing = true;
  const finished = (error) => nextTick(() => {
    if (error) return stream.destroy(error);
    if (state.finished) return;
    state.finished = true;
    stream.emit("finish");
    if (!stream._readableState || stream._readableState.endEmitted) destroy(stream);
  });
  if (typeof stream._final === "function") stream._final(finished);
  else finished();
}

makeWritable(Writable.prototype);
ampoule.hidden(Writable.prototype, {
  _write() {
    throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _write() method is not implemented");
  },
});

class Duplex extends Readable {
  constructor(options = {}) {
    super(options);
    startWritable(this, options);
  }
}
makeWritable(Duplex.prototype);

class Transform extends Duplex {
  constructor(options = {}) {
    super(options);
    if (typeof options.transform === "function") this._transform = options.transform;
    if (typeof options.flush === "function") this._flush = options.flush;
  }

  _read() {
    this._readableState.reading = false;
  }

  _write(chunk, encoding, callback) {
    this._transform(chunk, encoding, (error, changed) => {
      if (error) return callback(error);
      if (changed !== null && changed !== undefined) this.push(changed);
      callback();
    });
  }

  _transform() {
    throw coded(Error, "ERR_METHOD_NOT_IMPLEMENTED", "The _transform() method is not implemented");
  }

  _final(callback) {
    const done = (error, last) => {
      if (error) return callback(error);
      if (last !== null && last !== undefined) this.push(last);
      this.push(null);
      callback();
    };
    if (typeof this._flush === "function") this._flush(done);
    else done();
  }
}

class PassThrough extends Transform {
  _transform(chunk, encoding, callback) {
    callback(null, chunk);
  }
}

function finished(stream, options, callback) {
  if (typeof options === "function") callback = options;
  let isDone = false;
  const done = (error) => {
    if (isDone) return;
    isDone = true;
    callback.call(stream, error);
  };
  stream.on("error", done);
  if (stream._writableState) stream.on("finish", () => stream._readableState && !stream.readableEnded ? undefined : done());
  if (stream._readableState) stream.on("end", () => stream._writableState && !stream.writableFinished ? undefined : done());
  stream.on("close", () => done());
  return () => void (isDone = true);
}

function pipeline(...streams) {
  const callback = typeof streams.at(-1) === "function" && streams.length > 2 ? streams.pop() : undefined;
  if (Array.isArray(streams[0])) streams = streams[0];
  let isDone = false;
  const done = (error) => {
    if (isDone) return;
    isDone = true;
    if (error) for (const stream of streams) stream.destroy?.(error);
    callback?.(error);
  };
  let current = toStream(streams[0]);
  streams[0] = current;
  for (let i = 1; i < streams.length; i++) {
    if (typeof streams[i] === "function") {
      const result = streams[i](current);
      if (i === streams.length - 1 && typeof result?.then === "function") {
        result.then(() => done(), done);
        return current;
      }
      streams[i] = Readable.from(result);
      current = streams[i];
      continue;
    }
    current.on("error", done);
    current = pipe(current, streams[i]);
  }
  const isStandard = current === globalThis.process?.stdout || current === globalThis.process?.stderr;
  if (isStandard) streams.at(-2).on("end", () => done());
  else finished(current, done);
  return current;
}

function toStream(source) {
  if (typeof source === "function") source = source();
  return source?.pipe ? source : Readable.from(source);
}

const promises = {
  pipeline: (...streams) => new Promise((resolve, reject) => {
    pipeline(...streams, (error) => error ? reject(error) : resolve());
  }),
  finished: (stream) => new Promise((resolve, reject) => {
    finished(stream, (error) => error ? reject(error) : resolve());
  }),
};

modules.stream = Object.assign(Stream, {
  Stream, Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished, promises,
});
modules["stream/promises"] = promises;
const consume = async (stream) => {
  const all = [];
  for await (const chunk of stream) all.push(typeof chunk === "string" ? modules.buffer.Buffer.from(chunk) : chunk);
  return modules.buffer.Buffer.concat(all);
};
modules["stream/consumers"] = {
  buffer: consume,
  text: async (stream) => (await consume(stream)).toString(),
  json: async (stream) => JSON.parse((await consume(stream)).toString()),
  arrayBuffer: async (stream) => (await consume(stream)).buffer,
};
