import { afterSecondTry, type Outcome } from './outcome.ts';
import type { Stage } from './stages.ts';

/** Divides stages into groups that run in order. The lanes of a group run at the same time, and the stages of a lane in order. */
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

/** A stage that has ended. */
export interface RanStage {
  stage: Stage;
  seconds: number;
  outcome: Outcome;
}

/**
 * Runs the lanes of a group at the same time. A stage that has failed next to another lane is rerun alone when all have ended: the load of
 * the other lane is the usual cause.
 */
export async function runGroup(
  lanes: readonly (readonly Stage[])[],
  run: (stage: Stage, options: { isAlone: boolean }) => Promise<RanStage>,
): Promise<RanStage[]> {
  const isAlone = lanes.length === 1;
  const runLane = async (stages: readonly Stage[]): Promise<RanStage[]> => {
    const ran: RanStage[] = [];
    for (const stage of stages) ran.push(await run(stage, { isAlone }));
    return ran;
  };
  const ran = (await Promise.all(lanes.map(runLane))).flat();
  if (isAlone) return ran;
  const ended: RanStage[] = [];
  for (const one of ran) ended.push(one.outcome.failed === 0 ? one : onceMore(one, await run(one.stage, { isAlone: true })));
  return ended;
}

function onceMore(first: RanStage, second: RanStage): RanStage {
  return { ...second, seconds: first.seconds + second.seconds, outcome: afterSecondTry(first.outcome, second.outcome) };
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
