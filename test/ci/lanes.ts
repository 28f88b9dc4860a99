import type { Stage } from './stages.ts';

/**
 * Divides stages into groups that run one after the other. The lanes of a group run at the same time, and the stages of a lane one after
 * the other.
 */
export function groupsOf(stages: readonly Stage[]): Stage[][][] {
  const groups: Map<string, Stage[]>[] = [];
  let hasLanes = false;
  for (const stage of stages) {
    const { lane } = stage;
    if (lane === undefined || !hasLanes) groups.push(new Map());
    hasLanes = lane !== undefined;
    const lanes = groups.at(-1);
    lanes?.set(lane ?? '', [...(lanes.get(lane ?? '') ?? []), stage]);
  }
  return groups.map((lanes) => [...lanes.values()]);
}

/** Prints the output of one of several stages in whole lines, each with its name in front. */
export class NamedLines {
  #begun = '';
  readonly #name: string;
  readonly #print: (text: string) => void;

  constructor(name: string, print: (text: string) => void) {
    this.#name = name;
    this.#print = print;
  }

  take(text: string): void {
    const lines = `${this.#begun}${text}`.split('\n');
    this.#begun = lines.pop() ?? '';
    if (lines.length > 0) this.#print(lines.map((line) => `${this.#name} │ ${line}\n`).join(''));
  }

  /** Prints a last line that has no end. */
  end(): void {
    if (this.#begun !== '') this.take('\n');
  }
}
