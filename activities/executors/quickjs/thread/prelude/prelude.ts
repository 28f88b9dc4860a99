import type { CodeTool } from '../../../../../src/core/execution/executor.ts';
import { BUILT_INS } from './built-ins.ts';
import { CALLS } from './calls.ts';
import { CELL } from './cell.ts';
import { JSON_TEXT } from './json-text.ts';
import { PRINTING } from './printing.ts';
import { SCRATCHPAD } from './scratchpad.ts';

/** The settings of the prelude, which it gets as JSON. */
export interface PreludeSettings {
  /** `isName`: the name can be that of a variable. */
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
 * The code that is run in a new context before any other: it gives the context its functions, and returns those that the thread calls.
 * Its arguments are three functions of the thread, which the code of the model cannot reach, and the settings.
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
