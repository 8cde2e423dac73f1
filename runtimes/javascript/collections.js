// Maps, sets and weak references, where the engine shows less than Node.
//
// What an iterator of a map or set goes through. The engine has no way to look into one, so its makers note where it
// comes from; one that was taken further shows what it had at first. `for (... of map)` does not pass here.

const { ampoule } = globalThis;

const sources = new WeakMap();
const pairIterators = new WeakSet();

for (const { prototype } of [Map, Set]) {
  for (const name of ["keys", "values", "entries"]) {
    const make = prototype[name];
    const noting = {
      [name]() {
        const iterator = make.call(this);
        sources.set(iterator, { make, of: this });
        if (name === "entries") pairIterators.add(iterator);
        return iterator;
      },
    }[name];
    Object.defineProperty(prototype, name, { value: noting, writable: true, configurable: true, enumerable: false });
  }
}
Object.defineProperty(Set.prototype, "keys", { value: Set.prototype.values });

function itemsLeft(iterator) {
  const source = sources.get(iterator);
  return source === undefined ? [] : Array.from(source.make.call(source.of));
}

// What a WeakRef was made for is there until the script's turn is over, though nothing else holds it: the engine counts
// references and would let it go at once.
const kept = [];
const NativeRef = WeakRef;

class KeepingRef extends NativeRef {
  constructor(target) {
    super(target);
    kept.push(target);
  }
}
Object.defineProperty(KeepingRef, "name", { value: "WeakRef" });
ampoule.hidden(globalThis, { WeakRef: KeepingRef });

Object.assign(ampoule, { kept, pairIterators, itemsLeft });
