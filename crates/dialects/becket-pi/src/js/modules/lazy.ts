// Exports that cost next to nothing until they are used. `room` gives functions and classes of another module, `shelf`
// its plain objects: the module is loaded on the first touch of one of them, since every extension has an engine of
// its own, and most use three names out of hundreds. `later` gives what becket does not serve yet: it can be imported
// and extended, and says so when it is used. All are meant for `export const { A, B } = …`, because the names of a
// module's exports must stand in its text.
declare const __becket: { load(name: string): any };

export const { load } = __becket;

/** What a stand-in knows: its name, its module, and the real thing once it has been touched. */
type Stand = { name: string; module: string; stand?: any; real?: any };

const real = (target: Stand): any => (target.real ??= load(target.module)[target.name]);

const lazily: ProxyHandler<any> = {
  apply: (target, self, args) => Reflect.apply(real(target), self, args),
  // `new Stand()` makes the real thing; `super()` of a class that extends it keeps that class.
  construct: (target, args, made) => Reflect.construct(real(target), args, made === target.stand ? real(target) : made),
  get: (target, key) => real(target)[key],
  set: (target, key, value) => Reflect.set(real(target), key, value),
  has: (target, key) => key in real(target),
  getPrototypeOf: (target) => Object.getPrototypeOf(real(target)),
};

/** A function that can be called, constructed and extended, and is called as it is written. */
const named = (name: string): any => ({ [name]: function () {} })[name];

/** All functions and classes of a module, by name. */
export function room(module: string): any {
  return new Proxy({}, {
    get(_, name: string) {
      const target: Stand = Object.assign(named(name), { module });
      return (target.stand = new Proxy(target, lazily));
    },
  });
}

const shelved: ProxyHandler<any> = {
  get: (target, key) => real(target)[key],
  set: (target, key, value) => Reflect.set(real(target), key, value),
  has: (target, key) => key in real(target),
  ownKeys: (target) => Reflect.ownKeys(real(target)),
  getOwnPropertyDescriptor(target, key) {
    const described = Object.getOwnPropertyDescriptor(real(target), key);
    return described && { ...described, configurable: true };
  },
  getPrototypeOf: (target) => Object.getPrototypeOf(real(target)),
};

/** All plain objects of a module, by name. */
export function shelf(module: string): any {
  return new Proxy({}, { get: (_, name) => new Proxy({ module, name }, shelved) });
}

function refuse(target: Stand): never {
  throw new Error(`not supported by becket yet: ${target.name}`);
}

const missing: ProxyHandler<any> = {
  apply: refuse,
  construct: refuse,
  // What hangs on it (`SessionManager.open`) is not there either.
  get: (target, key) =>
    key in target || typeof key === "symbol" || key === "then" ? target[key] : absent(`${target.name}.${key}`),
};

const absent = (name: string): any => new Proxy(named(name), missing);

/** What is not there yet, by name. */
export const later: any = new Proxy({}, { get: (_, name: string) => absent(name) });
