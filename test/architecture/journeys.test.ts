import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { PRODUCT_FOLDERS, readTree, targetOf } from './source-tree.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tree = readTree(root, PRODUCT_FOLDERS);

/** A journey of ARCHITECTURE.md: its name, the number of files that its heading gives, and its text. */
const JOURNEY = /^### (.+?): (\d+) files\n([\s\S]*?)(?=^#|(?![\s\S]))/gm;

/** A file that hands over to another one without an import: `by` is the file that both import, or that imports both. */
interface Crossing {
  from: string;
  to: string;
  by: string;
}

/** The journeys, the most files that each may take, and the places where one leaves a process, a sandbox or a thread. */
const JOURNEYS: Record<string, { goal: number; crossings: Crossing[] }> = {
  'A tool call, from the model’s answer to the next request': {
    goal: 14,
    crossings: [
      { from: 'activities/model-calls/call-model.ts', to: 'src/core/activity-requests/agent-requests.ts', by: 'src/core/protocol.ts' },
      { from: 'src/core/activity-requests/agent-requests.ts', to: 'activities/run-queries/transcript.ts', by: 'src/core/protocol.ts' },
    ],
  },
  'An approval, from the client to the resumed tool': {
    goal: 9,
    crossings: [{ from: 'src/client/updates.ts', to: 'workflows/run/handlers.ts', by: 'src/core/protocol.ts' }],
  },
  'A message to a session, from the client to the end of its turn': {
    goal: 11,
    crossings: [{ from: 'src/client/updates.ts', to: 'workflows/run/handlers.ts', by: 'src/core/protocol.ts' }],
  },
  'A start over HTTP, from the request to the first task': {
    goal: 10,
    crossings: [{ from: 'src/client/start-workflow.ts', to: 'workflows/runs.ts', by: 'src/core/protocol.ts' }],
  },
  'A step of a program that asks a model': {
    goal: 12,
    crossings: [
      {
        from: 'src/core/program/step-attempts.ts',
        to: 'src/core/activity-requests/program-requests.ts',
        by: 'src/core/program/program-ports.ts',
      },
      {
        from: 'src/core/activity-requests/program-requests.ts',
        to: 'workflows/run/schedule-activity.ts',
        by: 'src/core/activity-requests/activity-request.ts',
      },
    ],
  },
  'A cell of code, from the model’s answer to its result': {
    goal: 15,
    crossings: [
      {
        from: 'src/core/activity-requests/code-requests.ts',
        to: 'workflows/run/schedule-activity.ts',
        by: 'src/core/activity-requests/activity-request.ts',
      },
      { from: 'src/core/activity-requests/code-requests.ts', to: 'activities/code/run-code.ts', by: 'src/core/protocol.ts' },
      { from: 'activities/code/run-code.ts', to: 'activities/executors/cell-executor.ts', by: 'src/core/domain/execution.ts' },
      {
        from: 'activities/executors/quickjs/quickjs-executor.ts',
        to: 'activities/executors/quickjs/thread/main.ts',
        by: 'activities/executors/frames.ts',
      },
    ],
  },
};

const journeys = [...readFileSync(`${root}/ARCHITECTURE.md`, 'utf8').matchAll(JOURNEY)].map(([, name = '', count, text = '']) => {
  const files = [...text.matchAll(/\*\*(\d+)\*\* `([^`]+)`/g)].map(([, number, path = '']) => ({ number: Number(number), path }));
  return { name: name.replaceAll("'", '’'), count: Number(count), files };
});

function imports(from: string, to: string): boolean {
  const file = tree.get(from);
  return file?.imports.some((one) => targetOf(file, one) === to) === true;
}

/** True if one of two files imports the other. */
function touch(a: string, b: string): boolean {
  return imports(a, b) || imports(b, a);
}

/** Returns the files of a journey that can be reached from its first one by imports among them, and by crossings. */
function reached(files: readonly string[], crossings: readonly Crossing[]): string[] {
  const found = new Set(files.slice(0, 1));
  for (const path of found) {
    for (const other of files) if (touch(path, other)) found.add(other);
    for (const { from, to } of crossings) {
      if (from === path) found.add(to);
      if (to === path) found.add(from);
    }
  }
  return files.filter((path) => found.has(path));
}

describe('the journeys of ARCHITECTURE.md', () => {
  test('are the six', () => {
    expect(journeys.map(({ name }) => name)).toEqual(Object.keys(JOURNEYS));
  });

  test.each(journeys)('$name: its files are numbered in order, each once, as many as the heading says', ({ count, files }) => {
    expect(files.map(({ number }) => number)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
    expect(new Set(files.map(({ path }) => path)).size).toBe(count);
    expect(files.filter(({ path }) => !tree.has(path))).toEqual([]);
  });

  test.each(journeys)('$name: its files import each other, but where it leaves a process, a sandbox or a thread', ({ name, files }) => {
    const paths = files.map(({ path }) => path);
    const { crossings = [], goal = 0 } = JOURNEYS[name] ?? {};
    expect(paths.length).toBeLessThanOrEqual(goal);
    expect(reached(paths, crossings)).toEqual(paths);
    expect(crossings.filter(({ from, to, by }) => !touch(from, by) || !touch(to, by))).toEqual([]);
    // A crossing stands for a missing import: an unnecessary one hides that.
    for (const needless of crossings)
      expect(
        reached(
          paths,
          crossings.filter((one) => one !== needless),
        ),
      ).not.toEqual(paths);
  });
});
