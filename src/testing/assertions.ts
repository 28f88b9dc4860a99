import assert from 'node:assert/strict';
import type { Event } from '../core/domain/record.ts';
import { outputText } from '../core/domain/content.ts';
import type { ModelRequest } from '../core/domain/model.ts';
import { resultText } from '../core/domain/tool-calls.ts';
import { type ComparedRun, withoutIdsAndTimes } from './comparable.ts';
import { timelineOf } from './timeline.ts';

/** An expected line of a timeline: its whole text, or a pattern that it must match. */
export type ExpectedLine = string | RegExp;

/** Throws an AssertionError with both timelines unless the run's timeline has exactly these lines: see `timelineOf`. */
export function assertTimeline(run: { events: readonly Event[] }, expected: readonly ExpectedLine[]): void {
  const actual = timelineOf(run);
  // A line that matches its pattern is compared with itself, so that the difference shows only the other lines.
  const wanted = expected.map((pattern, index) => {
    const line = actual[index] ?? '';
    return typeof pattern === 'string' ? pattern : pattern.test(line) ? line : String(pattern);
  });
  assert.deepEqual(actual, wanted, differenceOf(actual, wanted));
}

/**
 * Throws an AssertionError with the request unless the `number`-th request (1-based) contains the text, in its
 * instructions or its conversation.
 */
export function assertRequest({ requests }: { requests: readonly ModelRequest[] }, number: number, says: string | RegExp): void {
  const request = requests[number - 1];
  if (request === undefined)
    throw new assert.AssertionError({ message: `There is no request ${number}: the model received ${requests.length}` });
  const text = requestText(request);
  const matches = typeof says === 'string' ? text.includes(says) : says.test(text);
  if (!matches)
    throw new assert.AssertionError({
      message: `Request ${number} does not say ${String(says)}. It says:\n${text}`,
      stackStartFn: assertRequest,
    });
}

/**
 * Throws an AssertionError with the difference unless events, steps, result and deps of both runs are the same,
 * except for ids and times. Compares a run with a fault to the same run without.
 */
export function assertSameRun(actual: ComparedRun, expected: ComparedRun): void {
  const [one, other] = [withoutIdsAndTimes(actual), withoutIdsAndTimes(expected)];
  assert.deepEqual(
    timelineOf(actual),
    timelineOf(expected),
    `The runs have different timelines.\n${differenceOf(timelineOf(actual), timelineOf(expected))}`,
  );
  for (const part of ['events', 'steps', 'result', 'deps'] as const) assert.deepEqual(one[part], other[part]);
}

/** Returns both timelines, line by line: `-` marks expected lines, `+` actual ones. */
function differenceOf(actual: readonly string[], expected: readonly string[]): string {
  const lines: string[] = ['The timeline is not the expected one (- expected, + actual):'];
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
  const messages = conversation.flatMap(({ author, content }) =>
    content.map((item) => {
      if (item.type === 'message') return `${author}: ${outputText(item.content)}`;
      if (item.type === 'tool_call') return `${author} calls ${item.name} ${JSON.stringify(item.arguments)}`;
      return `${item.name}: ${resultText(item.content)}`;
    }),
  );
  return [...instructions, ...messages].join('\n');
}
