import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { JsonValue } from '../../src/core/domain/json/json.ts';
import type { SuiteAdapter } from './adapters/adapter.ts';
import { findSuite } from './adapters/index.ts';
import { readCaseFiles, type SpecCase } from './case-file.ts';
import { replayFile, type Replayed } from './replay.ts';
import { closingLine, failureReport, skipReport } from './report.ts';

const OWN_CASES = fileURLToPath(new URL('cases', import.meta.url));
const RUN = fileURLToPath(new URL('run.ts', import.meta.url));

function specCase(op: string, expectation: JsonValue, input: JsonValue = {}): SpecCase {
  return { id: `${op}-1`, title: 'a title', op, level: 'must', input, expect: expectation };
}

const either = (error: JsonValue): JsonValue => ({ raises_or_error: error });

const run = async (...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> => {
  const command = promisify(execFile)(process.execPath, [RUN, ...args]);
  const { stdout, stderr } = await command.catch((error: { stdout: string; stderr: string }) => error);
  return { code: command.child.exitCode ?? -1, stdout, stderr };
};

const adapter: SuiteAdapter = {
  operations: {
    echo: (input) => input,
    fails: () => {
      throw new Error('bad input');
    },
    errs: () => ({ status: 'error', error: 'api down', steps: 1 }),
  },
  notBuilt: { later: 'streams are not built' },
  skipReason: ({ input }) => (input === 'skip me' ? 'skills are not built' : undefined),
  normalise: (expectation) => (expectation === 'colour' ? 'color' : expectation),
};

function replay(...cases: SpecCase[]): Promise<Replayed[]> {
  return replayFile({ type: 'cases', path: 'x.json', suite: 'suite', cases }, () => ({ type: 'adapter', adapter }));
}

async function types(...cases: SpecCase[]): Promise<string[]> {
  return (await replay(...cases)).map(({ verdict }) => verdict.type);
}

describe('a case', () => {
  it('passes where what comes out matches, and fails where it does not', async () => {
    expect(await types(specCase('echo', { a: 1 }, { a: 1, b: 2 }), specCase('echo', { a: 2 }, { a: 1 }))).toEqual(['passed', 'failed']);
  });

  it('accepts a thrown error or an error result where it expects either', async () => {
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

  it('fails where an error comes that nobody expects, or a matcher that nobody knows', async () => {
    const [thrown, unknown] = await replay(specCase('fails', {}), specCase('echo', { $sometimes: 1 }));
    expect(thrown?.verdict).toMatchObject({ type: 'failed', problem: 'It threw: bad input' });
    expect(unknown?.verdict).toMatchObject({ type: 'failed' });
  });

  it('fails where no adapter knows its operation, even one named like a property of objects', async () => {
    expect(await types(specCase('unheard.of', {}), specCase('constructor', {}))).toEqual(['failed', 'failed']);
  });

  it('is skipped only for a feature that is not built', async () => {
    expect(await types(specCase('later', {}), specCase('echo', {}, 'skip me'))).toEqual(['skipped', 'skipped']);
  });

  it('may use another wording of the same text', async () => {
    expect(await types(specCase('echo', 'colour', 'color'))).toEqual(['passed']);
  });
});

describe('a suite', () => {
  it('is skipped with a reason where its family is not built, and fails where nobody knows it', () => {
    expect(findSuite('nous.something_new')).toMatchObject({ type: 'not_built' });
    expect(findSuite('axon.executor')).toMatchObject({ type: 'not_built' });
    expect(findSuite('tinyagent.agents')).toMatchObject({ type: 'not_built' });
    expect(findSuite('execution_context')).toMatchObject({ type: 'adapter' });
    expect(findSuite('unheard.of')).toBeUndefined();
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

  it('names each skipped operation once, with how many cases and why', async () => {
    const replayed = await replay(specCase('later', {}), specCase('later', {}), specCase('echo', 1, 1), specCase('echo', 1, 'skip me'));
    expect(skipReport(replayed)).toEqual([
      'SKIPPED suite later (2): streams are not built',
      'SKIPPED suite echo (1): skills are not built',
    ]);
    expect(closingLine(replayed, 0)).toBe('1 passed, 0 failed, 3 skipped');
    expect(closingLine(replayed, 2)).toBe('1 passed, 2 failed, 3 skipped');
  });
});

describe('the cases of this folder', () => {
  const files = readCaseFiles(OWN_CASES).filter((file) => file.type === 'cases');

  it.each(files)('pass: $suite', async (file) => {
    const replayed = await replayFile(file, findSuite);
    expect(replayed.flatMap(failureReport)).toEqual([]);
    expect(replayed.length).toBeGreaterThan(10);
  });

  it('would fail if they expected something else', async () => {
    const wrong = files.map((file) => ({ ...file, cases: file.cases.map((one) => ({ ...one, expect: { impossible: 'value' } })) }));
    const replayed = await Promise.all(wrong.map((file) => replayFile(file, findSuite)));
    expect(replayed.flat().filter(({ verdict }) => verdict.type !== 'failed')).toEqual([]);
  });
});

describe('the command', () => {
  it('closes with the counts and exits with 0 where nothing failed', async () => {
    const { code, stdout } = await run(OWN_CASES);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, 0 failed, 0 skipped$/);
    expect(code).toBe(0);
  });

  it('exits with 1 where a case failed or a file cannot be read', async () => {
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

  it('exits with 2 where there is nothing to replay', async () => {
    const { code, stderr } = await run(join(OWN_CASES, 'missing'));
    expect(stderr).toContain('is not a directory');
    expect(code).toBe(2);
  });
});
