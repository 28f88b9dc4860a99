import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { SuiteAdapter } from './adapters/adapter.ts';
import { findSuite, WITHOUT_COUNTERPART } from './adapters/index.ts';
import type { SpecCase } from './case-file.ts';
import { closingLine, failureReport, type Replayed, replayFile, skipReport } from './replay.ts';

const OWN_CASES = fileURLToPath(new URL('cases', import.meta.url));
const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

function specCase(op: string, expectation: JsonValue, input: JsonValue = {}): SpecCase {
  return { id: `${op}-1`, title: 'a title', op, level: 'must', input, expect: expectation, unknownKeys: [] };
}

const either = (error: JsonValue): JsonValue => ({ raises_or_error: error });

// Many cases are about failing tools.
beforeEach(() => void vi.stubEnv('LONGHAUL_LOG_LEVEL', 'OFF'));

const run = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
  const command = promisify(execFile)(process.execPath, [RUN, ...args]);
  const { stdout, stderr } = await command.catch((error: { stdout: string; stderr: string }) => error);
  return { code: command.child.exitCode ?? -1, stdout, stderr };
};

const KEYS = ['a', 'b', 'steps', 'colour', 'key'];

const adapter: SuiteAdapter = {
  operations: {
    echo: { input: KEYS, expect: KEYS, perform: (input) => input },
    fails: {
      input: [],
      expect: [],
      perform: () => {
        throw new Error('bad input');
      },
    },
    errs: { input: [], expect: KEYS, perform: () => ({ status: 'error', error: 'api down', steps: 1 }) },
  },
  withoutCounterpart: { later: 'nothing streams', never: 'agents have no skills' },
  normalise: (expectation) => (JSON.stringify(expectation) === '{"a":"colour"}' ? { a: 'color' } : expectation),
};

function replay(...cases: SpecCase[]): Promise<Replayed[]> {
  return replayFile({ type: 'cases', path: 'x.json', suite: 'suite', cases }, () => adapter);
}

async function problems(...cases: SpecCase[]): Promise<unknown[]> {
  return (await replay(...cases)).map(({ verdict }) => (verdict.type === 'failed' ? verdict.problem : verdict.type));
}

async function types(...cases: SpecCase[]): Promise<string[]> {
  return (await replay(...cases)).map(({ verdict }) => verdict.type);
}

describe('a case', () => {
  it('passes if the outcome matches, and fails if it does not', async () => {
    expect(await types(specCase('echo', { a: 1 }, { a: 1, b: 2 }), specCase('echo', { a: 2 }, { a: 1 }))).toEqual(['passed', 'failed']);
  });

  it('accepts a thrown error or an error result if it expects either', async () => {
    expect(
      await types(specCase('fails', either({ $contains: 'bad' })), specCase('errs', either('api down')), specCase('fails', either(true))),
    ).toEqual(['passed', 'passed', 'passed']);
    expect(await types(specCase('fails', either('other')), specCase('errs', either('other')), specCase('echo', either(true)))).toEqual([
      'failed',
      'failed',
      'failed',
    ]);
    expect(await types(specCase('errs', { raises_or_error: true, steps: 2 }))).toEqual(['failed']);
  });

  it('fails on an unexpected error, or an unknown matcher', async () => {
    const [thrown, unknown] = await replay(specCase('fails', {}), specCase('echo', { a: { $sometimes: 1 } }, { a: 1 }));
    expect(thrown?.verdict).toMatchObject({ type: 'failed', problem: 'It threw: bad input' });
    expect(unknown?.verdict).toMatchObject({ type: 'failed' });
  });

  it('fails if no adapter knows its operation, even one named like a property of objects', async () => {
    expect(await types(specCase('unheard.of', {}), specCase('constructor', {}))).toEqual(['failed', 'failed']);
  });

  it('is skipped only if its operation has no counterpart, with the reason', async () => {
    const [later, echo] = await replay(specCase('later', {}), specCase('echo', {}));
    expect(later?.verdict).toEqual({ type: 'skipped', reason: 'nothing streams' });
    expect(echo?.verdict).toEqual({ type: 'passed' });
  });

  it('may use another wording of the same text', async () => {
    expect(await types(specCase('echo', { a: 'colour' }, { a: 'color' }))).toEqual(['passed']);
  });
});

describe('an unknown key', () => {
  it('fails a case that has it in its input or its expectation, and is named', async () => {
    expect(await problems(specCase('echo', {}, { inptu: 1 }), specCase('echo', { exepct: 1 }))).toEqual([
      'The input has a key "inptu" that the adapter does not know (it knows: a, b, steps, colour, key)',
      expect.stringMatching(/^The expectation has a key "exepct" that the adapter does not know/),
    ]);
    expect(await problems({ ...specCase('echo', {}), unknownKeys: ['inputs'] })).toEqual([
      'The case has a key "inputs" that the format does not know.',
    ]);
  });

  it('is not an error that a case may expect', async () => {
    expect(await types(specCase('fails', either(true)), specCase('fails', either(true), { other: 1 }))).toEqual(['passed', 'failed']);
  });

  it.each<[suite: string, op: string, input: JsonValue, key: string]>([
    ['execution_context', 'agent.run', { replies: [[{ type: 'message', role: 'assistant', content: 'x', tone: 'dry' }]] }, 'tone'],
    ['execution_context', 'agent.run', { replies: [{ error_message: 'x', code: 1 }] }, 'code'],
    ['execution_context', 'agent.run', { replies: [], confirmations: [{ tool_call_id: 'c1', approve: true }] }, 'approve'],
    ['execution_context', 'context.ops', { do: [{ delete_state: 'k' }] }, 'delete_state'],
    ['execution_context', 'llm.build_messages', { contents: [{ type: 'message', role: 'user', content: 'x', cache: true }] }, 'cache'],
    ['react.run_result', 'react.run', { model: [{ text: 'x', mood: 'good' }] }, 'mood'],
    ['react.run_result', 'react.run', { model: [{ tool_calls: [{ id: 'c1', nmae: 'add' }] }] }, 'nmae'],
    ['react.run_result', 'result.derived', { steps: [{ steps: 1 }] }, 'steps'],
    ['nous.runtime', 'run.loop', { model: [{ text: 'x' }], tools: { echo: { return: 1 } } }, 'return'],
    ['nous.runtime', 'tool.execute', { tool: { retry: 1 }, behaviour: [{ ok: 1 }] }, 'retry'],
    ['nous.runtime', 'tool.execute', { behaviour: [{ returns: 1 }] }, 'returns'],
    ['nous.runtime', 'run.loop', { model: [{ text: 'x' }], approval: { edited: {} } }, 'edited'],
    ['nous.context_update', 'runner.deps_after_turns', { turns: [[[{ op: 'set', key: 'a', values: 1 }]]] }, 'values'],
    ['nous.context_update', 'context_update.apply', { operations: [{ op: 'set', key: 'a', values: 1 }] }, 'values'],
    ['axon.retry_engine', 'retry.execute', { behaviour: [{ throws: {} }] }, 'throws'],
    ['axon.retry_engine', 'retry.execute', { config: { attempts: 2 }, behaviour: [] }, 'attempts'],
    ['axon.support', 'memory.run', { do: [{ store: { key: 'k', values: 1 } }] }, 'values'],
    ['axon.support', 'memory.run', { do: [{ forget: {} }] }, 'forget'],
    ['axon.support', 'errors.format', { type: 'ValidationError', message: 'm', context: { step: 's' } }, 'step'],
    ['tinyagent.agents', 'finalizer.run', { do: [{ set: { value: 1, sources: 'normal' } }] }, 'sources'],
    ['tinyagent.agents', 'memory.prune', { steps: [{ kind: 'task', txt: 'T' }], strategy: { keep_last: 1 } }, 'txt'],
    ['tinyagent.agents', 'memory.prune', { steps: [], strategy: { keep: 1 } }, 'keep'],
    ['tinyagent.agents', 'scratchpad.context', { do: [{ forget: 'k' }] }, 'forget'],
    ['tinyagent.executor', 'exec.session', { do: [{ run: { ruby: '1' } }] }, 'ruby'],
    ['tinyagent.executor', 'exec.session', { limits: { timeout: 1 }, do: [] }, 'timeout'],
    ['nous.patch_dangling_tool_calls', 'context.patch_dangling', { messages: [{ role: 'user', text: 'x' }] }, 'text'],
  ])('fails a case of %s %s at any depth: %j', async (suite, op, input, key) => {
    const [replayed] = await replayFile({ type: 'cases', path: 'x.json', suite, cases: [specCase(op, either(true), input)] }, findSuite);
    expect(replayed?.verdict).toMatchObject({ type: 'failed', problem: expect.stringContaining(`has a key "${key}"`) });
  });
});

describe('a suite', () => {
  it('is found by its exact name', () => {
    expect(findSuite('execution_context')).toBeDefined();
    expect(findSuite('nous.runtime')?.operations).toHaveProperty(['stream.complete']);
    for (const name of ['nous.something_new', 'nous.', 'axon.exceutor', 'Execution_context', 'constructor', '']) {
      expect(findSuite(name)).toBeUndefined();
    }
  });

  it('has operations that are either translated or listed with a reason, not both', () => {
    for (const [suite, listed] of Object.entries(WITHOUT_COUNTERPART)) {
      const translated = Object.keys(findSuite(suite)?.operations ?? {});
      expect(Object.keys(listed).filter((op) => translated.includes(op))).toEqual([]);
      expect(Object.values(listed).filter((reason) => reason.length < 20)).toEqual([]);
    }
  });
});

describe('the report', () => {
  it('shows each difference of a failed case with its path', async () => {
    const [failed] = await replay(specCase('echo', { steps: [{ result: 'x' }] }, { steps: [{ result: 'y' }] }));
    expect(failed && failureReport(failed).join('\n')).toMatchInlineSnapshot(`
      "FAILED suite echo-1 [must] echo: a title
          at steps[0].result
            - expected "x"
            + actual   "y""
    `);
  });

  it('names each skipped operation once, with the number of its cases and the reason', async () => {
    const replayed = await replay(
      specCase('later', {}),
      specCase('later', {}),
      specCase('echo', { a: 1 }, { a: 1 }),
      specCase('never', {}),
    );
    expect(skipReport(replayed)).toEqual(['SKIPPED suite later (2): nothing streams', 'SKIPPED suite never (1): agents have no skills']);
    expect(closingLine(replayed, 0)).toBe('1 passed, 0 failed, 3 skipped');
    expect(closingLine(replayed, 2)).toBe('1 passed, 2 failed, 3 skipped');
  });
});

describe('the command', () => {
  it('prints the counts at the end and exits with 0 if nothing failed', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'longhaul-cases-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    for (const name of ['context-updates.json', 'runtime.json']) await copyFile(join(OWN_CASES, name), join(directory, name));
    const { code, stdout } = await run(directory);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed, 0 skipped$/);
    expect(code).toBe(0);
  });

  it('exits with 1 if a case failed or a file cannot be read', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'longhaul-cases-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    await writeFile(join(directory, 'a.json'), '{broken');
    await writeFile(join(directory, 'b.json'), JSON.stringify({ suite: 'unheard.of', format: 1, cases: [specCase('x', {})] }));
    await writeFile(join(directory, 'README.md'), '# not a case file');
    const { code, stdout } = await run(directory);
    expect(stdout).toContain('a.json');
    expect(stdout).toContain('No adapter knows this suite.');
    expect(stdout.trimEnd().split('\n').at(-1)).toBe('0 passed, 2 failed, 0 skipped');
    expect(code).toBe(1);
  });

  it('exits with 2 if there is nothing to replay', async () => {
    const { code, stderr } = await run(join(OWN_CASES, 'missing'));
    expect(stderr).toContain('is not a directory');
    expect(code).toBe(2);
  });
});
