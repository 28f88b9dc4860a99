import type { Mismatch } from './match.ts';
import type { Replayed } from './replay.ts';

/** A value longer than this is cut: the case file has the whole value. */
const VALUE_LENGTH = 1_000;

/** A failed case as text: its name, and each difference with its path. Empty for every other case. */
export function failureReport({ suite, specCase, verdict }: Replayed): string[] {
  if (verdict.type !== 'failed') return [];
  const { id, title, op, level } = specCase;
  return [
    `FAILED ${suite} ${id} [${level}] ${op}: ${title}`,
    ...(verdict.problem === undefined ? [] : [`    ${verdict.problem}`]),
    ...verdict.mismatches.flatMap(mismatchReport),
  ];
}

function mismatchReport({ path, expected, actual }: Mismatch): string[] {
  return [`    at ${path === '' ? '(the whole value)' : path}`, `      - expected ${shown(expected)}`, `      + actual   ${shown(actual)}`];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? `(${typeof value})`;
  return text.length > VALUE_LENGTH ? `${text.slice(0, VALUE_LENGTH)}… (${text.length} characters)` : text;
}

/** One line for each skipped operation, with the number of its cases and the reason. */
export function skipReport(replayed: Replayed[]): string[] {
  const counts = new Map<string, { label: string; count: number; reason: string }>();
  for (const { suite, specCase, verdict } of replayed) {
    if (verdict.type !== 'skipped') continue;
    const key = JSON.stringify([suite, specCase.op, verdict.reason]);
    const entry = counts.get(key) ?? { label: `${suite} ${specCase.op}`, count: 0, reason: verdict.reason };
    entry.count += 1;
    counts.set(key, entry);
  }
  return [...counts.values()].map(({ label, count, reason }) => `SKIPPED ${label} (${count}): ${reason}`);
}

/** The closing line. */
export function closingLine(replayed: Replayed[], brokenFiles: number): string {
  const count = (type: Replayed['verdict']['type']): number => replayed.filter(({ verdict }) => verdict.type === type).length;
  return `${count('passed')} passed, ${count('failed') + brokenFiles} failed, ${count('skipped')} skipped`;
}
