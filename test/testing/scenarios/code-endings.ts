import { callTool, say, together } from '../../../src/testing/index.ts';
import { cells, coder, hasty, limited, narrow } from './code-cells.ts';
import { CELL, ran, scenario } from './scenario.ts';

/** Errors in code, its limits and what the model reads of it. */
export const CODE_ENDINGS = [
  scenario('an error of a call is caught in code', coder, {
    script: cells("try { down() } catch (error) { print(error.message) } print(find('a'))"),
    timeline: [
      CELL,
      'agent calls down {}',
      'down failed: the service is down (3 attempts)',
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: the service is down (3 attempts)\nfound a',
      'agent: done',
    ],
  }),
  scenario('an error ends a cell, and its names', coder, {
    script: cells("const kept = [find('a')]", "kept.push('more'); const lost = 1; down(); find('b')", 'print(kept, typeof lost)'),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: (no output)',
      CELL,
      'agent calls down {}',
      'down failed: the service is down (3 attempts)',
      'run_code failed: Error (runtime): ToolError: the service is down (3 attempts)',
      CELL,
      'run_code: ["found a","more"] undefined',
      'agent: done',
    ],
  }),
  scenario('arguments that do not fit are an error in code', coder, {
    script: cells(
      'try { find({ text: 7 }) } catch (error) { print(error.message) } try { find(() => 1) } catch (error) { print(error.message) }',
    ),
    timeline: [
      CELL,
      'agent calls find {"text":7}',
      "find failed: Invalid arguments for 'find': text: expected string, got number",
      'run_code: Invalid arguments for \'find\': text: expected string, got number\nThe argument of find "text" is a function, which is not JSON',
      'agent: done',
    ],
  }),
  scenario('a tool for code alone is refused to the model', coder, {
    script: [together(callTool('rows', {}, 'c1'), callTool('run_code', { code: 'print(rows())' }, 'c2')), say('done')],
    timeline: [
      'agent calls rows {}',
      CELL,
      "rows failed: Tool 'rows' not found in agent's tool list",
      ...ran('rows {}', '[3,1,2]'),
      'run_code: [3,1,2]',
      'agent: done',
    ],
  }),
  scenario('a tool for the model alone is not a function of code', coder, {
    script: [together(callTool('careful', {}, 'c1'), callTool('run_code', { code: 'careful()' }, 'c2')), say('done')],
    timeline: [
      'agent calls careful {}',
      CELL,
      'careful: careful',
      'run_code failed: Error (undefined_name): ReferenceError: careful is not defined',
      'agent: done',
    ],
  }),
  scenario('the limit of tool calls ends in the middle of a cell', limited, {
    script: cells("for (const text of ['a', 'b', 'c', 'd']) find(text)").slice(0, 1),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      ...ran('find {"text":"b"}', 'found b'),
      ...ran('find {"text":"c"}', 'found c'),
      'agent calls find {"text":"d"}',
      'find failed: Tool call was not executed: the limit of tool calls of this run is reached.',
      'run_code failed: Error (runtime): ToolError: Tool call was not executed: the limit of tool calls of this run is reached.',
    ],
    status: 'limit_reached',
  }),
  scenario('a cell that takes too long leaves nothing, and names of earlier cells stay', hasty, {
    script: cells("const one = find('a')", "const two = find('b'); while (true);", 'print(typeof one, typeof two)'),
    timeline: [
      CELL,
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: (no output)',
      CELL,
      ...ran('find {"text":"b"}', 'found b'),
      /^run_code failed: Error \(timeout\): Execution timed out after 2s\n\nNothing that this code has defined or changed was kept/,
      CELL,
      'run_code: string undefined',
      'agent: done',
    ],
  }),
  scenario('printed output that is long is cut', narrow, {
    script: cells("for (let i = 0; i < 50; i++) print('line', i)"),
    timeline: [
      CELL,
      'run_code: line 0\nline 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\nline 11\nline 12\nline 1\n[OUTPUT TRUNCATED]',
      'agent: done',
    ],
  }),
  scenario('the last final answer of a cell is its result', coder, {
    script: cells("final_answer(1); final_answer({ rows: rows(), text: find('a') })"),
    timeline: [
      CELL,
      ...ran('rows {}', '[3,1,2]'),
      ...ran('find {"text":"a"}', 'found a'),
      'run_code: Final answer: {"rows":[3,1,2],"text":"found a"}',
      'agent: done',
    ],
  }),
  scenario('a call that code does not await is not made', coder, {
    script: cells("tools.find('a'); print('end')"),
    timeline: [/^agent calls run_code/, 'run_code: end\n[NOT CALLED] find: the code ended without awaiting these calls', 'agent: done'],
  }),
  scenario('text that is not code is an error', coder, {
    script: cells('print(', "print('a'); throw new Error('broken')", "import('fs')"),
    timeline: [
      CELL,
      "run_code failed: Error (syntax): SyntaxError: unexpected token in expression: '' (line 1)",
      CELL,
      'run_code failed: a\nError (runtime): Error: broken',
      CELL,
      'run_code failed: Error (import_not_allowed): import() is not allowed: the code has no modules',
      'agent: done',
    ],
  }),
];
