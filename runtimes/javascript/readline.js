// `node:readline`: lines of an input.

const { ampoule } = globalThis;
const { modules, aborted, coded } = ampoule;
const EventEmitter = modules.events;

class Interface extends EventEmitter {
  #rest = "";
  #questions = [];
  #lines = [];
  #decoder = new modules.string_decoder.StringDecoder("utf8");

  constructor(input, output) {
    super();
    const options = input?.input || input?.output ? input : { input, output };
    this.input = options.input;
    this.output = options.output;
    this.terminal = false;
    this.line = "";
    this.cursor = 0;
    this.closed = false;
    this.#prompt = options.prompt ?? "> ";
    this.#hear();
    options.signal?.addEventListener("abort", () => this.close());
  }

  #prompt;

  #hear() {
    this.input.on("data", (chunk) => this.#take(typeof chunk === "string" ? chunk : this.#decoder.write(chunk)));
    this.input.on("end", () => {
      const last = this.#rest + this.#decoder.end();
      this.#rest = "";
      // As in Node, what no line break ends is no answer to a question.
      if (last !== "") this.#questions.length > 0 ? this.emit("line", last) : this.#say(last);
      this.close();
    });
    this.input.on("error", (error) => this.emit("error", error));
    this.input.resume();
  }

  #take(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)|\u2028|\u2029/);
    this.#rest = lines.pop();
    for (const line of lines) this.#say(line);
  }

  #say(line) {
    if (this.closed && this.#questions.length === 0 && this.listenerCount("line") === 0) return;
    if (this.#questions.length > 0) this.#questions.shift()(line);
    else if (this.#isPaused || (this.listenerCount("line") === 0 && this.#asks)) this.#lines.push(line);
    else this.emit("line", line);
  }

  #isPaused = false;
  #asks = false;

  question(query, options, answer) {
    if (typeof options === "function") answer = options;
    if (this.closed && this.#lines.length === 0) throw coded(Error, "ERR_USE_AFTER_CLOSE", "readline was closed");
    this.#asks = true;
    this.output?.write(query);
    if (this.#lines.length > 0) answer(this.#lines.shift());
    else this.#questions.push(answer);
  }

  setPrompt(prompt) {
    this.#prompt = prompt;
  }

  getPrompt() {
    return this.#prompt;
  }

  prompt() {
    this.#asks ||= this.listenerCount("line") === 0;
    this.output?.write(this.#prompt);
  }

  write() {}

  pause() {
    if (this.#isPaused) return this;
    this.#isPaused = true;
    this.input.pause();
    this.emit("pause");
    return this;
  }

  resume() {
    if (!this.#isPaused) return this;
    this.#isPaused = false;
    for (const line of this.#lines.splice(0)) this.emit("line", line);
    this.input.resume();
    this.emit("resume");
    return this;
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    this.input.pause();
    this.emit("close");
  }

  [Symbol.asyncIterator]() {
    const lines = [], waiting = [];
    let isDone = this.closed;
    this.on("line", (line) => waiting.length > 0 ? waiting.shift()({ value: line, done: false }) : lines.push(line));
    this.on("close", () => {
      isDone = true;
      for (const resolve of waiting.splice(0)) resolve({ value: undefined, done: true });
    });
    return {
      next: () => {
        if (lines.length > 0) return Promise.resolve({ value: lines.shift(), done: false });
        if (isDone) return Promise.resolve({ value: undefined, done: true });
        return new Promise((resolve) => waiting.push(resolve));
      },
      return: () => {
        this.close();
        return Promise.resolve({ value: undefined, done: true });
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
}

class AskingInterface extends Interface {
  question(query, options) {
    const { signal } = options ?? {};
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(aborted(signal));
      signal?.addEventListener("abort", () => reject(aborted(signal)));
      super.question(query, resolve);
    });
  }
}

const createInterface = (input, output) => new Interface(input, output);
const moved = (...args) => {
  const callback = args.findLast((argument) => typeof argument === "function");
  if (callback) ampoule.nextTick(callback);
  return true;
};
const promises = {
  createInterface: (input, output) => new AskingInterface(input, output),
  Interface: AskingInterface,
};
modules.readline = {
  createInterface, Interface, promises, clearLine: moved, clearScreenDown: moved, cursorTo: moved, moveCursor: moved,
  emitKeypressEvents() {},
};
modules["readline/promises"] = promises;
