import assert from 'node:assert/strict';
import type { Event } from '../core/domain/record/event.ts';
import { outputText } from '../core/domain/content/output-text.ts';
import type { ModelRequest } from '../core/domain/model/model.ts';
import type { RunResult } from '../core/domain/run/run-result.ts';
import { resultText } from '../core/domain/content/tool-text.ts';
import { withoutIdsAndTimes } from './comparable.ts';
import { storyOf } from './story.ts';
import type { TestedRun } from './tested-run.ts';

/** A line of a story: the whole of it, or what it has to match. */
export type ExpectedLine = string | RegExp;

/** Throws an AssertionError with both stories unless the run went just so: see `storyOf`. */
export function assertStory(run: { events: readonly Event[] }, expected: readonly ExpectedLine[]): void {
  const told = storyOf(run);
  // A line that matches stands for itself, so that the difference shows the others alone.
  const wanted = expected.map((line, index) => {
    const actual = told[index] ?? '';
    return typeof line === 'string' ? line : line.test(actual) ? actual : String(line);
  });
  assert.deepEqual(told, wanted, differenceOf(told, wanted));
}

/** Throws an AssertionError with the request unless the `number`-th (1-based) says that: in its instructions or its conversation. */
export function assertRequest({ requests }: { requests: readonly ModelRequest[] }, number: number, says: string | RegExp): void {
  const request = requests[number - 1];
  if (request === undefined)
    throw new assert.AssertionError({ message: `The model was asked ${requests.length} times, and has no request ${number}` });
  const text = requestText(request);
  const isSaid = typeof says === 'string' ? text.includes(says) : says.test(text);
  if (!isSaid)
    throw new assert.AssertionError({
      message: `Request ${number} does not say ${String(says)}. It says:\n${text}`,
      stackStartFn: assertRequest,
    });
}

/**
 * Throws an AssertionError with the difference unless both runs went the same way: events, steps, result and deps, but for
 * ids and times. A run with a fault, and the same run without.
 */
export function assertSameRun(actual: Same, expected: Same): void {
  const [one, other] = [withoutIdsAndTimes(actual), withoutIdsAndTimes(expected)];
  assert.deepEqual(
    storyOf(actual),
    storyOf(expected),
    `The runs tell different stories.\n${differenceOf(storyOf(actual), storyOf(expected))}`,
  );
  for (const part of ['events', 'steps', 'result', 'deps'] as const) assert.deepEqual(one[part], other[part]);
}

type Same = Pick<TestedRun, 'events' | 'steps' | 'deps'> & { result: RunResult<unknown> };

/** Both stories, line by line: `-` is what was expected, `+` what happened. */
function differenceOf(actual: readonly string[], expected: readonly string[]): string {
  const lines: string[] = ['What happened is not what was expected (- expected, + happened):'];
  for (let index = 0; index < Math.max(actual.length, expected.length); index += 1) {
    if (actual[index] === expected[index]) lines.push(`  ${actual[index]}`);
    else {
      if (expected[index] !== undefined) lines.push(`- ${expected[index]}`);
      if (actual[index] !== undefined) lines.push(`+ ${actual[index]}`);
    }
  }
  return lines.join('\n');
}

function requestText({ instructions, conversation }: ModelRequest): string {
  const said = conversation.flatMap(({ author, content }) =>
    content.map((item) => {
      if (item.type === 'message') return `${author}: ${outputText(item.content)}`;
      if (item.type === 'tool_call') return `${author} calls ${item.name} ${JSON.stringify(item.arguments)}`;
      return `${item.name}: ${resultText(item.content)}`;
    }),
  );
  return [...instructions, ...said].join('\n');
}
