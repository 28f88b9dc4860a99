/** Keeps the built-ins that the prelude needs, because later code may replace those of the context, and takes away what makes code of text. */
export const BUILT_INS = `
  const { stringify, parse } = JSON;
  const { defineProperty, ownKeys, apply, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { imul } = Math;
  const { create, keys, freeze } = Object;
  const { isArray } = Array;
  const { isView } = ArrayBuffer;
  const slice = String.prototype.slice;
  const text = String;
  const TypeProblem = TypeError;
  const Problem = Error;
  const PromiseOfCall = Promise;
  const global = globalThis;

  const data = (value, enumerable) => {
    const attributes = create(null);
    attributes.value = value;
    attributes.writable = true;
    attributes.enumerable = enumerable;
    attributes.configurable = true;
    return attributes;
  };
  const give = (name, value) => defineProperty(global, name, data(value, false));

  // Code is checked as a whole before it runs: it must not make more code out of text.
  delete global.eval;
  const functions = [function () {}, async function () {}, function* () {}, async function* () {}];
  for (let index = 0; index < functions.length; index += 1) {
    const prototype = getPrototypeOf(functions[index]);
    const Refused = function Function() {
      throw new TypeProblem('Code cannot be made from text');
    };
    Refused.prototype = prototype;
    defineProperty(prototype, 'constructor', { value: Refused, writable: false, enumerable: false, configurable: false });
    if (index === 0) give('Function', Refused);
  }
  // A trace could otherwise be made of the functions of the prelude themselves.
  delete Problem.prepareStackTrace;
`;
