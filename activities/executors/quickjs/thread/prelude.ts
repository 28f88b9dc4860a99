import type { CodeTool } from '../../../../src/core/domain/execution.ts';

/** The settings of the prelude, passed as JSON. */
export interface PreludeSettings {
  /** `isName`: the name is a valid variable name. */
  tools: readonly (CodeTool & { isName: boolean })[];
  scratchpad: boolean;
  /** Calls of tools, and segments, that a cell may have. */
  calls: number;
  segments: number;
  /** Levels of lists and objects that a value may have. */
  depth: number;
  /** Characters of JSON: of a final answer, of the arguments of a call, of the calls that wait together, and so on. */
  answerLength: number;
  argumentsLength: number;
  batchLength: number;
  scratchpadLength: number;
  namespaceLength: number;
}

/**
 * Keeps the built-ins that the prelude needs, because later code may replace the context's, and removes everything that turns text into
 * code.
 */
const BUILT_INS = `
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

  // Code is checked as a whole before it runs, so it must not create more code from text.
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
  // Otherwise a stack trace could expose the functions of the prelude.
  delete Problem.prepareStackTrace;
`;

/** Gives the context `print`, `console` and `final_answer`. */
const PRINTING = `
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
    if (json.length > settings.answerLength) throw new TypeProblem('final_answer takes at most ' + settings.answerLength + ' characters of JSON');
    const problem = answer(json);
    if (problem !== '') throw new TypeProblem('final_answer: ' + problem);
    return value;
  };
  give('print', print);
  give('console', { log: print, info: print, debug: print, warn: print, error: print });
  give('final_answer', final_answer);

  let state = 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
`;

/**
 * Writes values as JSON for the host. JSON.stringify leaves out functions and promises, and writes numbers that JSON lacks as null: a tool
 * would be called with other arguments than the code meant. Here both are errors, as are cycles.
 */
const JSON_TEXT = `
  const jsonText = (value, what, limit, depth) => {
    let left = limit;
    const refuse = (path, problem) => {
      throw new TypeProblem(path + ' ' + problem);
    };
    const room = (length) => {
      left -= length;
      if (left < 0) refuse(what, 'has more than ' + limit + ' characters of JSON');
    };
    const sized = (part) => {
      room(part.length);
      return part;
    };
    const list = (value, path, depth) => {
      if (value.length > left) room(value.length);
      let json = sized('[');
      for (let index = 0; index < value.length; index += 1) {
        const member = value[index];
        if (index > 0) json += sized(',');
        json += member === undefined ? sized('null') : one(member, path + '[' + index + ']', depth + 1);
      }
      return json + sized(']');
    };
    const object = (value, path, depth) => {
      if (isView(value) && value.length > left) room(value.length);
      let json = sized('{');
      let separator = '';
      const names = keys(value);
      for (let index = 0; index < names.length; index += 1) {
        const member = value[names[index]];
        if (member === undefined) continue;
        room(names[index].length);
        json += separator + sized(stringify(names[index]) + ':') + one(member, path + '.' + short(names[index]), depth + 1);
        separator = sized(',');
      }
      return json + sized('}');
    };
    const one = (value, path, depth) => {
      switch (typeof value) {
        case 'string':
          if (value.length > left) room(value.length);
          return sized(stringify(value));
        case 'boolean':
          return sized(value ? 'true' : 'false');
        case 'number':
          return value - value === 0 ? sized(stringify(value)) : refuse(path, 'is ' + text(value) + ', which JSON has no number for');
        case 'object':
          break;
        default:
          refuse(path, 'is a ' + typeof value + ', which is not JSON');
      }
      if (value === null) return sized('null');
      if (depth >= settings.depth) refuse(short(path), 'is nested deeper than ' + settings.depth + ' levels, or contains itself');
      if (value instanceof PromiseOfCall) refuse(path, 'is a promise: await it first');
      const { toJSON } = value;
      if (typeof toJSON === 'function') return one(apply(toJSON, value, []), path, depth + 1);
      return isArray(value) ? list(value, path, depth) : object(value, path, depth);
    };
    return one(value, what, depth);
  };
`;

/** Gives the context the working memory of an agent, which is kept as JSON, and its signals, which are printed. */
const SCRATCHPAD = `
  const values = create(null);
  let observations = '';
  let failures = '';
  const scratchpadText = () => {
    let json = '';
    const names = keys(values);
    for (let index = 0; index < names.length; index += 1) json += (index === 0 ? '' : ',') + stringify(names[index]) + ':' + values[names[index]];
    return '{"values":{' + json + '},"observations":[' + observations + '],"failed":[' + failures + ']}';
  };
  const remember = (change) => {
    if (!isOpen) throw new Problem('The scratchpad can be changed only until the code ends');
    const undo = change();
    if (scratchpadText().length <= settings.scratchpadLength) return;
    undo();
    throw new Problem('The scratchpad has no room for this: it takes at most ' + settings.scratchpadLength + ' characters of JSON');
  };
  const listed = (list, value) => (list === '' ? '' : list + ',') + jsonText(show(value), 'The text', settings.scratchpadLength, 0);

  const store = (name, value) => {
    if (typeof name !== 'string') throw new TypeProblem('store takes a name, which is a text, and a value');
    const json = jsonText(value === undefined ? null : value, 'The value of "' + short(name) + '"', settings.scratchpadLength, 0);
    remember(() => {
      const before = values[name];
      values[name] = json;
      return () => {
        if (before === undefined) delete values[name];
        else values[name] = before;
      };
    });
  };
  const recall = (name, fallback = null) => (typeof name === 'string' && values[name] !== undefined ? parse(values[name]) : fallback);
  const observe = (value) => {
    const before = observations;
    const after = listed(before, value);
    remember(() => {
      observations = after;
      return () => {
        observations = before;
      };
    });
  };
  const fail = (value) => {
    const before = failures;
    const after = listed(before, value);
    remember(() => {
      failures = after;
      return () => {
        failures = before;
      };
    });
  };

  if (settings.scratchpad) {
    const memory = create(null);
    const part = (name) => {
      const attributes = create(null);
      attributes.get = () => parse(scratchpadText())[name];
      attributes.enumerable = true;
      defineProperty(memory, name, attributes);
    };
    part('values');
    part('observations');
    part('failed');
    for (const [name, value] of [['store', store], ['recall', recall], ['observe', observe], ['fail', fail]]) defineProperty(memory, name, data(value, false));
    give('store', store);
    give('recall', recall);
    give('observe', observe);
    give('memory', freeze(memory));
    const signal = (label) => (value) => {
      print('[' + label + '] ' + show(value));
      return value;
    };
    give('uncertain', signal('UNCERTAIN'));
    give('explore', signal('EXPLORE'));
    give('commit', signal('COMMIT'));
  }
`;

/** Runs a cell, and once it has completed, makes its variables variables of the context. */
const CELL = `
  const provided = create(null);
  const first = ownKeys(global);
  for (let index = 0; index < first.length; index += 1) provided[first[index]] = true;
  const declared = (name) => {
    delete provided[name];
  };

  const declare = (names) => {
    const all = ownKeys(names);
    for (let index = 0; index < all.length; index += 1) {
      const { get, set } = getOwnPropertyDescriptor(names, all[index]);
      const attributes = create(null);
      attributes.get = get;
      attributes.set = set;
      attributes.enumerable = true;
      attributes.configurable = true;
      if (defineProperty(global, all[index], attributes)) declared(all[index]);
    }
  };
  const settle = async (run, cell) => {
    try {
      await cell((names) => {
        if (run === current) declare(names);
      });
      run.state = 'done';
    } catch (thrown) {
      run.state = 'failed';
      const { name, message } = describe(thrown);
      run.name = name;
      run.message = message;
    }
  };
  // Writing a large value takes long, and its text would be left out anyway.
  const textUpTo = (value, length) => {
    let left = length;
    return stringify(value, (key, member) => {
      const isLong = (typeof member === 'string' || isArray(member) || isView(member)) && member.length > 0;
      left -= isLong ? member.length : 1;
      if (left < 0) throw new Problem('too large');
      return member;
    });
  };
  const namespaceText = () => {
    const entries = create(null);
    const names = ownKeys(global);
    let left = settings.namespaceLength;
    for (let index = 0; index < names.length && left > 0; index += 1) {
      const name = names[index];
      if (typeof name !== 'string' || provided[name] === true) continue;
      const entry = create(null);
      entry.type = 'undefined';
      left -= name.length + 30;
      try {
        const value = global[name];
        entry.type = typeof value;
        const isNumber = entry.type === 'number';
        const json = isNumber && value - value !== 0 ? undefined : textUpTo(value, left);
        if (typeof json === 'string' && json.length <= left) {
          entry.json = json;
          left -= json.length;
        }
      } catch {}
      entries[name] = entry;
    }
    return stringify(entries);
  };
`;

/**
 * Gives the context its tools: a tool called by its plain name blocks until its result arrives, and `tools.name` returns a promise. Calls
 * are collected in a batch until the code blocks, or can only wait.
 */
const CALLS = `
  const emptyBatch = () => {
    const batch = create(null);
    batch.count = 0;
    batch.length = 0;
    return batch;
  };
  let batch = emptyBatch();
  let mayCall = false;
  let calls = 0;
  let segments = 1;

  const toolError = (message) => {
    const error = new Problem(message);
    defineProperty(error, 'name', data('ToolError', false));
    return error;
  };
  const argumentsOf = (tool, values) => {
    const what = 'The argument of ' + tool.name;
    const first = values[0];
    if (values.length === 1 && typeof first === 'object' && first !== null && !isArray(first)) {
      const json = jsonText(first, what, settings.argumentsLength, 0);
      if (json[0] === '{') return json;
    }
    if (values.length > tool.parameters.length) {
      let list = '';
      for (let index = 0; index < tool.parameters.length; index += 1) list += (index === 0 ? '' : ', ') + tool.parameters[index];
      throw new TypeProblem(tool.name + ' was called with ' + values.length + ' arguments, and has ' + (list === '' ? 'no parameters' : 'the parameters ' + list));
    }
    let json = '';
    for (let index = 0; index < values.length; index += 1) {
      if (values[index] === undefined) continue;
      const name = tool.parameters[index];
      json += (json === '' ? '' : ',') + stringify(name) + ':' + jsonText(values[index], what + ' "' + name + '"', settings.argumentsLength, 1);
    }
    if (json.length > settings.argumentsLength) throw new TypeProblem('The arguments of ' + tool.name + ' have more than ' + settings.argumentsLength + ' characters of JSON');
    return '{' + json + '}';
  };
  const add = (tool, values, settle) => {
    if (current === undefined || current.state !== 'pending') throw new Problem('A tool can be called only until the code ends');
    if (!mayCall) throw new Problem("A tool can be called only by an agent's code");
    const json = '{"tool":' + stringify(tool.name) + ',"arguments":' + argumentsOf(tool, values) + '}';
    if (calls >= settings.calls) throw new Problem('The code has made ' + settings.calls + ' calls of tools, and can make no more');
    if (batch.length + json.length > settings.batchLength) {
      throw new Problem('The calls that wait together have more than ' + settings.batchLength + ' characters of JSON: await some of them first');
    }
    calls += 1;
    const call = create(null);
    call.name = tool.name;
    call.json = json;
    call.settle = settle;
    batch[batch.count] = call;
    batch.count += 1;
    batch.length += json.length + 1;
  };
  const refuseAll = (asked, message) => {
    for (let index = 0; index < asked.count; index += 1) asked[index].settle(true, new Problem(message));
  };
  /** Ends the segment with all calls of the batch, and continues with their results. */
  const exchange = () => {
    const asked = batch;
    batch = emptyBatch();
    if (segments >= settings.segments) {
      refuseAll(asked, 'The code has waited ' + (settings.segments - 1) + ' times for calls of tools, and can wait no more');
      return;
    }
    segments += 1;
    let json = '[';
    for (let index = 0; index < asked.count; index += 1) json += (index === 0 ? '' : ',') + asked[index].json;
    const reply = ask(json + ']');
    if (reply === '') {
      refuseAll(asked, 'The calls could not be made');
      return;
    }
    const results = parse(reply);
    for (let index = 0; index < asked.count; index += 1) {
      const error = getOwnPropertyDescriptor(results[index], 'error');
      if (error === undefined) asked[index].settle(false, results[index].value);
      else asked[index].settle(true, toolError(error.value));
    }
  };
  const blocking = (tool) => (...values) => {
    let isFailed = false;
    let outcome;
    add(tool, values, (isError, value) => {
      isFailed = isError;
      outcome = value;
    });
    exchange();
    if (isFailed) throw outcome;
    return outcome;
  };
  const promised = (tool) => (...values) => {
    let settle;
    const promise = new PromiseOfCall((resolve, reject) => {
      settle = (isError, value) => (isError ? reject(value) : resolve(value));
    });
    add(tool, values, settle);
    return promise;
  };

  if (settings.tools.length > 0) {
    const tools = create(null);
    for (const tool of settings.tools) {
      const named = (called) => {
        defineProperty(called, 'name', data(tool.name, false));
        return called;
      };
      defineProperty(tools, tool.name, data(freeze(named(promised(tool))), true));
      if (tool.isName && !(tool.name in global)) give(tool.name, named(blocking(tool)));
    }
    give('tools', freeze(tools));
  }
`;

/**
 * The first code that runs in a new context: it gives the context its functions, and returns the ones that the thread calls. Its arguments
 * are three functions of the thread, which the code of the model cannot reach, and the settings.
 */
export const PRELUDE = `((write, answer, ask, settingsText) => {
  'use strict';
  const settings = JSON.parse(settingsText);
  let current;
  let isOpen = false;
${BUILT_INS}${PRINTING}${JSON_TEXT}${CALLS}${SCRATCHPAD}${CELL}
  const api = create(null);
  api.begin = (seed, outputLength, callsTools) => {
    state = seed | 0;
    room = outputLength;
    mayCall = callsTools === 1;
    calls = 0;
    segments = 1;
    batch = emptyBatch();
    isOpen = true;
    current = create(null);
    current.state = 'pending';
  };
  api.start = (cell) => {
    settle(current, cell);
  };
  api.startModule = (module, exported) => {
    settle(current, async (handOver) => handOver((await module)[exported]));
  };
  api.exchange = () => {
    if (current.state !== 'pending' || batch.count === 0) return '';
    exchange();
    return 'went on';
  };
  api.outcome = () => stringify(current);
  api.end = () => {
    const left = batch;
    batch = emptyBatch();
    let names = '';
    for (let index = 0; index < left.count && names.length < 500; index += 1) names += (index === 0 ? '' : ', ') + left[index].name;
    if (left.count > 0) print('[NOT CALLED] ' + names + ': the code ended without awaiting these calls');
    for (let index = 0; index < left.count; index += 1) left[index].settle(true, toolError('The code ended before this call was made'));
  };
  api.close = () => {
    isOpen = false;
    if (current !== undefined) current.state = 'closed';
  };
  api.scratchpad = () => scratchpadText();
  api.inject = (name, json) => {
    if (!defineProperty(global, name, data(parse(json), true))) {
      throw new TypeProblem('"' + name + '" cannot be injected: the code has made it a constant');
    }
    declared(name);
  };
  api.namespace = namespaceText;
  return api;
})`;
