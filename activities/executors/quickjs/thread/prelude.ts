/**
 * The code that is run in a new context before any other: it gives the context its functions, takes from it the ways to make code
 * of text, and returns the functions that the thread calls. Its argument are two functions of the thread, which the code of the
 * model cannot reach. It keeps the built-ins that it needs, because later code may replace those of the context.
 */
export const PRELUDE = `((write, answer, maxAnswerLength, maxNamespaceLength) => {
  'use strict';
  const { stringify, parse } = JSON;
  const { defineProperty, ownKeys, apply, getPrototypeOf, getOwnPropertyDescriptor } = Reflect;
  const { imul } = Math;
  const { create } = Object;
  const slice = String.prototype.slice;
  const text = String;
  const TypeProblem = TypeError;
  const Problem = Error;
  const global = globalThis;

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
    if (index === 0) defineProperty(global, 'Function', { value: Refused, writable: true, enumerable: false, configurable: true });
  }

  const show = (value) => {
    if (typeof value === 'string') return value;
    if (typeof value === 'object' && value !== null) {
      const described = value instanceof Problem ? describe(value) : undefined;
      if (described !== undefined) return described.name === '' ? described.message : described.name + ': ' + described.message;
      try {
        const json = stringify(value);
        if (typeof json === 'string') return json;
      } catch {}
    }
    try {
      return text(value);
    } catch {
      return '[a value without text]';
    }
  };
  const short = (value) => (value.length > 2000 ? apply(slice, value, [0, 2000]) + '…' : value);
  const describe = (thrown) => {
    const described = create(null);
    described.name = '';
    described.message = 'a value without text';
    try {
      if (thrown instanceof Problem) {
        const { name, message } = thrown;
        if (typeof name === 'string') described.name = short(name);
        described.message = typeof message === 'string' ? short(message) : '';
      } else described.message = short(show(thrown));
    } catch {}
    return described;
  };

  let room = 0;
  const print = (...values) => {
    let line = '';
    for (let index = 0; index < values.length; index += 1) {
      if (line.length > room) break;
      line += (index === 0 ? '' : ' ') + show(values[index]);
    }
    line += '\\n';
    if (room <= 0) return;
    const part = line.length > room ? apply(slice, line, [0, room]) : line;
    room -= part.length;
    write(part);
  };
  const final_answer = (value) => {
    const json = value === undefined ? 'null' : stringify(value);
    if (typeof json !== 'string') throw new TypeProblem('final_answer takes a value that JSON can write');
    if (json.length > maxAnswerLength) throw new TypeProblem('final_answer takes at most ' + maxAnswerLength + ' characters of JSON');
    const problem = answer(json);
    if (problem !== '') throw new TypeProblem('final_answer: ' + problem);
    return value;
  };
  const console = { log: print, info: print, debug: print, warn: print, error: print };
  const give = (name, value) => defineProperty(global, name, { value, writable: true, enumerable: false, configurable: true });
  give('print', print);
  give('console', console);
  give('final_answer', final_answer);

  let state = 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };

  const provided = create(null);
  const first = ownKeys(global);
  for (let index = 0; index < first.length; index += 1) provided[first[index]] = true;
  const declared = (name) => {
    delete provided[name];
  };

  let current;
  const commit = (names) => {
    const keys = ownKeys(names);
    for (let index = 0; index < keys.length; index += 1) {
      const { get, set } = getOwnPropertyDescriptor(names, keys[index]);
      const attributes = create(null);
      attributes.get = get;
      attributes.set = set;
      attributes.enumerable = true;
      attributes.configurable = true;
      if (defineProperty(global, keys[index], attributes)) declared(keys[index]);
    }
  };
  const settle = async (run, cell) => {
    try {
      await cell((names) => {
        if (run === current) commit(names);
      });
      run.state = 'done';
    } catch (thrown) {
      const { name, message } = describe(thrown);
      run.name = name;
      run.message = message;
      run.state = 'failed';
    }
  };

  const api = create(null);
  api.begin = (seed, outputLength) => {
    state = seed | 0;
    room = outputLength;
    current = create(null);
    current.state = 'pending';
  };
  api.start = (cell) => {
    settle(current, cell);
  };
  api.outcome = () => stringify(current);
  api.inject = (name, json) => {
    const attributes = { value: parse(json), writable: true, enumerable: true, configurable: true };
    if (!defineProperty(global, name, attributes)) throw new TypeProblem('"' + name + '" cannot be injected: the code has made it a constant');
    declared(name);
  };
  api.namespace = () => {
    const entries = create(null);
    const keys = ownKeys(global);
    let left = maxNamespaceLength;
    for (let index = 0; index < keys.length && left > 0; index += 1) {
      const name = keys[index];
      if (typeof name !== 'string' || provided[name] === true) continue;
      const entry = create(null);
      entry.type = 'undefined';
      left -= name.length + 30;
      try {
        const value = global[name];
        entry.type = typeof value;
        const isNumber = entry.type === 'number';
        const json = isNumber && value - value !== 0 ? undefined : stringify(value);
        if (typeof json === 'string' && json.length <= left) {
          entry.json = json;
          left -= json.length;
        }
      } catch {}
      entries[name] = entry;
    }
    return stringify(entries);
  };
  return api;
})`;
